"""Lines below a table of measurements: failures, notes about numbers, and hints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from harness.core.cached_files import ExportReport, find_unequal_versions
from harness.core.metric import main_metric
from harness.core.note import Note
from harness.core.result import Result
from harness.core.same_work import WorkVerdict
from harness.presentation.numbers import format_percent
from harness.presentation.text import Line, Span, Tone, make_printable

_NAMED: Final = 3
"""At most so many results that share a hint are named."""


def choose_mark(result: Result) -> Span:
    """Return the mark of a measurement.

    `✗` failed, `-` was not run, `≠` does other work than its reference, `!` is not to be trusted, else none.
    """
    if not result.ok:
        return Span("-", Tone.WARNING) if result.outcome.is_skipped else Span("✗", Tone.BAD)
    if result.same_work is not None and result.same_work.verdict is WorkVerdict.DIFFERENT:
        return Span("≠", Tone.BAD)
    return Span("" if result.trusted else "!", Tone.WARNING)


def list_remarks(results: Sequence[Result]) -> list[Line]:
    """Return one line for each result that failed or has notes, with those against its numbers first, and each hint."""
    labels = label_results(results)
    own_hints, shared_hints = group_hints(list(zip(labels, map(collect_hints, results), strict=True)))
    lines: list[Line] = []
    for result, label, hints in zip(results, labels, own_hints, strict=True):
        if result.notes or not result.ok:
            lines += [_describe(result, label), *hints]
    return [*lines, *shared_hints, *list_common_remarks(results, labels)]


def list_common_remarks(results: Sequence[Result], labels: Sequence[str]) -> list[Line]:
    """Return the lines that no note is behind: about intervals that are wide or missing, and about unequal files."""
    return [
        *_list_imprecise(results, labels),
        *_list_single_launches(results, labels),
        *_list_unequal_exports(results),
    ]


def format_remark(mark: Span, label: str, text: str) -> Line:
    """Return the line `<mark> <label>: <text>`."""
    return Line.of(mark, " ", Span(make_printable(label), Tone.STRONG), f": {make_printable(text)}")


def describe_error(notes: Sequence[Note]) -> str:
    """Return how wrong medians may be by doubts: too slow by their largest error; empty where it is not known."""
    errors = [note.error for note in notes if note.error is not None]
    if len(errors) < len(notes) or not errors:
        return ""
    return f"; by that the median may be up to {_format_error(max(errors))} too slow"


def _format_error(error: float) -> str:
    return f"{1 + error:.3g} times" if error >= 1 else f"{max(100 * error, 1):.0f} %"


def collect_hints(result: Result, is_left_out: Callable[[Note], bool] = lambda _: False) -> list[str]:
    """Return the hints of a failure, and of the notes of a result and its comparison that are not left out."""
    notes = [note for note in result.all_notes if not is_left_out(note)]
    hints = [result.hint if not result.ok else None, *(note.hint for note in notes)]
    return [hint for hint in hints if hint]


def label_results(results: Sequence[Result]) -> list[str]:
    """Name each result by model and benchmark, by its device where there are several, and by its metric likewise."""
    several_devices = len({result.device.identity for result in results if result.device}) > 1
    labels = [
        result.benchmark.title + (f" on {result.device.name}" if several_devices and result.device else "")
        for result in results
    ]
    metrics = [result.comparison.metric if result.comparison is not None else "" for result in results]
    metrics_of: dict[str, set[str]] = {}
    for label, metric in zip(labels, metrics, strict=True):
        metrics_of.setdefault(label, set()).add(metric)
    return [
        f"{label}: {metric}" if metric and len(metrics_of[label]) > 1 else label
        for label, metric in zip(labels, metrics, strict=True)
    ]


def group_hints(hints: Sequence[tuple[str, Sequence[str]]]) -> tuple[list[list[Line]], list[Line]]:
    """Show every hint once: below the remark of its result or, if several share it, below all remarks.

    Args:
        hints: Label of each result, and its hints.

    Returns:
        The hints of each result alone, and those of several, with their labels unless it is for all.
    """
    labels_of: dict[str, dict[int, str]] = {}
    for number, (label, texts) in enumerate(hints):
        for hint in texts:
            labels_of.setdefault(hint, {})[number] = label
    own = [
        [_hint(hint) for hint, labels in labels_of.items() if list(labels) == [number]] for number in range(len(hints))
    ]
    shared = [
        _hint(hint, _list_labels(list(labels.values())) if len(labels) < len(hints) else "")
        for hint, labels in labels_of.items()
        if len(labels) > 1
    ]
    return own, shared


def count_results(members: Sequence[int], labels: Sequence[str]) -> str:
    """Return the name of a single result, else how many of all they are."""
    numbers = list(dict.fromkeys(members))
    return labels[numbers[0]] if len(numbers) == 1 else f"{len(numbers)} of {len(labels)}"


def _list_imprecise(results: Sequence[Result], labels: Sequence[str]) -> Iterator[Line]:
    """Yield a line for the results whose intervals are wider than was wanted when their launches were over."""
    groups: dict[float, list[int]] = {}
    for number, result in enumerate(results):
        main, wanted = main_metric(result.metrics), result.benchmark.precision
        if result.ok and wanted is not None and main is not None and (main.precision or 0.0) > wanted:
            groups.setdefault(wanted, []).append(number)
    for wanted, members in groups.items():
        text = f"the interval is wider than ±{format_percent(wanted)} after all launches or the time limit"
        yield format_remark(Span("·", Tone.MUTED), count_results(members, labels), text)


def _list_single_launches(results: Sequence[Result], labels: Sequence[str]) -> Iterator[Line]:
    """Yield a line for the measurements that have no interval because a single launch was asked for."""
    members = [number for number, result in enumerate(results) if _is_single_launch(result)]
    if members:
        text = "one launch: no interval over launches; set `repeat`"
        yield format_remark(Span("·", Tone.MUTED), count_results(members, labels), text)


def _is_single_launch(result: Result) -> bool:
    """Return whether a median stands for a single launch, as the specification wants it."""
    main, asked = main_metric(result.metrics), result.benchmark
    if not result.ok or result.comparison is not None or result.origin is not None:
        return False
    if main is None or main.interval is not None:
        return False
    return asked.launches == 1 and asked.max_launches is None and (main.summary.get("n") or 0) > 1


def _list_unequal_exports(results: Sequence[Result]) -> list[Line]:
    """Return a line for each exported file that is other bytes in some results, because other versions exported it."""
    exports: dict[str, dict[str, ExportReport]] = {}
    for result in results:
        for file in result.files.values():
            if file.export is not None:
                exports.setdefault(f"{result.benchmark.model}/{file.filename}", {}).setdefault(file.md5, file.export)
    lines = []
    for title, by_md5 in exports.items():
        first, *others = by_md5.values()
        versions: dict[str, list[str]] = {}
        for other in others:
            for package, pair in find_unequal_versions(first, other).items():
                known = versions.setdefault(package, [])
                known.extend(version for version in pair if version not in known)
        if versions:
            listed = "; ".join(f"{package} {' and '.join(known)}" for package, known in versions.items())
            text = f"not the same bytes in all rows: exported by {listed}"
            lines.append(format_remark(Span("·", Tone.MUTED), title, text))
    return lines


def _hint(hint: str, addressees: str = "") -> Line:
    return Line.of(Span(f"  hint{addressees}: {make_printable(hint)}", Tone.MUTED))


def _list_labels(labels: Sequence[str]) -> str:
    named = [make_printable(label) for label in labels[:_NAMED]]
    more = [f"{len(labels) - _NAMED} more"] if len(labels) > _NAMED else []
    return f" for {', '.join([*named, *more])}"


def _describe(result: Result, label: str) -> Line:
    mark = choose_mark(result)
    failure = [] if result.ok else [f"{result.outcome.words}: {result.reason}"]
    notes = [
        note.message + ("" if note.trust else describe_error([note]))
        for note in sorted(result.notes, key=lambda note: note.trust)
    ]
    return format_remark(mark if mark.text else Span("·", Tone.MUTED), label, "; ".join([*failure, *notes]))
