"""ExecuTorch's own Android app (`extension/benchmark/android`): how to start it, and what it writes at its end.

It takes the first program of a folder and tells averages alone; a runner that is pushed and started from a shell tells
every iteration, and how it ended.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Final

from frameworks.executorch import command_line
from harness.core.benchmark import Benchmark
from harness.core.command import App, Command
from harness.core.errors import BenchmarkUnsupported
from harness.core.metric import Observation
from harness.core.note import Note

RESULT: Final = "files/benchmark_results.json"
"""Where it writes, in its own folder."""

_NAME = re.compile(r"(?P<name>[^()]+?)(\((?P<unit>[^()]*)\))?")
_KNOWN: Final = {"avg_inference_latency": ("NET", "latency"), "model_load_time": ("RUN", "load_time")}
_STATUS: Final = "load_status"


def compose(benchmark: Benchmark, app: App, files: Mapping[str, str]) -> Command:
    """The start of the app; that apps take no environment and no CPUs of their own, the platform says.

    Args:
        benchmark: What to measure.
        app: The app.
        files: Path on the device by key.

    Raises:
        BenchmarkUnsupported: The app cannot do what is asked.
        BenchmarkFailed: The specification does not say which file is the model.
    """
    for what, asked in (
        ("a number of threads", benchmark.threads is not None),
        ("input files", bool(benchmark.input_files)),
        ("output files", bool(benchmark.output_files)),
        ("a time limit", benchmark.time_limit_s is not None),
        ("a method", "method" in benchmark.variables),
        ("`command_args`", bool(benchmark.arguments)),
    ):
        if asked:
            raise BenchmarkUnsupported(
                f"the app {app.package} cannot be told {what}",
                hint="leave that out, or measure with a runner: no `app`",
            )
    extras = {
        "model_dir": posixpath.dirname(files[command_line.model_key(benchmark)]),
        "num_iter": str(command_line.wanted_iterations(benchmark)),
        "num_warm_up_iter": str(command_line.wanted_warmup(benchmark)),
    }
    if "files.tokenizer" in files:
        extras["tokenizer_path"] = files["files.tokenizer"]
    return Command(
        argv=tuple(word for pair in extras.items() for word in pair),
        env=benchmark.env,
        timeout_s=benchmark.timeout_s,
        cpus=benchmark.cpus,
        app=app if app.result else app.model_copy(update={"result": RESULT}),
    )


def parse(text: str) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """The metrics of a launch. Each is one average. Never raises."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return (), (_bad("it is no JSON"),)
    if not isinstance(entries, list):
        return (), (_bad("it is no list"),)
    observations: list[Observation] = []
    notes: list[Note] = []
    for entry in entries:
        found = _entry(entry)
        if found is None:
            notes.append(_bad(f"{json.dumps(entry)[:200]} is no metric with a number"))
        elif found.metric == _STATUS and found.summary != {"mean": 0.0}:
            notes.append(_bad(f"the model was not loaded: {_STATUS} {(found.summary or {}).get('mean', 0):g}"))
        else:
            observations.append(found)
    return tuple(observations), tuple(notes)


def _entry(entry: object) -> Observation | None:
    members = dict(_members(entry))
    name, value = members.get("metric"), members.get("actualValue")
    named = _NAME.fullmatch(name) if isinstance(name, str) else None
    if named is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    kind, metric = _KNOWN.get(named["name"].strip(), ("NET", named["name"].strip()))
    try:
        return Observation(type=kind, metric=metric, unit=named["unit"] or "", summary={"mean": float(value)})
    except (ValueError, OverflowError):  # not finite, or beyond doubles
        return None


def _members(entry: object) -> Iterator[tuple[str, object]]:
    if isinstance(entry, dict):
        yield from entry.items()


def _bad(what: str) -> Note:
    return Note(code="bad_lines", message=f"the app's {posixpath.basename(RESULT)}: {what}", trust=False)
