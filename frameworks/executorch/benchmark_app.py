"""ExecuTorch's own app for iPhones (`extension/benchmark/apple`): which tests are a model's, and their metrics.

Its tests are made from the models in its bundle, and named after them, the system and the phone:

    test_forward_mv2_xnnpack_q8_pte_iOS_17_2_1_iPhone15_4

`load` measures loading, `forward` 20 executions after one that is dropped, `generate` tokens of a language model.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from frameworks import command_line
from harness.core.app import App
from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.errors import BenchmarkUnsupported
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.xctest import BadLine, CaseMeasured, observe, parse_log

ITERATIONS: Final = 20
"""Timed iterations of its `forward`, which nothing changes (`GenericTests.mm`)."""
WARMUP: Final = 1
"""Iterations that XCTest drops at the beginning of each measurement."""

_SUFFIX: Final = ".pte"
_METHODS: Final = "forward|load|generate"
_SYSTEM: Final = r"[A-Za-z]+_[0-9][0-9_]*_\w+"
_NAME: Final = re.compile(r"[\w+]+")
_SCALES: Final = {"s": (1e6, "us"), "kB": (1e3, "bytes")}
"""Values have six decimals of seconds, and three of kilobytes, which are 1000 bytes: whole numbers in these units."""
_MOST_NAMES: Final = 5


def compose(benchmark: Benchmark, app: App, files: Mapping[str, str]) -> Command:
    """Compose the start of its tests: their words are the files that the bundle must have.

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
        (f"{benchmark.iterations} iterations: it has {ITERATIONS}", benchmark.iterations not in {-1, ITERATIONS}),
        (f"{benchmark.warmup} warm-up iterations: it has {WARMUP}", benchmark.warmup not in {-1, WARMUP}),
        ("input files", bool(benchmark.input_files)),
        ("output files", bool(benchmark.output_files)),
        ("a time limit", benchmark.time_limit_s is not None),
        ("an arrival of executions", benchmark.arrival is not None),
        ("a long run", benchmark.long_run_s is not None),
        ("a method", "method" in benchmark.variables),
        ("`command_args`", bool(benchmark.arguments)),
        ("times of operators", benchmark.operators),
    ):
        if is_set:
            raise BenchmarkUnsupported(
                f"the app {app.package} does not support {feature}",
                hint="remove it, or measure with the runner app instead of an `app`",
            )
    model = command_line.model_key(benchmark)
    name = PurePosixPath(files[model]).name
    if not name.endswith(_SUFFIX) or _NAME.fullmatch(_clean(name)) is None:
        raise BenchmarkUnsupported(
            f"the app {app.package} has no tests for a model named {name!r}",
            hint=f"let its `filename` end in {_SUFFIX}, and consist of letters, digits, `_`, `-`, `.` and `+`",
        )
    others = (files[file.key] for file in benchmark.files if file.key != model)
    return Command(
        argv=(files[model], *others),
        env=benchmark.env,
        timeout_s=benchmark.timeout_s,
        cpus=benchmark.cpus,
        app=app,
    )


def parse(text: str, benchmark: Benchmark) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """Parse the metrics of a model's tests from the log of all tests. Never raises."""
    tests = _tests_of(benchmark)
    observations: dict[str, Observation] = {}
    others: dict[str, None] = {}
    notes: list[Note] = []
    for event in parse_log(text):
        if isinstance(event, BadLine):
            notes.append(_bad(f"line {event.line}: {event.reason}"))
        if not isinstance(event, CaseMeasured):
            continue
        test = tests.fullmatch(event.case.name)
        if test is None:
            others[event.case.name] = None
        elif (observation := observe(event, test["method"])) is None:
            notes.append(_bad(f"line {event.line}: a figure is not finite"))
        else:
            observations[observation.name] = _scale(observation)
    if not observations and others:
        notes.append(_bad(f"no test of this model, but {', '.join(list(others)[:_MOST_NAMES])}"))
    return tuple(observations.values()), tuple(notes)


def _tests_of(benchmark: Benchmark) -> re.Pattern[str]:
    """Return the names of a model's tests. Those of `generate` name the tokenizer, too."""
    model = command_line.model_key(benchmark)
    names = {file.key: re.escape(_clean(PurePosixPath(file.filename).name)) for file in benchmark.files}
    others = "|".join(name for key, name in names.items() if key != model)
    tokenizer = f"(?:_(?:{others}))?" if others else ""
    return re.compile(rf"test_(?P<method>{_METHODS})_{names[model]}{tokenizer}_{_SYSTEM}")


def _clean(name: str) -> str:
    """Replace punctuation, as the app does (`ResourceTestCase.m`); `+` is none."""
    return "".join("_" if unicodedata.category(character).startswith("P") else character for character in name)


def _scale(observation: Observation) -> Observation:
    """Return an observation in our units."""
    scale = _SCALES.get(observation.unit)
    if scale is None:
        return observation
    factor, unit = scale
    samples = tuple(round(value * factor, 3) for value in observation.samples)
    summary = observation.summary
    if summary is not None:
        summary = {name: value * factor for name, value in summary.items()}
    return observation.model_copy(update={"unit": unit, "samples": samples, "summary": summary})


def _bad(problem: str) -> Note:
    return Note(code="bad_lines", message=f"the log of the app's tests: {problem}", trust=False)
