"""What is expected of reading what runners say."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Final

from harness.core.command import Command, Completed
from harness.core.metric import Observation, convert
from harness.core.note import Note
from harness.testing.contract import expect, process_unchanged
from harness.testing.frameworks.case import Check, FrameworkCase
from harness.testing.noise import NOISE, damaged, distorted

Parsed = tuple[tuple[Observation, ...], tuple[Note, ...]]

_ENDINGS: Final = (
    Completed(Command(("runner",)), 0),
    Completed(Command(("runner",)), 1),
    Completed(Command(("runner",)), None, signal=11),
    Completed(Command(("runner",)), None, signal=9, timed_out=True),
)
_MUTATIONS: Final = 1000


def its_runner_is_understood(case: FrameworkCase) -> None:
    """What a launch that went well said becomes observations."""
    _expect_observed(case, _parse(case, case.said)[0], "a good launch")


def what_was_said_before_a_failure_counts(case: FrameworkCase) -> None:
    """A launch that fails at its end has said something until then: it is kept as evidence."""
    for ending in _ENDINGS:
        _expect_observed(case, _parse(case, case.said, ending=ending)[0], f"a launch that {ending.describe()}")


def nothing_said_is_nothing_observed(case: FrameworkCase) -> None:
    """No number comes from nowhere."""
    for completed in ((), _ENDINGS[:1], _ENDINGS[1:2], _ENDINGS):
        observations, _ = case.create().parse(completed, case.benchmark)
        expect(not observations, f"it observed {list(observations)} in a launch that said nothing")


def noise_is_no_observation(case: FrameworkCase) -> None:
    """What programs print beside their numbers is not taken for numbers, and costs none of them."""
    for line in NOISE:
        seen = _parse(case, line)[0]
        expect(not any(one.samples for one in seen), f"it observed {seen} in {line[:80]!r}")
        text = f"{line}\n{case.said}\n{line}\n"
        _expect_observed(case, _parse(case, text)[0], f"a launch that also said {line[:80]!r}")
    noise = "\n".join(NOISE)
    _expect_observed(case, _parse(case, f"{noise}\n{case.said}\n{noise}", noise)[0], "a noisy launch")


def damaged_output_never_raises(case: FrameworkCase) -> None:
    """Output is cut where a program is killed, and mixed where threads write at once: what can be read is read."""
    chance = random.Random(case.said)  # noqa: S311 - the same damage in every run, not a secret
    texts = (*distorted(case.said), *(damaged(case.said, chance) for _ in range(_MUTATIONS)))
    for number, text in enumerate(texts):
        ending = _ENDINGS[number % len(_ENDINGS)]
        for observation in _parse(case, text, text[::-1], ending)[0]:
            _expect_sound(observation, text)


def it_reads_the_same_twice(case: FrameworkCase) -> None:
    """Results that are computed again are the same: no clock, no chance, nothing kept from the launch before."""
    with process_unchanged():
        framework = case.create()
        completed = (replace(_ENDINGS[0], stdout=case.said),)
        first = framework.parse(completed, case.benchmark)
        framework.parse((replace(_ENDINGS[0], stdout="\n".join(NOISE)),), case.benchmark)
        again, other = framework.parse(completed, case.benchmark), case.create().parse(completed, case.benchmark)
        expect(_frozen(first) == _frozen(again) == _frozen(other), "the same output was read in different ways")


def its_observations_are_sound(case: FrameworkCase) -> None:
    """Finite numbers; times with a unit of time; names for everything."""
    observations, notes = _parse(case, case.said)
    for observation in observations:
        _expect_sound(observation, case.said)
        if observation.samples and (observation.metric == "latency" or observation.metric.endswith("_time")):
            known = convert(1.0, observation.unit, "s") is not None
            expect(known, f"{observation.name} is a time, and its unit is {observation.unit!r}")
    expect(all(note.code and note.message for note in notes), f"a note says nothing: {notes}")


CHECKS: Final[tuple[Check, ...]] = (
    its_runner_is_understood,
    what_was_said_before_a_failure_counts,
    nothing_said_is_nothing_observed,
    noise_is_no_observation,
    damaged_output_never_raises,
    it_reads_the_same_twice,
    its_observations_are_sound,
)


def counts(observations: Sequence[Observation]) -> dict[str, int]:
    """How many samples each metric has."""
    found: dict[str, int] = {}
    for observation in observations:
        found[observation.name] = found.get(observation.name, 0) + len(observation.samples)
    return found


def _parse(case: FrameworkCase, stdout: str, stderr: str = "", ending: Completed = _ENDINGS[0]) -> Parsed:
    """What a new object reads in one launch."""
    with _Reading(stdout):
        completed = replace(ending, stdout=stdout, stderr=stderr)
        return _frozen(case.create().parse((completed,), case.benchmark))


def _frozen(parsed: tuple[Sequence[Observation], Sequence[Note]]) -> Parsed:
    observations, notes = parsed
    return tuple(observations), tuple(notes)


class _Reading:
    """Adds to an error what was read; the error itself shows best where the contract is broken."""

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
    told = counts(observations)
    for name, wanted in case.observed.items():
        expect(told.get(name) == wanted, f"in {where} it observed {told.get(name)} samples of {name}, not {wanted}")


def _expect_sound(observation: Observation, text: str) -> None:
    expect(bool(observation.type and observation.metric), f"an observation has no name: {observation}")
    numbers = (*observation.samples, *(observation.summary or {}).values())
    expect(all(map(math.isfinite, numbers)), f"{observation.name} is not finite: {observation}, read in {text[:500]!r}")
