"""Tables of operators: where the time of a benchmark goes, and which of them changed."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from harness.core.comparison import OperatorComparison
from harness.core.result import Result
from harness.presentation.changed_operators import find_changed_operators
from harness.presentation.commands import format_rerun_command
from harness.presentation.operators import compute_profile
from harness.testing.results import LATENCIES_MS, ok_result, timing
from reporters.html.page import render as html_page
from reporters.markdown.page import render as markdown_page
from reporters.pages import ReportedRun
from tests.display.screens import piped
from tests.presentation.comparison_samples import OPERATORS, compared, made_operators, made_pairs

TIMES_US = {
    "Convolution #1": 400.0,
    "Convolution #2": 100.0,
    "Add #1": 5.0,
    "Softmax #1": 200.0,
    "Mul #1": 50.0,
    "Pad | <b> #1": 45.0,
}


def profiled(*, asked: bool = True) -> Result:
    """A benchmark of 813 µs, 800 of them in operators."""
    result = ok_result()
    operators = [timing(name, "latency", "us", [time, time, time]) for name, time in TIMES_US.items()]
    return result.model_copy(
        update={
            "metrics": (*result.metrics, *operators),
            "benchmark": result.benchmark.model_copy(update={"operators": asked}),
        }
    )


def comparison_result(*operators: OperatorComparison) -> Result:
    return compared("a", made_pairs(0.12, 12), operators=operators)


def test_a_profile_lists_operators_by_their_share() -> None:
    profile = compute_profile(profiled())
    assert profile is not None
    assert [operator.name for operator in profile.operators[:3]] == ["Convolution #1", "Softmax #1", "Convolution #2"]
    assert profile.operators[0].share == 0.5
    assert profile.coverage is not None
    assert profile.coverage == pytest.approx(800 / statistics.fmean(1000 * latency_ms for latency_ms in LATENCIES_MS))


def test_without_operators_there_is_no_profile() -> None:
    assert compute_profile(profiled(asked=False)) is None
    text = piped(profiled(asked=False))
    assert "Operators" not in text
    assert "Convolution #1 latency" in text, "they are metrics like any other then"


def test_the_screen_shows_five_operators_and_sums_up_the_rest() -> None:
    text = piped(profiled())
    _, _, table = text.partition("Operators")
    assert "50.0 %" in table
    assert "Mul #1" in table
    assert "Add #1" not in table
    assert "and 1 more" in table
    assert "Convolution #1 latency" not in text, "they have a table of their own"
    assert "6 operators take 93.1 % of the latency" in text


def test_pages_show_every_operator() -> None:
    run = ReportedRun([profiled()], Path("results"), finished=True)
    html, markdown = html_page(run), markdown_page(run)
    for name in ("Convolution #1", "Add #1"):
        assert f">{name}</td>" in html
        assert f"| {name.replace('#', chr(92) + '#')} |" in markdown
    assert "Pad | &lt;b&gt; #1" in html
    assert "more" not in markdown.partition("## Operators")[2].partition("\n\n")[2].partition("\n\n")[0]


def test_the_operator_that_contributes_most_comes_first() -> None:
    comparison = comparison_result(*made_operators(OPERATORS, 12)).comparison
    assert comparison is not None
    rows = find_changed_operators(comparison)
    assert [(row.change, row.name) for row in rows] == [
        ("slower", "Convolution #1"),
        ("new", "Transpose #1"),
        ("slower", "Convolution #2"),
        ("faster", "Softmax #1"),
    ]
    whole = 4000 + 2000 + 1000 + 500
    assert [row.contribution * whole for row in rows] == pytest.approx([800, 250, 150, -100], abs=3)
    assert rows[1].control == rows[1].difference == ""


def test_an_operator_without_a_significant_change_is_not_listed() -> None:
    result = comparison_result(*made_operators({"Convolution #1": 0.2, **{f"Add #{n}": 0.0 for n in range(200)}}, 9))
    assert result.comparison is not None
    assert result.comparison.operators[0].verdict == "regression"
    assert "Changed operators" not in piped(result)
    assert "the operator that made the difference is not proven" in piped(result)


def test_both_sides_of_an_operator_agree_with_its_difference() -> None:
    (operator,) = made_operators({"Conv #1": 0.2}, 12)
    control, treatment = (10.0, 20.0, 30.0) * 4, (25.0, 19.0, 29.0) * 4  # two of three are faster
    contrary = operator.model_copy(update={"control": control, "treatment": treatment})
    comparison = comparison_result(contrary).comparison
    assert comparison is not None
    operators = [operator.model_copy(update={"discovered": True}) for operator in comparison.operators]
    (row,) = find_changed_operators(comparison.model_copy(update={"operators": tuple(operators)}))
    assert (row.control, row.treatment, row.difference) == ("20.0 µs", "19.8 µs", "-0.77 %")


def test_a_removed_operator_contributes_its_whole_time() -> None:
    (gone,) = made_operators({"Copy #1": 0.0}, 12)
    comparison = comparison_result(
        gone.model_copy(update={"treatment": ()}), *made_operators({"Add #1": 0.0}, 12)
    ).comparison
    assert comparison is not None
    (row,) = find_changed_operators(comparison)
    assert (row.change, row.name, row.treatment) == ("gone", "Copy #1", "")
    assert row.contribution == -0.5


def test_the_screen_shows_the_largest_changes_and_sums_up_the_rest() -> None:
    text = piped(comparison_result(*made_operators({f"Conv #{n}": 0.2 for n in range(7)}, 24)))
    _, _, table = text.partition("Changed operators")
    assert table.count("slower") == 5
    assert "and 2 more in its result.json" in table


def test_the_command_to_reproduce_requests_operators() -> None:
    result = comparison_result(*made_operators(OPERATORS, 12))
    requested = result.model_copy(update={"benchmark": result.benchmark.model_copy(update={"operators": True})})
    assert "--operators" not in format_rerun_command(result)
    assert "--operators" in format_rerun_command(requested)
