"""Comparisons on a terminal and in a pipe."""

from __future__ import annotations

import io
import re
from itertools import takewhile

import pytest
from rich.console import Console

from harness.core.note import Note
from harness.display.results import show_results
from harness.testing.results import BUILD, DEVICE
from tests.display.screens import measured, on_terminal, piped
from tests.presentation.comparison_samples import PARAMETERS, compared, every_kind, identical, made_pairs

NOISY = Note(code="noisy", message="launches differ", hint="close other programs")


def busy(percent: int) -> Note:
    return Note(code="busy", message=f"busy for {percent} %", hint="let nothing else run")


def _headings(text: str) -> list[str]:
    lines = text.splitlines()
    return re.split(r"\s{2,}", lines[_rule(lines) - 1].strip())


def _rows(text: str) -> dict[str, list[str]]:
    """The cells of each row of the first table by benchmark; columns are two spaces apart."""
    lines = text.splitlines()
    cells_by_line = [re.split(r"\s{2,}", line.strip()) for line in lines[_rule(lines) + 1 :]]
    return {cells[1]: cells for cells in takewhile(lambda cells: len(cells) > 2, cells_by_line)}


def _rule(lines: list[str]) -> int:
    return next(number for number, line in enumerate(lines) if set(line) == {"─"})


def test_a_row_has_both_medians_the_difference_its_interval_pairs_time_and_verdict() -> None:
    text = piped(compared("slower", made_pairs(0.02, 20)), identical("x"))
    assert _rows(text)["slower"] == [
        "▼", "slower", "8.00 ms", "8.16 ms", "+1.99 %", "+1.72 … +2.25 %", "20", "10.0 s", "regression",
    ]  # fmt: skip
    assert _headings(text)[:4] == ["benchmark", "control", "treatment", "difference"]


def test_the_figures_of_both_sides_are_explained_where_they_are_shown() -> None:
    legend = "treatment: that median changed by the difference, which is measured in pairs"
    assert legend in piped(compared("slower", made_pairs(0.02, 20)))
    assert legend not in piped(identical("x"))
    assert legend not in on_terminal(compared("slower", made_pairs(0.02, 20)), width=40)


def test_rows_are_sorted_by_severity_and_marked() -> None:
    rows = _rows(piped(*every_kind()))
    assert [(cells[0], name) for name, cells in rows.items()] == [
        ("▼", "much-slower"),
        ("▼", "slower"),
        ("▲", "faster"),
        ("?", "loud"),
        ("?", "alone"),
        ("=", "same"),
        ("=", "untouched"),
        ("✗", "crashed"),
        ("-", "not-here"),
    ]


def test_builds_and_metric_are_named_above_the_table() -> None:
    lines = piped(*every_kind()).splitlines()
    assert lines[1].startswith("mv2 · Example CPU @ 2.10GHz (Example CPU, 4 CPUs) · 1 thread · harness")
    assert lines[2:5] == [
        "control   executorch 111111111111 native",
        "treatment executorch 222222222222 native",
        "metric    NET latency, lower is better",
    ]


def test_builds_that_differ_between_rows_have_a_column() -> None:
    text = piped(compared("a", made_pairs(0.0, 9)), compared("b", made_pairs(0.0, 9), treatment=BUILD))
    assert "treatment build" in _headings(text)
    assert "\ntreatment " not in text


def test_undecided_benchmarks_have_a_reason_and_regressions_need_none() -> None:
    lines = piped(*every_kind()).splitlines()
    reasons = [line for line in lines if line[:2] in {"? ", "▼ ", "✗ ", "- "} and "mv2/" in line]
    spent = "the budget of 100 pairs is spent, and neither shows a change nor rules out one of 1 % or more"
    many = (
        "its own pairs show a regression (evidence 1,697), but among 7 benchmarks stronger evidence is required, so "
        "that at most 5 % of the reported regressions are false"
    )
    assert reasons == [
        "▼ mv2/slower: delegated operators: 120 → 118 (-1.67 %)",
        f"? mv2/loud: undecided: {spent}",
        f"? mv2/alone: undecided: {many}",
        "✗ mv2/crashed: crashed: was ended by SIGSEGV without output",
        "- mv2/not-here: unsupported: no such backend here",
    ]


def test_equal_runners_are_shown_as_same_bytes() -> None:
    text = piped(identical("x"))
    assert "= mv2/x: same bytes: there is nothing to measure" in text.splitlines()
    assert "chance" not in text


