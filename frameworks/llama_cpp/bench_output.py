"""Figures of llama-bench, in every layout that it prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.metric import Observation
from harness.core.note import Note
from harness.formats.llama_bench import TYPE, LlamaBenchTest, observe
from harness.formats.llama_tables import read_tests

_QUOTED: Final = 5
"""Number of problems that a note quotes."""

_GENERATION_TYPE: Final = "llama_bench"
"""Type of figures in llama-bench's definitions, as in `frameworks.observations.token_streams`."""

_SETTINGS: Final = (
    "model_filename",
    "model_type",
    "n_threads",
    "n_batch",
    "n_ubatch",
    "type_k",
    "type_v",
    "n_gpu_layers",
    "flash_attn",
)
"""Fields by which tests of one name are told apart."""


def parse_bench(text: str, benchmark: Benchmark) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """Parse the tests of llama-bench in the output of a launch.

    The figure of the only test of its kind is `LLM prefill_rate` or `LLM decode_rate`; of several, each has the type
    that llama-bench's table gives it: `pp512 prefill_rate`. Of a benchmark with a `generation` their type is
    `llama_bench`: the prompt and the new tokens are tests of their own, and no generation of ours.
    """
    placed, problems = read_tests(text)
    tests = [test for _, test in placed]
    observations = list(_observe_tests(tests, TYPE if benchmark.generation is None else _GENERATION_TYPE))
    notes = list(_note_tests(tests, benchmark))
    if problems:
        quoted = "; ".join(f"{problem.place}: {problem.reason}" for problem in problems[:_QUOTED])
        more = f"; and {len(problems) - _QUOTED} more" if len(problems) > _QUOTED else ""
        message = f"some tests of llama-bench could not be read: {quoted}{more}"
        notes.append(Note(code="bad_lines", message=message, hint="print -o jsonl", trust=False))
    return (*observations, *_describe(tests)), tuple(notes)


def _observe_tests(tests: Sequence[LlamaBenchTest], only: str) -> Iterator[Observation]:
    for _, group in groupby(sorted(enumerate(tests), key=lambda item: item[1].metric), lambda item: item[1].metric):
        similar = [test for _, test in group]
        for test, type_ in zip(similar, _name_types(similar, only), strict=True):
            observation = observe(test, type_)
            if observation is not None:
                yield observation


def _name_types(tests: Sequence[LlamaBenchTest], only: str) -> list[str]:
    """Return a type for each of the tests of one kind, that of the only one as given; no two are equal."""
    if len(tests) == 1:
        return [only]
    differing = [name for name in _SETTINGS if len({str(getattr(test, name)) for test in tests}) > 1]
    seen: dict[str, int] = {}
    names = []
    for test in tests:
        same_name = sum(other.name == test.name for other in tests) > 1 if len(tests) <= 100 else True
        settings = [f"{setting}={getattr(test, setting)}" for setting in differing] if same_name else []
        name = " ".join((test.name.replace(" ", ""), *settings))
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return names


def _describe(tests: Sequence[LlamaBenchTest]) -> Iterator[Observation]:
    """Yield what llama-bench says of itself, each text once."""
    texts: Mapping[str, Sequence[str]] = {
        "runtime": [_version(test) for test in tests],
        "backend": [test.backends for test in tests],
        "model_type": [test.model_type for test in tests],
    }
    for metric, values in texts.items():
        for value in dict.fromkeys(value for value in values if value):
            yield Observation(type="RUN", metric=metric, info=value)
    threads = sorted({test.n_threads for test in tests if test.n_threads is not None and test.n_threads > 0})
    if threads:
        yield Observation(type="RUN", metric="threads", samples=tuple(map(float, threads)))


def _version(test: LlamaBenchTest) -> str:
    if not test.build_commit:
        return ""
    return f"llama.cpp {test.build_commit}" + (f" (b{test.build_number})" if test.build_number > 0 else "")


def _note_tests(tests: Sequence[LlamaBenchTest], benchmark: Benchmark) -> Iterator[Note]:
    others = sorted({test.n_threads for test in tests if test.n_threads not in {None, benchmark.threads}}, key=str)
    if benchmark.threads is not None and others:
        yield Note(
            code="threads",
            message=f"llama-bench used {', '.join(map(str, others))} threads instead of {benchmark.threads}",
            hint="check whether `commands` or `command_args` set -t as well",
            trust=False,
        )
    if any(test.avg_ts and not test.rates for test in tests):
        yield Note(
            code="averages",
            message="llama-bench printed averages, and not each repetition",
            hint="print -o jsonl or -o json",
        )
    silent = [test.name for test in tests if observe(test) is None]
    if silent:
        names = ", ".join(dict.fromkeys(silent[:_QUOTED]))
        yield Note(code="lost_metric", message=f"llama-bench printed no figure of {names}", trust=False)
