"""ExecuTorch's own Android app (`extension/benchmark/android`): its extras and its results.

It takes the first program of a folder and reports averages only; a runner that is pushed and started from a shell
reports every iteration, and how it ended.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Final

from frameworks import command_line
from harness.core.app import App
from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.errors import BenchmarkUnsupported
from harness.core.metric import Observation
from harness.core.note import Note

RESULT: Final = "files/benchmark_results.json"
"""Its output, in its own folder."""

_NAME = re.compile(r"(?P<name>[^()]+?)(\((?P<unit>[^()]*)\))?")
_KNOWN: Final = {"avg_inference_latency": ("NET", "latency"), "model_load_time": ("RUN", "load_time")}
_STATUS: Final = "load_status"


def compose(benchmark: Benchmark, app: App, files: Mapping[str, str]) -> Command:
    """Compose the start of the app. The platform refuses environment variables and CPUs, which apps do not take.

    Args:
        benchmark: What to measure.
        app: The app.
        files: Path on the device by key.

    Raises:
        BenchmarkUnsupported: The app does not support something that the benchmark sets.
        BenchmarkFailed: It is not clear which file is the model.
    """
    for feature, is_set in (
        ("a number of threads", benchmark.threads is not None),
        ("input files", bool(benchmark.input_files)),
        ("output files", bool(benchmark.output_files)),
        ("a time limit", benchmark.time_limit_s is not None),
        ("an arrival of executions", benchmark.arrival is not None),
        ("a long run", benchmark.long_run_s is not None),
        ("a method", "method" in benchmark.variables),
        ("`command_args`", bool(benchmark.arguments)),
    ):
        if is_set:
            raise BenchmarkUnsupported(
                f"the app {app.package} does not support {feature}",
                hint="remove it, or measure with a runner instead of an `app`",
            )
    extras = {
        "model_dir": posixpath.dirname(files[command_line.model_key(benchmark)]),
        "num_iter": str(command_line.iterations_of(benchmark)),
        "num_warm_up_iter": str(command_line.warmup_of(benchmark)),
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
    """Parse the metrics of a launch, each of which is one average. Never raises."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return (), (_bad("it is not JSON"),)
    if not isinstance(entries, list):
        return (), (_bad("it is not a list"),)
    observations: list[Observation] = []
    notes: list[Note] = []
    for entry in entries:
        observation = _parse_entry(entry)
        if observation is None:
            notes.append(_bad(f"{json.dumps(entry)[:200]} is not a metric with a number"))
        elif observation.metric == _STATUS and observation.summary != {"mean": 0.0}:
            notes.append(_bad(f"the model was not loaded: {_STATUS} {(observation.summary or {}).get('mean', 0):g}"))
        else:
            observations.append(observation)
    return tuple(observations), tuple(notes)


def _parse_entry(entry: object) -> Observation | None:
    members = dict(_members(entry))
    name, value = members.get("metric"), members.get("actualValue")
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    kind, metric = _KNOWN.get(match["name"].strip(), ("NET", match["name"].strip()))
    try:
        return Observation(type=kind, metric=metric, unit=match["unit"] or "", summary={"mean": float(value)})
    except (ValueError, OverflowError):  # not finite, or beyond doubles
        return None


def _members(entry: object) -> Iterator[tuple[str, object]]:
    if isinstance(entry, dict):
        yield from entry.items()


def _bad(problem: str) -> Note:
    return Note(code="bad_lines", message=f"the app's {posixpath.basename(RESULT)}: {problem}", trust=False)
