"""Generations as programs print them, for programs that write no file of their tokens: tokens, or a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, NamedTuple

from harness.core.benchmark import Benchmark
from harness.core.errors import BenchmarkFailed
from harness.core.evaluation import OutputComparison
from harness.core.generation import GENERATION
from harness.core.metric import Observation
from harness.core.result import Outcome
from harness.core.verdict import OutputVerdict
from harness.running.launcher import Launcher

TAKEN: Final = "its generation was compared"
"""Why launches that take what was generated do not count."""

_NAMES: Final = {f"{GENERATION} tokens": "new token", f"{GENERATION} text": "character"}
"""Metric of each kind, and what it consists of."""

_CUT: Final = re.compile(r" \.\.\. \(([\d,]{1,20}), sha256 [0-9a-f]{16}\)\Z")
"""End of one that is not shown whole: its length and a digest."""


class GenerationText(NamedTuple):
    """What one launch generated.

    Attributes:
        unit: What it consists of.
        text: As it is stored: whole, or its beginning with a digest.
    """

    unit: str
    text: str

    @property
    def length(self) -> int:
        """Number of its parts."""
        cut = _CUT.search(self.text)
        return len(self.parts) if cut is None else int(cut[1].replace(",", ""))

    @property
    def parts(self) -> Sequence[str]:
        """Its parts, or those that are stored."""
        stored = _CUT.sub("", self.text)
        return stored if self.unit == "character" else stored.split()


@dataclass(slots=True)
class PrintedGeneration:
    """What each side prints that it generated, in a launch of its own.

    Attributes:
        control: The launcher of the control.
        treatment: That of the treatment.
        benchmark: The benchmark as it is launched for that.
    """

    control: Launcher
    treatment: Launcher
    benchmark: Benchmark
    _first: GenerationText | None = None

    def compare(self) -> OutputComparison:
        """Launch each side once, and compare what they generated.

        Raises:
            BenchmarkFailed: A side prints none.
            DeviceLost: The device went away.
        """
        self._first = self._take("control", self.control)
        return compare_generations(self._first, self._take("treatment", self.treatment))

    def compare_control(self) -> OutputComparison:
        """Launch the control once more, and compare with its first generation. Errors as for `compare`."""
        again = self._take("control", self.control)
        return compare_generations(self._first or again, again)

    def _take(self, side: str, launcher: Launcher) -> GenerationText:
        launch, observations = launcher.launch(self.benchmark)
        launcher.discard(TAKEN)
        if launch.outcome is not Outcome.OK:
            raise BenchmarkFailed(f"the {side} cannot be launched for what it generates: {launch.reason}")
        generation = find_generation(observations)
        if generation is None:
            raise BenchmarkFailed(f"the {side} prints no tokens and no text")
        return generation


def find_generation(observations: Sequence[Observation]) -> GenerationText | None:
    """Return the first generation of a launch: tokens where there are some, else a text."""
    infos = {observation.name: observation.info for observation in observations}
    found = ((unit, infos.get(name)) for name, unit in _NAMES.items())
    return next((GenerationText(unit, text) for unit, text in found if text), None)


def compare_generations(control: GenerationText, treatment: GenerationText) -> OutputComparison:
    """Compare two generations exactly, and name the first part that differs.

    Args:
        control: What is expected.
        treatment: That of the other side.

    Raises:
        BenchmarkFailed: They are of different kinds.
    """
    if control.unit != treatment.unit:
        raise BenchmarkFailed(f"the control prints each {control.unit}, and the treatment each {treatment.unit}")
    if control == treatment:
        reason = f"{control.length:,} {control.unit}{'' if control.length == 1 else 's'}"
        return OutputComparison(verdict=OutputVerdict.IDENTICAL, examples=1, reason=reason)
    pairs = enumerate(zip_longest(control.parts, treatment.parts), 1)
    number, (expected, found) = next(
        ((number, pair) for number, pair in pairs if pair[0] != pair[1]), (len(control.parts) + 1, (None, None))
    )
    known = expected is not None and found is not None
    return OutputComparison(
        verdict=OutputVerdict.DIFFERENT,
        examples=1,
        differing_examples=1,
        first_difference=f"{control.unit} {number:,} of {control.length:,}{'' if known else ', or later'}",
        reason=f"{found} instead of {expected}" if known else f"{treatment.length:,} {control.unit}s there",
    )
