"""Doubts about a comparison that its pairs cannot show: launches that one side lost, and sides that are unlike."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from harness.core.device import ADDRESS_RANDOMISATION, Device
from harness.core.note import Note
from harness.core.result import Launch, Outcome

_HEAT: Final = "was slowed by heat"
_SILENT: Final = "reported nothing that can be compared"
_CAUSES: Final = {Outcome.TIMEOUT: "timed out", Outcome.CRASHED: "crashed"}

LOST_LAUNCHES: Final = {f"{side}_lost_launches": side for side in ("control", "treatment")}
"""Codes of the notes on both sides. One that is not trusted speaks against `no change`: what is left of the side is a
selection of its launches."""

UNEQUAL_SAMPLES: Final = "unequal_samples"
"""Code of the note that the launches of both sides reported different numbers of samples."""

DOUBTS: Final = frozenset({*LOST_LAUNCHES, UNEQUAL_SAMPLES})
"""Codes of notes that speak against `no change`, whatever the pairs say, where they are not trusted."""

UNUSED_SAMPLES: Final = "unused_samples"
"""Code of the note that of the samples of some launches not all were compared."""

_SIGNIFICANT: Final = 0.01
_FLAKY_SHARE: Final = 0.05
"""A program that fails in one of twenty launches is called flaky, be it the first failure that was seen."""

_MANY_MORE: Final = 2
"""Ratio of sample counts that is too large: programs that run for a given time differ by as much as they differ in
speed, and no more."""

_HINTS: Final = {
    _HEAT: "it heats the device: give both pauses (`cooldown`), and compare what it does without them",
    "failed": "its logs say why; fix that first",
}


def find_doubt(notes: Iterable[Note]) -> str | None:
    """Return why pairs may not speak for all launches of a side; None where they do."""
    return next((note.message for note in notes if note.code in DOUBTS and not note.trust), None)


class DiscardedPairs:
    """Record of the pairs that were discarded, and of the side whose launch did not count."""

    def __init__(self) -> None:
        self._causes: dict[str, Counter[str]] = {side: Counter() for side in LOST_LAUNCHES.values()}
        self._cut_short = 0

    @property
    def count(self) -> int:
        """Number of discarded pairs."""
        return self._cut_short + sum(causes.total() for causes in self._causes.values())

    def add(self, side: str, launch: Launch) -> None:
        """Record a pair that was discarded because of one side's launch."""
        self._causes[side][_cause_of(launch)] += 1

    def add_cut_short(self) -> None:
        """Record a pair during which the device was lost: neither side is to blame."""
        self._cut_short += 1

    def failures(self, side: str) -> int:
        """Return the number of launches of a side that did not count for another reason than heat."""
        return self._causes[side].total() - self._causes[side][_HEAT]

    def notes(self, pairs: int) -> tuple[Note, ...]:
        """Return a note on each side that lost launches.

        Args:
            pairs: Number of pairs that were tried.
        """
        return tuple(note for code in LOST_LAUNCHES if (note := self._note(code, pairs)) is not None)

    def doubt(self, pairs: int) -> Note | None:
        """Return the note that speaks against `no change`; None where nothing does."""
        return next((note for note in self.notes(pairs) if not note.trust), None)

    def _note(self, code: str, pairs: int) -> Note | None:
        side = LOST_LAUNCHES[code]
        counts = self._causes[side]
        if not counts:
            return None
        causes = ", ".join(f"{cause} in {count}" for cause, count in counts.most_common())
        message = f"the {side} {causes} of {pairs} pairs"
        if not (self._loses_more(side) or self._is_flaky(side, pairs)):
            return Note(code=code, message=message)
        return Note(
            code=code,
            message=f"{message}, and only its other launches were compared",
            hint=_HINTS[_HEAT] if counts.most_common(1)[0][0] == _HEAT else _HINTS["failed"],
            trust=False,
        )

    def _loses_more(self, side: str) -> bool:
        """Return whether a side lost more launches than chance allows. The coin makes the sign test exact."""
        lost = self._causes[side].total()
        return sign_test(lost, sum(causes.total() for causes in self._causes.values())) <= _SIGNIFICANT

    def _is_flaky(self, side: str, pairs: int) -> bool:
        failed = self.failures(side)
        return failed > 0 and failed >= _FLAKY_SHARE * pairs


