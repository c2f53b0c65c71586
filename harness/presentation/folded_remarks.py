"""Remarks folded by their cause, for a terminal: `5 of 6: other programs used the machine`. Pages list them in full."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from harness.core.note import Note
from harness.core.result import Result
from harness.presentation.remarks import (
    choose_mark,
    collect_hints,
    count_results,
    describe_error,
    format_remark,
    label_results,
    list_common_remarks,
)
from harness.presentation.text import Line, Span, Tone, make_printable

_MORE: Final = r" \(and (\d+) more like it\)$"
"""End of the message of a note that stands for several (`harness.analysis.results.merge_notes`)."""
_CAUSES: Final = {
    "busy": "other programs used the machine",
    "slowed": "the CPU itself was slower than at its best: a neighbour on its core, or a lower clock",
    "contended": "figures became worse while other programs took the CPU",
    "disturbed": "another program used the CPU of the runner",
    "noisy": "launches or iterations differ much",
    "stopped_early": "the time limit ended launches early",
    "iterations": "programs reported fewer iterations than they were asked for",
    "fewer_launches": "the time limit was over before all launches were made",
    "few_samples": "too few samples to assess their noise",
    "shell_words": "command lines have words of a shell, which programs were given",
    "operators_timed": "each operator was timed, and the time for that is part of the latency",
    "steps": "the clock that was read has steps in which differences disappear",
    "warming_up": "the warm-up was not over",
    "slowing_down": "slower from iteration to iteration",
    "throttled": "the device throttled, or samples fall as on one that does",
    "spoilt_by_heat": "launches did not count, because heat disturbed them",
    "frequency": "the clock frequency fell between launches",
    "hot": "the device became hot",
    "slept": "the device slept",
    "low_power": "low power mode was on",
    "brightness": "the screen became brighter or darker",
    "threads": "not the number of threads that was asked for",
    "mixed_cpus": "pinned to CPUs of different kinds",
    "measured_elsewhere": "measured elsewhere, device state unknown",
    "published_differs": "the file publishes another figure than the median of its samples",
    "time_of_file": "the time of the measurement is not known exactly",
}
"""Causes of notes that say something else of each result."""

_IN_TABLE: Final = frozenset({"noisy"})

_UNFOLDED: Final = frozenset({"drifting_elsewhere", "throttles", "deadline"})
"""Notes whose numbers are what they are about: each is shown."""

_NAMED: Final = 3


def fold_remarks(results: Sequence[Result]) -> list[Line]:
    """Return a line for each cause, with failures and doubts first, each with what to do about it."""
    labels = label_results(results)
    doubts = [note for result in results if result.ok for note in result.all_notes if not note.trust]
    hints = dict.fromkeys(note.hint for note in doubts if note.hint is not None)
    lines = [*_fold_failures(results, labels), *fold_notes(results, labels, trust=False), *map(_hint, hints)]
    return [*lines, *fold_notes(results, labels, trust=True), *list_common_remarks(results, labels)]


def _fold_failures(results: Sequence[Result], labels: Sequence[str]) -> Iterator[Line]:
    """Yield a line for each reason of failures, with the benchmarks that share it, and their hints."""
    groups: dict[tuple[str, str | None], list[int]] = {}
    for number, result in enumerate(results):
        if not result.ok:
            groups.setdefault((result.outcome.words, result.reason), []).append(number)
    hints: dict[str, None] = {}
    for (words, reason), members in groups.items():
        yield format_remark(choose_mark(results[members[0]]), _list(members, labels), f"{words}: {reason}")
        hints.update(dict.fromkeys(hint for number in members for hint in collect_hints(results[number])))
    yield from map(_hint, hints)


def is_in_table(note: Note) -> bool:
    """Return whether a note says nothing more than the interval in the table: folded remarks leave it out."""
    return note.trust and note.code in _IN_TABLE


def fold_notes(results: Sequence[Result], labels: Sequence[str], *, trust: bool) -> Iterator[Line]:
    """Yield a line for each cause of notes on results that are ok, and on their comparisons.

    Args:
        results: With notes.
        labels: Their names.
        trust: Of notes that leave the numbers trusted; else of those that do not.
    """
    groups: dict[str, list[tuple[int, Note]]] = {}
    for number, result in enumerate(results):
        for note in result.all_notes if result.ok else ():
            if note.trust == trust and not is_in_table(note):
                cause = note.message if note.code in _UNFOLDED else note.code
                groups.setdefault(cause, []).append((number, note))
    for members in groups.values():
        notes = [note for _, note in members]
        mark = Span("·", Tone.MUTED) if trust else Span("!", Tone.WARNING)
        text = _describe_cause(notes[0].code, notes) + ("" if trust else describe_error(notes))
        yield format_remark(mark, count_results([number for number, _ in members], labels), text)


def _describe_cause(code: str, notes: Sequence[Note]) -> str:
    """Return what notes of one code have in common: their message where it is the same, else their cause."""
    messages = list(dict.fromkeys(note.message for note in notes))
    if len(messages) == 1:
        return messages[0]
    if code in _CAUSES:
        return _CAUSES[code]
    further = (int(found[1]) for message in messages if (found := re.search(_MORE, message)) is not None)
    return f"{re.sub(_MORE, '', messages[0])} (and {len(messages) - 1 + sum(further)} more like it)"


def _list(members: Sequence[int], labels: Sequence[str]) -> str:
    named = [labels[number] for number in members[:_NAMED]]
    return ", ".join([*named, *([f"{len(members) - _NAMED} more"] if len(members) > _NAMED else [])])


def _hint(hint: str) -> Line:
    return Line.of(Span(f"  hint: {make_printable(hint)}", Tone.MUTED))
