"""The command line: the list of commands, and the one place with argv and exit."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Final, Literal

from cyclopts import App, CycloptsError, Parameter, UnknownOptionError, UnusedCliTokensError

import harness
from harness.commands import examples
from harness.commands.help_lines import JoinedLines
from harness.core.errors import ExitCode, HarnessError

app = App(
    name="harness",
    help="How fast is this model on this device, and can the number be believed?",
    help_epilogue=f"{examples.format_examples(examples.GENERAL)}\n\n{examples.format_exit_codes()}",
    version=harness.__version__,
    version_flags=("--version", "-V"),
    help_format="plaintext",
    help_formatter=JoinedLines(),
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(allow_repeating=True),  # the last one counts, as with FAI-PEP's parser
)

_COMMANDS: Final = {
    "run": (
        "measuring",
        "Measure the benchmarks of one or more specifications, with the installed runner or that of one commit.",
    ),
    "evaluate": (
        "evaluating",
        "Compare the outputs of lowered models with those of their origin: what lowering and quantisation cost.",
    ),
    "compare": (
        "measuring",
        "Compare a treatment with a control: two commits, releases or programs. Exit code 1 means a regression.",
    ),
    "rank": (
        "ranking",
        "Rank frameworks and backends that do the same work, by pairs of launches: faster only where pairs say so.",
    ),
    "watch": (
        "following",
        (
            "Compare new commits as they arrive; verify slow-downs, find the commits that caused them, and send alarms."
            "\n\nEach commit is compared with --base-commit, or else with the first commit of its week."
        ),
    ),
    "bisect": ("following", "Find the commit that changed a metric, between a good and a bad one."),
    "profile": (
        "profiling",
        "Time each operator of a model: by kind and one by one, delegated or not, with its module and line of Python.",
    ),
    "self-check": (
        "checking",
        "Compare a program with itself for five minutes: which changes can be shown here, and what disturbs.",
    ),
    "list": (
        "inspecting",
        "List the models and benchmarks that are built in, and the installed recipes, frameworks, platforms and more.",
    ),
    "status": (
        "inspecting",
        "Show the current activity of a watcher, its backlog, the latest verdicts and the open alarms.",
    ),
    "alarms": ("inspecting", "List the alarms of a watcher, close one with a reason, or open it again."),
    "builds": ("inspecting", "List the runners that were built, or remove some to make room."),
    "devices": ("inspecting", "List every device that can be reached."),
    "doctor": ("inspecting", "Check what is installed and what is missing, and how to get it."),
    "export": ("inspecting", "Export a model and show what was lowered."),
    "import": (
        "importing",
        "Store figures that other tools measured, marked as such: results of minibench, XCTest, llama-bench, ...",
    ),
    "init": ("inspecting", "Ask a few questions and save the answers as defaults."),
    "report": (
        "inspecting",
        "List the latest results, show stored ones again, or send what a remote reporter could not deliver.",
    ),
    "serve": (
        "serving",
        "Serve stored results: pages for people, and an API that other machines report to.",
    ),
    "lab": (
        "laboratory",
        "Join the devices of many hosts to a lab, in which `harness run --lab ADDRESS` measures.",
    ),
    "token": ("serving", "Make, revoke or list the tokens by which clients of the server are known."),
    "store": (
        "storing",
        "Show what is in a database of results; import, export and check them, and remove old ones.",
    ),
    "query": ("storing", "List results of a database, or write them into a table."),
    "history": (
        "publishing",
        "Write stored results as a folder of pages, which opens from a disk and needs no server.",
    ),
    "schema": (
        "inspecting",
        "Print the JSON Schema of specifications, for editors, or that of what the harness writes.",
    ),
    "validate": ("validating", "Check specifications without running anything, and list what they expand to."),
}
"""Name, module and description of each command, in the order of `--help`. A command is imported when it is called:
its flags need the options of every plug-in, and the list of commands does not."""
_SUBCOMMANDS: Final = {
    "lab": {
        "serve": "Serve the jobs of a lab: its scheduler.",
        "join": "Join the devices of this host to a lab, until a signal ends it.",
        "status": "Show the hosts and devices of a lab, and what they do.",
        "withdraw": "Take a device out of the pool, until `harness lab return`.",
        "return": "Bring a device back into the pool.",
        "check": "Check the health of a device now.",
        "dispatch": "Measure what persons ask for at a server of results.",
        "certificate": "Make the certificate of a host, and the authority of the lab with the first.",
    },
}
"""Descriptions of commands below one, by its name: what each takes differs."""
_FUNCTIONS: Final = {"import": "import_", "list": "list_", "return": "return_"}
"""Functions of commands that are called otherwise: Python knows `import`, `list` and `return`."""
_READING: Final = frozenset({"inspecting", "publishing", "serving", "storing", "validating"})
"""Modules of commands that measure nothing."""
_MILDER: Final = frozenset({ExitCode.OK, ExitCode.BENCHMARK_FAILED, ExitCode.UNDECIDED})
"""Exit codes that give way to a problem of the environment."""
_HELP: Final = frozenset({"--help", "-h", "--version", "-V"})
"""Flags that ask about the harness; alone, they ask about no command."""


def _add(parent: App, module: str, name: str, description: str, place: int, *, epilogue: str | None = None) -> None:
    function = _FUNCTIONS.get(name, name.replace("-", "_"))
    parent.command(
        f"harness.commands.{module}:{function}", name=name, help=description, help_epilogue=epilogue, sort_key=place
    )


for _place, (_name, (_module, _description)) in enumerate(_COMMANDS.items()):
    _epilogue = examples.format_examples(examples.OF_COMMANDS[_name])
    if _name not in _SUBCOMMANDS:
        _add(app, _module, _name, _description, _place, epilogue=_epilogue)
        continue
    _group = App(name=_name, help=_description, help_epilogue=_epilogue, sort_key=_place)
    app.command(_group)
    for _number, (_below, _words) in enumerate(_SUBCOMMANDS[_name].items()):
        _own = [example for example in examples.OF_COMMANDS[_name] if f" {_name} {_below}" in example[0]]
        _add(_group, _module, _below, _words, _number, epilogue=examples.format_examples(_own))


@app.command(
    name="completion",
    help="Print a script that completes commands and flags in a shell.",
    help_epilogue=examples.format_examples(examples.OF_COMMANDS["completion"]),
    sort_key=len(_COMMANDS),
)
def completion(shell: Literal["bash", "zsh", "fish"] = "bash", /) -> None:
    """`harness completion`.

    Args:
        shell: Shell that runs the script.
    """
    from harness.commands.completion_scripts import write_script

    sys.stdout.write(write_script(app, shell))


def main(argv: Sequence[str] | None = None) -> None:
    """Run the console command, and end the process with its exit code."""
    sys.exit(_run_guarded(sys.argv[1:] if argv is None else argv))


def _run_guarded(argv: Sequence[str]) -> int:
    """Run a command, whatever becomes of its output: one that is lost is a problem of the environment.

    A regression stays one, and a reader that has gone (`| head`) changes nothing.
    """
    from harness.files.streams import guard_standard_streams

    with guard_standard_streams() as find_failure:
        code = _run_command(argv)
        failure = find_failure()
        if failure is None:
            return code
        from harness.config.arguments import warn

        reason = failure.strerror if isinstance(failure, OSError) else failure
        module, _ = _COMMANDS.get(argv[0] if argv else "", ("", ""))
        stored = "" if module in _READING else "; what was measured is stored, and `harness report` shows it"
        warn(f"standard output cannot be written: {reason}\n  hint: make room there, or write elsewhere{stored}")
        return ExitCode.ENVIRONMENT if code in _MILDER else code


def _run_command(argv: Sequence[str]) -> int:
    tokens = list(argv)
    try:
        if _HELP.issuperset(tokens):
            return _call(tokens)
        from harness.config import arguments, named_flags

        tokens = arguments.prepare(tokens, (*_COMMANDS, "completion"), _SUBCOMMANDS)
        with named_flags.parse_named(app, tokens):
            return _call(tokens)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the outermost frame: nothing is above it
        from harness.config.arguments import warn

        if "--debug" in tokens:
            warn(traceback.format_exc())
        text, code = _describe(error, tokens)
        warn(text)
        return code


def _call(tokens: Sequence[str]) -> int:
    return int(app(list(tokens), exit_on_error=False, print_error=False, result_action="return_value") or 0)


def _describe_kept(interruption: KeyboardInterrupt, tokens: Sequence[str]) -> str:
    """Return what an interrupted command has left, and how it goes on; empty for commands that measure nothing."""
    command = tokens[0] if tokens else ""
    notes: Sequence[str] = getattr(interruption, "__notes__", ())
    if command == "self-check":
        kept = "nothing of it is kept"
    elif command in {"run", "compare", "bisect"}:
        kept = notes[-1] if notes else "nothing was measured yet"  # of a search, behind that of its comparison
    elif command == "watch":
        kept = "everything measured so far is kept"
    else:
        return ""
    resumable = command in {"bisect", "compare"} and "kept" in kept
    return f": {kept}; continue with `--resume`" if resumable else f": {kept}"


def _describe(error: Exception | KeyboardInterrupt, tokens: Sequence[str]) -> tuple[str, ExitCode]:
    """Return the message for an error that ends the process, and its exit code."""
    match error:
        case HarnessError():
            return str(error), error.exit_code
        case UnknownOptionError() | UnusedCliTokensError():
            from harness.config.arguments import needless_words, unknown_option

            mistake = unknown_option(error) if isinstance(error, UnknownOptionError) else needless_words(error)
            return str(mistake), mistake.exit_code
        case CycloptsError():
            from harness.config.parsing import describe_mistyped, shorten

            command = " ".join(("harness", *(error.command_chain or ())))
            problem = describe_mistyped(str(error))
            problem = problem if " Did you mean " in problem else shorten(problem)
            return f"{problem}\n  hint: `{command} --help` says what it takes", ExitCode.USAGE
        case KeyboardInterrupt():
            signal = f" ({error})" if str(error) else ""  # one that came before signals were ours says nothing
            return f"interrupted{signal}{_describe_kept(error, tokens)}", ExitCode.INTERRUPTED
        case OSError():
            place = f"{error.filename}: " if error.filename else ""
            hint = "free some space or fix the permissions, or name another folder (see `harness run --help`)"
            return f"{place}{error.strerror or error}\n  hint: {hint}", ExitCode.ENVIRONMENT
        case _:
            hint = "a bug in the harness; --debug shows where"
            return f"{type(error).__name__}: {error}\n  hint: {hint}", ExitCode.ENVIRONMENT
