"""Checks of parsing what runners print."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from types import TracebackType
from typing import Final

from msgspec.structs import replace

from harness.core.command import Command, Completed
from harness.core.metric import Observation, convert
from harness.core.note import Note
from harness.testing.contract import expect, process_unchanged
from harness.testing.frameworks.case import Check, FrameworkCase

Parsed = tuple[tuple[Observation, ...], tuple[Note, ...]]

_ENDINGS: Final = (
    Completed(Command(("runner",)), 0),
    Completed(Command(("runner",)), 1),
    Completed(Command(("runner",)), None, signal=11),
    Completed(Command(("runner",)), None, signal=9, timed_out=True),
)
_MUTATIONS: Final = 1000

NOISE: Final = (
    "",
    " \t ",
    "warning: something else",
    "\x00\x01\x1b[31mred\x1b[0m\x7f",
    "\ufffd\u2028\x85 odd ends of lines",
    "{",
    "}",
    "{}",
    "[1, 2",
    '{"type": "NET"',
    "[" * 5_000,
    '{"a":' * 100,  # what follows it could be its value
    '{"a":' * 5_000,
    "PyTorchObserver",
    "PyTorchObserver {",
    "PyTorchObserver {}",
    "PyTorchObserver null",
    'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "NaN"}',
    'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "1e999"}',
    'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "fast"}',
    'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": ' + "9" * 5_000 + "}",
    'PyTorchObserver {"type": [], "metric": {}, "unit": 3, "value": null}',
    'PyTorchObserver {"type": "\\ud800", "metric": "text", "unit": "", "info_string": "\\udfff"}',
    "nan inf -inf 1e999 " + "9" * 5_000,
    "x" * 100_000,
    "% %s %n {0} {x} \\ ' \" ` $HOME",
)
"""Lines without measurements that programs, loggers and crashes print."""

_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_REPLACEMENTS: Final = (
    "",
    "-",
    ".",
    ",",
    ":",
    "\n",
    "\0",
    "nan",
    "inf",
    "1e999",
    "9" * 400,
    " ",
    '"',
    "{",
    "}",
    "[]",
    "\ufffd",
)


def output_is_parsed(case: FrameworkCase) -> None:
    """The output of a successful launch becomes observations."""
    _expect_observed(case, _parse(case, case.output)[0], "a successful launch")


def output_before_a_failure_is_parsed(case: FrameworkCase) -> None:
    """The output of a launch that fails at its end is kept as evidence."""
    for ending in _ENDINGS:
        _expect_observed(case, _parse(case, case.output, ending=ending)[0], f"a launch that {ending.describe()}")


def no_output_gives_no_observations(case: FrameworkCase) -> None:
    """Without output there are no observations."""
    for completed in ((), _ENDINGS[:1], _ENDINGS[1:2], _ENDINGS):
        observations, _ = case.create().parse(completed, case.benchmark)
        expect(not observations, f"it observed {list(observations)} in a launch without output")


def noise_gives_no_observations(case: FrameworkCase) -> None:
    """Other output of programs gives no observations, and hides none."""
    for line in NOISE:
        observations = _parse(case, line)[0]
        expect(
            not any(observation.samples for observation in observations), f"it observed {observations} in {line[:80]!r}"
        )
        text = f"{line}\n{case.output}\n{line}\n"
        _expect_observed(case, _parse(case, text)[0], f"a launch that also printed {line[:80]!r}")
    noise = "\n".join(NOISE)
    _expect_observed(case, _parse(case, f"{noise}\n{case.output}\n{noise}", noise)[0], "a noisy launch")


def damaged_output_never_raises(case: FrameworkCase) -> None:
    """Output that is truncated, repeated or mixed is parsed as far as it goes."""
    chance = random.Random(case.output)  # noqa: S311 - the same damage in every run, not a secret
    texts = (*_without_numbers(case.output), *(_damage(case.output, chance) for _ in range(_MUTATIONS)))
    for number, text in enumerate(texts):
        ending = _ENDINGS[number % len(_ENDINGS)]
        for observation in _parse(case, text, text[::-1], ending)[0]:
            _expect_sound(observation, text)


def parsing_is_deterministic(case: FrameworkCase) -> None:
    """Parsing again gives the same: no clock, no randomness, nothing kept from the launch before."""
    with process_unchanged():
        framework = case.create()
        completed = (replace(_ENDINGS[0], stdout=case.output),)
        first = framework.parse(completed, case.benchmark)
        framework.parse((replace(_ENDINGS[0], stdout="\n".join(NOISE)),), case.benchmark)
        again, elsewhere = framework.parse(completed, case.benchmark), case.create().parse(completed, case.benchmark)
        expect(_frozen(first) == _frozen(again) == _frozen(elsewhere), "the same output was parsed in different ways")


def observations_are_sound(case: FrameworkCase) -> None:
    """Finite numbers; times with a unit of time; names for everything."""
    observations, notes = _parse(case, case.output)
    for observation in observations:
        _expect_sound(observation, case.output)
        if observation.samples and (observation.metric == "latency" or observation.metric.endswith("_time")):
            known = convert(1.0, observation.unit, "s") is not None
            expect(known, f"{observation.name} is a time, but its unit is {observation.unit!r}")
    expect(all(note.code and note.message for note in notes), f"a note is empty: {notes}")


CHECKS: Final[tuple[Check, ...]] = (
    output_is_parsed,
    output_before_a_failure_is_parsed,
    no_output_gives_no_observations,
    noise_gives_no_observations,
    damaged_output_never_raises,
    parsing_is_deterministic,
    observations_are_sound,
)


def count_samples(observations: Sequence[Observation]) -> dict[str, int]:
    """Return the number of samples of each metric."""
    counts: dict[str, int] = {}
    for observation in observations:
        counts[observation.name] = counts.get(observation.name, 0) + len(observation.samples)
    return counts


def _parse(case: FrameworkCase, stdout: str, stderr: str = "", ending: Completed = _ENDINGS[0]) -> Parsed:
    with _NotedOutput(stdout):
        completed = replace(ending, stdout=stdout, stderr=stderr)
        return _frozen(case.create().parse((completed,), case.benchmark))


def _frozen(parsed: tuple[Sequence[Observation], Sequence[Note]]) -> Parsed:
    observations, notes = parsed
    return tuple(observations), tuple(notes)


class _NotedOutput:
    """Context that adds the parsed output to an error, whose traceback shows where the contract is broken."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(f"raised by parse(), which never raises, on {self._text[:2000]!r}")


