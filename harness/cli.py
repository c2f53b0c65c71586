"""The command line: the one place with argv and exit."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, CycloptsError, Parameter

import harness
from harness.core.errors import ExitCode, HarnessError, UsageError
from harness.options import FAI_PEP_ELSEWHERE, PlaceOptions, RunOptions

if TYPE_CHECKING:
    from rich.console import Console

    from harness.settings import Settings

app = App(
    name="harness",
    help="How fast is this model on this device, and can the number be believed?",
    help_epilogue="harness -b specifications/models/mv2.json    measure, and show a table\n"
    "harness run --help                           every flag (`run` may be left out)",
    version=harness.__version__,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
)

_UNSET = RunOptions()
_ANYWHERE = PlaceOptions()


@app.command(sort_key=0)
def run(options: RunOptions = _UNSET) -> int:
    """Measure the benchmarks of one or more specifications."""
    settings = _settings(options)
    if not settings.benchmark_file:
        raise UsageError(
            "no specification", hint="harness -b specifications/models/mv2.json; `harness --help` has more"
        )
    from harness import display, shell
    from harness.flows import checks
    from harness.flows import run as flow

    if settings.dry_run:
        checks.show_plan(flow.make_plan(settings), settings, _console())
        return ExitCode.OK
    with shell.interruptible(), display.display() as shown:
        return flow.run(settings, shown)


@app.command
def validate(*files: Path, options: PlaceOptions = _ANYWHERE) -> int:
    """Check specifications without running anything, and list what they expand to."""
    if not files:
        raise UsageError("no specification to check", hint="harness validate FILE...")
    settings = dataclasses.replace(_settings(options), benchmark_file=files)
    from harness.flows import checks
    from harness.flows import run as flow

    benchmarks = flow.load_benchmarks(settings)
    checks.show_benchmarks(benchmarks, _console())
    print(
        f"{len(benchmarks)} benchmarks in {len(files)} file{'s' if len(files) != 1 else ''}: nothing to complain about"
    )
    return ExitCode.OK


@app.command
def devices(options: PlaceOptions = _ANYWHERE) -> int:
    """List every device that can be reached."""
    from harness.flows import checks

    checks.show_devices(_settings(options), _console())
    return ExitCode.OK


@app.command
def export(
    model: str,
    *,
    recipe: str = "xnnpack_fp32",
    output: Annotated[Path | None, Parameter(name=["-o", "--output"])] = None,
    seed: int = 0,
    calibration: int = 8,
    options: PlaceOptions = _ANYWHERE,
) -> int:
    """Export a model and show what was lowered.

    Args:
        model: A specification file, a built-in definition such as `mv2`, or `package.module:function`.
        recipe: How to lower a definition.
        output: Where to put the program; the default is `MODEL_RECIPE.pte` here.
        seed: Seed of weights and calibration data.
        calibration: Number of calibration batches, for recipes that quantise statically.
        options: Where things are.
    """
    from harness import display, shell
    from harness.flows import exports

    settings = _settings(options)
    with shell.interruptible(), display.display() as shown:
        if model.endswith((".json", ".yaml", ".yml")):
            return exports.export_files(dataclasses.replace(settings, benchmark_file=(Path(model),)), shown)
        wanted = exports.Wanted(model, recipe, seed, calibration, output or Path(f"{_stem(model)}_{recipe}.pte"))
        return exports.export_model(wanted, settings, shown)


@app.command
def doctor(options: PlaceOptions = _ANYWHERE) -> int:
    """Tell what is installed, what is missing, and the remedy."""
    from harness.flows import doctor as flow

    return flow.examine(_settings(options), _console())


@app.command
def report(*, flush: Annotated[bool, Parameter(negative="")] = False, options: PlaceOptions = _ANYWHERE) -> int:
    """List the latest results, or send results that a remote reporter could not deliver.

    Args:
        flush: Send everything that waits.
        options: Where things are.
    """
    from harness import display
    from harness.flows import reports

    settings = _settings(options)
    if not flush:
        return reports.latest(settings, _console())
    with display.display() as shown:
        return reports.flush(settings, shown)


@app.command
def init(*, config_dir: Path | None = None) -> int:
    """Ask a few questions and save the answers as defaults."""
    from harness import layers
    from harness.flows import first_run

    return first_run.ask(layers.config_file(config_dir), _console())


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the console command: everything that ends a process ends it here."""
    sys.exit(_guarded(with_command(spelled(sys.argv[1:] if argv is None else argv))))


def _guarded(tokens: Sequence[str]) -> int:
    debug = "--debug" in tokens
    try:
        _refuse_elsewhere(tokens)
        code = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        return int(code or 0)
    except CycloptsError as error:
        return _complain(str(error), ExitCode.USAGE)
    except HarnessError as error:
        if debug:
            raise
        return _complain(str(error), error.exit_code)
    except KeyboardInterrupt as error:
        return _complain(f"interrupted ({error}): what was measured before is kept", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.ENVIRONMENT
    except Exception as error:
        if debug:
            raise
        return _complain(
            f"{type(error).__name__}: {error}\n  hint: a defect of the harness; --debug shows where",
            ExitCode.ENVIRONMENT,
        )


def with_command(tokens: Sequence[str]) -> list[str]:
    """FAI-PEP's way to start, without a command, means `run`."""
    if not tokens or tokens[0] in {"--help", "-h", "--version"} or not tokens[0].startswith("-"):
        return list(tokens)
    return ["run", *tokens]


def spelled(tokens: Sequence[str]) -> list[str]:
    """FAI-PEP's underscores as dashes, in the names of flags that we know and nowhere else."""
    known = {field.name for field in dataclasses.fields(RunOptions)} | {
        name.replace("-", "_") for name in ("pre-built-binary", "custom-binary", "user-string", *FAI_PEP_ELSEWHERE)
    }
    return [_spelled(token, known) for token in tokens]


def _spelled(token: str, known: set[str]) -> str:
    name, equals, value = token.partition("=")
    if name.startswith("--") and name[2:].removeprefix("no_") in known:
        return name.replace("_", "-") + equals + value
    return token


def _refuse_elsewhere(tokens: Sequence[str]) -> None:
    for token in tokens:
        name = token.partition("=")[0]
        if name.startswith("--") and name[2:] in FAI_PEP_ELSEWHERE:
            raise UsageError(f"{name.replace('-', '_').replace('__', '--', 1)}: {FAI_PEP_ELSEWHERE[name[2:]]}")


def _settings(options: RunOptions | PlaceOptions) -> Settings:
    from harness import layers
    from harness.spec.load import default_args

    given = {key: value for key, value in dataclasses.asdict(options).items() if value is not None}
    config = layers.config_file(given.pop("config_dir", None))
    if given.pop("reset_options", False):
        config.unlink(missing_ok=True)
    if "info" in given:
        given = {**layers.from_info(given.pop("info")), **given}
    if "backend" in given:
        given["command_args"] = f"{given.get('command_args', '')} --backend {given.pop('backend')}".strip()
    return layers.resolve(
        given,
        config=layers.read_config(config),
        environment=os.environ,
        default_args=default_args(given.get("benchmark_file", ())),
    )


def _console() -> Console:
    """Standard output; wide where no terminal says how wide."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=150)


def _stem(model: str) -> str:
    return model.rpartition(":")[2].rpartition(".")[2]


def _complain(text: str, code: ExitCode) -> int:
    print(f"harness: {text}", file=sys.stderr)
    return code