def sign_test(successes: int, trials: int) -> float:
    """Return the probability that a fair coin falls on either of its sides at least this often.

    Exact and two-sided: 8 of 8 are the fewest below 1 %.
    """
    combinations = sum(math.comb(trials, count) for count in range(successes, trials + 1))
    return min(1.0, 2 * math.ldexp(combinations, -trials))


def unused_samples(control: int, treatment: int, metric: str = "") -> Note | None:
    """Return a note where a launch of one side reported more samples than one of the other, and lost some.

    Args:
        control: Number of samples of the control's launch.
        treatment: That of the treatment's.
        metric: Name of their metric, where several are compared.
    """
    if control == treatment:
        return None
    message = (
        f"a launch of the control reported {control} samples{_of(metric)}, one of the treatment {treatment}: the first "
        f"{min(control, treatment)} of both were compared"
    )
    return Note(code=UNUSED_SAMPLES, message=message, hint="let both run the same number of iterations")


def unequal_samples(control: int, treatment: int, metric: str = "") -> Note | None:
    """Return a note where a launch of one side reported many more samples than one of the other.

    A program that reports its best iterations only, or one figure for all, looks faster than it is. Arguments are
    those of `unused_samples`.
    """
    if max(control, treatment) < _MANY_MORE * min(control, treatment):
        return None
    message = f"a launch of the control reported {control} samples{_of(metric)}, one of the treatment {treatment}"
    hint = "figures of such different launches cannot be compared: let both report every iteration"
    return Note(code=UNEQUAL_SAMPLES, message=message, hint=hint, trust=False)


def _of(metric: str) -> str:
    return f" of {metric}" if metric else ""


def layout_notes(control: Launch, treatment: Launch, device: Device) -> tuple[Note, ...]:
    """Return notes on what places the memory of the two sides differently, or of each side always in the same way.

    Command lines and environments that are not equally long move the stack, which alone can change the speed of a
    program by some per cent. Padding (`harness.running.padding`) averages that out. Without randomisation of the
    address space nothing does so for the rest of the memory: what differs between the builds then has the same effect
    in every launch, and is taken for a difference.
    """
    lines = [sum(len(word) for words in launch.commands for word in words) for launch in (control, treatment)]
    sizes = [sum(len(name) + len(value) for name, value in launch.env.items()) for launch in (control, treatment)]
    is_padded = control.padding is not None and treatment.padding is not None
    notes: list[Note] = []
    if lines[0] != lines[1]:
        hint = "that alone can change the speed: put the programs into folders whose paths are equally long"
        notes.append(
            _unequal("unequal_paths", "command lines", lines, None if is_padded else hint, is_padded=is_padded)
        )
    if sizes[0] != sizes[1]:
        hint = "that alone can change the speed: give both sides variables of the same length"
        notes.append(
            _unequal("unequal_environments", "environments", sizes, None if is_padded else hint, is_padded=is_padded)
        )
    if device.attributes.get(ADDRESS_RANDOMISATION) == "off":
        notes.append(
            Note(
                code="fixed_addresses",
                message=f"{device.name} does not randomise addresses: a program's memory has the same layout in every "
                "launch",
                hint="a layout that suits one build looks like a difference: switch randomisation on "
                "(kernel.randomize_va_space=2, and no `setarch -R` around the harness)",
            )
        )
    return tuple(notes)


def _unequal(code: str, what: str, lengths: Sequence[int], hint: str | None, *, is_padded: bool) -> Note:
    message = f"the {what} are {lengths[0]} (control) and {lengths[1]} characters (treatment) long"
    averaged = "; padding of random length in each launch averages out what that does to the stack"
    return Note(code=code, message=message + (averaged if is_padded else ""), hint=hint)


def _cause_of(launch: Launch) -> str:
    if launch.outcome is Outcome.OK:
        return _HEAT if launch.throttled else _SILENT
    return _CAUSES.get(launch.outcome, "failed")