def test_what_a_gate_lets_through_is_not_called_no_change() -> None:
    gate = PARAMETERS.model_copy(update={"gate": True})
    text = piped(compared("better", made_pairs(-0.2, 20), parameters=gate), identical("alike"))
    (row,) = [line for line in text.splitlines() if "better" in line and "%" in line]
    assert row.rstrip().endswith("not worse")
    assert "no change" not in row


def test_one_sentence_states_how_many_regressions_may_be_false() -> None:
    text = piped(*every_kind())
    assert text.count("Some of 7 benchmarks may look worse or better by chance") == 1
    assert "a probability of at most 1 %" in piped(compared("a", made_pairs(0.0, 9)))


_NOTED = (
    compared("a", made_pairs(0.0, 9), voided=2, notes=[NOISY, busy(30)]),
    compared("b", made_pairs(0.0, 9), notes=[NOISY, busy(40)]),
)


def test_notes_are_folded_by_cause_and_those_that_the_interval_says_are_left_out() -> None:
    lines = piped(*_NOTED).splitlines()
    assert [line for line in lines if line.startswith("·")] == [
        "· mv2/a: 2 pairs were discarded: a launch failed or was throttled",
        "· 2 of 2: other programs used the machine",
    ]
    assert [line for line in lines if "hint:" in line] == ["  hint: let nothing else run"]
    assert lines[-1] == "`harness report LAST -v` shows every note in full, and how to measure again"


def test_every_note_and_hint_is_shown_in_full_where_that_is_wanted() -> None:
    lines = piped(*_NOTED, verbose=True).splitlines()
    assert [line for line in lines if line.startswith("·")] == [
        "· mv2/a: launches differ; busy for 30 %; 2 pairs were discarded: a launch failed or was throttled",
        "· mv2/b: launches differ; busy for 40 %",
    ]
    assert [line for line in lines if "hint:" in line] == [
        "  hint: close other programs",
        "  hint: let nothing else run",
    ]
    assert "shows every note in full" not in lines[-1]


def test_devices_are_named_where_there_are_several() -> None:
    phone = DEVICE.model_copy(update={"identity": "p", "name": "Pixel 8"})
    there = compared("a", made_pairs(0.004, 100, noise=8.0)).model_copy(update={"device": phone})
    text = piped(compared("a", made_pairs(0.0, 9)), there)
    assert "? mv2/a on Pixel 8: undecided: " in text
    assert "device" in _headings(text)


def test_measurements_keep_their_own_table() -> None:
    text = piped(measured("plain", 3.0), compared("pairs", made_pairs(0.0, 9)))
    first, second = text.split("\nmv2 · ")[1:]
    assert ("pairs" in first, "plain" in first) == (True, False)
    assert ("MAD" in second, "plain" in second, "verdict" in second) == (True, True, False)


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_rows_fit_the_terminal_and_keep_difference_and_verdict(width: int) -> None:
    lines = on_terminal(*every_kind(), width=width).splitlines()
    rows = [line for line in lines if "+1.99 %" in line and line.startswith("▼")]
    assert len(rows) == 1
    assert rows[0].rstrip().endswith("regression")
    assert len(rows[0]) <= width
    hidden = "a wider terminal also shows: " in "\n".join(lines)
    assert hidden == (width < 100), "columns are not dropped without a word"


@pytest.mark.parametrize(
    ("name", "colour"), [("slower", "31"), ("faster", "32"), ("loud", "33"), ("same", "2"), ("crashed", "31")]
)
def test_verdicts_are_coloured(name: str, colour: str) -> None:
    stream = io.StringIO()
    result = next(result for result in every_kind() if result.benchmark.identifier == name)
    show_results([result], Console(file=stream, width=120, force_terminal=True, color_system="standard"))
    row = next(line for line in stream.getvalue().splitlines() if name in line and "ms" in line)
    last = re.findall(r"\x1b\[([\d;]+)m", row.replace("\x1b[0m", ""))[-1]
    assert colour in last.split(";")


def test_names_cannot_colour_or_move_anything() -> None:
    text = piped(compared("[red]x\x1b[2J|y", made_pairs(0.0, 9), model="[b]m"))
    assert "[red]x\N{REPLACEMENT CHARACTER}[2J|y" in text
    assert "\x1b" not in text