def _expect_observed(case: FrameworkCase, observations: Sequence[Observation], where: str) -> None:
    counts = count_samples(observations)
    for name, wanted in case.observed.items():
        expect(counts.get(name) == wanted, f"in {where} it observed {counts.get(name)} samples of {name}, not {wanted}")


def _expect_sound(observation: Observation, text: str) -> None:
    expect(bool(observation.type and observation.metric), f"an observation has no name: {observation}")
    numbers = (*observation.samples, *(observation.summary or {}).values())
    expect(
        all(map(math.isfinite, numbers)), f"{observation.name} is not finite: {observation}, parsed from {text[:500]!r}"
    )


def _without_numbers(text: str) -> tuple[str, ...]:
    """Return the text with every number replaced: too large, too small, missing, no number at all."""
    return tuple(_NUMBER.sub(replacement, text) for replacement in ("9" * 400, "1e-999", "-1", "", "nan", "1.2.3"))


def _damage(text: str, chance: random.Random) -> str:
    """Return the text after up to three accidents: cut, repeated, mixed with noise, a few characters changed."""
    for _ in range(chance.randint(1, 3)):
        first, second = sorted(chance.randint(0, len(text)) for _ in range(2))
        last = min(second, first + chance.choice((1, 3, 20, len(text))))
        text = chance.choice(
            (
                text[:first],
                text[first:],
                text[:first] + text[last:],
                text[:last] + text[first:],
                text[:first] + chance.choice(NOISE) + text[first:],
                text[:first] + chance.choice(_REPLACEMENTS) + text[last:],
            )
        )
    return text
