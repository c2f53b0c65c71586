"""Order, counts and words of comparisons, whatever shows them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.compare.recompute import recompute
from harness.config.arguments import normalise_flags
from harness.core.build import BuildInfo
from harness.core.comparison import Evidence, Pair, Parameters
from harness.core.result import Outcome
from harness.presentation.commands import format_reevaluate_command, format_rerun_command
from harness.presentation.comparison_table import (
    build_columns,
    build_row,
    explain_launches,
    format_legend,
    tabulate_launches,
)
from harness.presentation.explanations import (
    describe_discarded_pairs,
    describe_false_discoveries,
    describe_rules,
    explain_verdict,
    list_exact_changes,
    tabulate_evidence,
)
from harness.presentation.numbers import format_change, format_evidence, format_interval, format_percent
from harness.presentation.trajectory import compute_launch_statistics, trace_comparison
from harness.presentation.verdicts import (
    VerdictCategory,
    categorise,
    count_verdicts,
    format_headline,
    separate_comparisons,
    sort_by_severity,
)
from harness.testing.results import BUILD, DEVICE, failed_result, noisy_result, ok_result
from tests.analysis.compare.recorded_launches import recorded
from tests.presentation.comparison_samples import (
    LOST,
    PARAMETERS,
    compared,
    every_kind,
    failed,
    identical,
    made_pairs,
    refused,
)

SHARES = st.floats(min_value=-0.9999, max_value=1e6)


def test_regressions_come_first_largest_to_smallest() -> None:
    names = [result.benchmark.identifier for result in sort_by_severity(every_kind())]
    assert names == ["much-slower", "slower", "faster", "loud", "alone", "same", "untouched", "crashed", "not-here"]
    assert count_verdicts(every_kind()) == "2 regressions, 1 improvement, 2 undecided, 2 no change, 1 failed, 1 skipped"


def test_a_headline_counts_what_a_gate_found_in_its_words() -> None:
    gate = PARAMETERS.model_copy(update={"gate": True})
    results = [compared(name, made_pairs(0.0, 40), parameters=gate) for name in ("a", "b")]
    assert count_verdicts(results) == "2 not worse"
    assert format_headline([*results, compared("c", made_pairs(0.0, 40))], []).startswith("2 not worse, 1 no change")


def test_a_regression_that_is_not_significant_among_many_is_undecided_with_the_reason() -> None:
    result = compared("alone", made_pairs(0.015, 12), discovered=False)
    assert categorise(result) is VerdictCategory.UNDECIDED
    assert build_row(result).verdict == "undecided"
    assert re.search(
        r"show a regression \(evidence [\d,]+\), but among 7 benchmarks .* at most 5 % of the reported",
        explain_verdict(result, 7),
    )


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.OK])
def test_a_failure_is_never_shown_as_a_verdict(outcome: Outcome) -> None:
    result = failed("x", outcome, pairs=made_pairs(0.1, 20))
    not_run = outcome in {Outcome.SKIPPED, Outcome.UNSUPPORTED}
    assert categorise(result) is (VerdictCategory.SKIPPED if not_run else VerdictCategory.FAILED)
    assert build_row(result).verdict == outcome.value.replace("_", " ")
    assert explain_verdict(result, 1) == result.reason


def test_identical_builds_are_no_change_without_measurements() -> None:
    result = identical("x")
    assert categorise(result) is VerdictCategory.NO_CHANGE
    assert (build_row(result).verdict, build_row(result).difference, build_row(result).pairs) == ("same bytes", "", "")


def test_failures_before_the_first_pair_belong_to_the_comparison_and_plain_results_do_not() -> None:
    plain, early, pairs = ok_result(), refused("early"), compared("a", made_pairs(0.0, 20))
    assert separate_comparisons([plain, early, pairs]) == ([pairs, early], [plain])
    assert separate_comparisons([plain, early]) == ([], [plain, early])
    other = early.model_copy(update={"run": "another, which compared nothing"})
    assert separate_comparisons([plain, other, pairs]) == ([pairs], [plain, other])


def test_an_untrusted_result_is_marked() -> None:
    doubtful = compared("a", made_pairs(0.0, 20)).model_copy(update={"notes": noisy_result().notes})
    assert build_row(doubtful).mark == "=!"


def test_sides_of_the_same_name_are_distinguished_by_their_digests() -> None:
    made = compared("a", made_pairs(0.0, 8))
    assert (build_row(made).control_build, build_row(made).treatment_build) == (
        "executorch 111111111111 native",
        "executorch 222222222222 native",
    )
    assert made.comparison is not None
    twin = made.comparison.control.model_copy(update={"digest": "d" * 64})
    row = build_row(made.model_copy(update={"build": twin}))
    assert (row.control_build, row.treatment_build) == (
        "executorch 111111111111 native cccccccc",
        "executorch 111111111111 native dddddddd",
    )


def test_long_versions_are_not_truncated() -> None:
    nightly = BUILD.model_copy(update={"commit": "1.6.0.dev20260101+cpu"})
    assert build_row(compared("a", made_pairs(0.0, 8), treatment=nightly)).treatment_build == (
        "executorch 1.6.0.dev20260101+cpu native"
    )


@given(SHARES)
def test_a_difference_shows_its_sign_and_rounds_rightly(share: float) -> None:
    text = format_change(share)
    assert text.endswith(" %")
    value = float(text[:-2].replace(",", ""))
    assert value == pytest.approx(100 * share, rel=0.01, abs=0.0051)
    assert text[0] in "+-" if value else text == "0.00 %"


@given(SHARES, SHARES)
def test_an_interval_has_both_ends_in_order(first: float, second: float) -> None:
    low, high = sorted((first, second))
    if low == high:
        assert format_interval(low, high) == "exact"
        return
    for end, text in zip((low, high), format_interval(low, high).removesuffix(" %").split(" … "), strict=True):
        usual = format_change(end).removesuffix(" %")
        assert text == usual if end == 0 or usual != "0.00" else float(text) == pytest.approx(100 * end, rel=0.5)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (None, None, ""),
        (-0.01, None, "-1.00 … +∞ %"),
        (None, 0.5, "-∞ … +50.0 %"),
        (-0.000001, 12, "-0.0001 … +1,200 %"),
    ],
)
def test_an_unbounded_end_of_an_interval_is_infinite(low: float | None, high: float | None, text: str) -> None:
    assert format_interval(low, high) == text


def test_percentages_have_no_needless_digits() -> None:
    assert [format_percent(share) for share in (0.05, 0.005, 0.01, 0.123456)] == ["5 %", "0.5 %", "1 %", "12.3 %"]


def test_the_trajectory_ends_near_the_reported_difference() -> None:
    for result in every_kind():
        if result.comparison and result.comparison.pairs:
            points = list(trace_comparison(result.comparison))
            assert len(points) == len(result.comparison.pairs)
            assert points[-1].median == pytest.approx(result.comparison.difference, abs=0.005)
            assert [point.control_first for point in points] == [pair.control_first for pair in result.comparison.pairs]


def test_figures_are_medians_over_the_launches() -> None:
    comparison = compared("a", made_pairs(0.02, 21)).comparison
    assert comparison is not None
    figures = {figure.name: figure for figure in compute_launch_statistics(comparison)}
    assert list(figures) == ["min", "p25", "median", "mean", "p90"]
    assert figures["median"].control == 8.0
    assert figures["p90"].control == pytest.approx(8.48)
    assert figures["median"].relative_change == pytest.approx(0.02, abs=0.002)


def _contrary_pairs() -> list[Pair]:
    """Two of three treatments are faster than their controls, and their median is greater all the same."""
    sides = ((10.0, 25.0), (20.0, 19.0), (30.0, 29.0))
    return [
        pair.model_copy(update={"control": (control,) * 5, "treatment": (treatment,) * 5})
        for pair, (control, treatment) in zip(made_pairs(0.0, 3), sides, strict=True)
    ]


def test_both_sides_of_a_row_agree_with_the_difference() -> None:
    row = build_row(compared("a", _contrary_pairs()))
    assert (row.control, row.treatment, row.difference) == ("20.0 ms", "19.3 ms", "-3.33 %")


@pytest.mark.parametrize("slower_percent", [0, 1, 2])
@pytest.mark.parametrize("first", range(0, 60, 12))
def test_no_row_of_recorded_launches_points_the_other_way(slower_percent: float, first: int) -> None:
    pairs = recorded(slower_percent, "busy").pairs()[first : first + 12]
    comparison = compared("a", pairs).comparison
    assert comparison is not None
    assert comparison.difference is not None
    row = build_row(compared("a", pairs))
    control, treatment = (float(text.split()[0].replace(",", "")) for text in (row.control, row.treatment))
    assert treatment / control - 1 == pytest.approx(comparison.difference, abs=0.011)
    assert (treatment - control) * comparison.difference >= 0


def test_figures_that_contradict_the_pairs_are_marked() -> None:
    pairs = _contrary_pairs()
    contrary, alike = (compared("a", each).comparison for each in (pairs, made_pairs(0.03, 3)))
    assert contrary is not None
    assert alike is not None
    assert tabulate_launches(contrary)[2] == ("median", "20.0 ms", "25.0 ms", "-3.33 %*")
    assert "these differences medians over pairs" in explain_launches(contrary)
    assert "A * marks figures" in explain_launches(contrary)
    assert not any("*" in cell for line in (*tabulate_launches(alike), explain_launches(alike)) for cell in line)


def test_pairs_without_a_ratio_are_left_out() -> None:
    good, bad = made_pairs(0.02, 2)
    zero = bad.model_copy(update={"control": (0.0,) * 5})
    short = bad.model_copy(update={"treatment": (1.0,)})
    comparison = compared("a", ()).comparison
    assert comparison is not None
    assert len(list(trace_comparison(comparison.model_copy(update={"pairs": (zero, good, short)})))) == 1


def test_only_exact_metrics_that_differ_are_listed() -> None:
    comparisons = {result.benchmark.identifier: result.comparison for result in every_kind()}
    texts = [list_exact_changes(each) for name in ("slower", "faster", "same") if (each := comparisons[name])]
    assert texts == [
        [("▼", "delegated operators: 120 → 118 (-1.67 %)")],
        [("▲", "program size: 1.00 MiB → 879 KiB (-14.2 %)")],
        [],
    ]


def test_the_compared_metric_is_not_listed_again() -> None:
    main = LOST.model_copy(update={"metric": "NET latency"})
    comparison = compared("a", made_pairs(0.02, 20), exact=[main, LOST]).comparison
    assert comparison is not None
    assert [text for _, text in list_exact_changes(comparison)] == ["delegated operators: 120 → 118 (-1.67 %)"]


def test_counts_are_shown_as_exact_without_margins() -> None:
    sides = [
        pair.model_copy(update={"control": (1000.0,) * 5, "treatment": (1001.0,) * 5}) for pair in made_pairs(0, 4)
    ]
    result = compared("a", sides)
    assert result.comparison is not None
    counted = recompute(result.comparison.model_copy(update={"metric": "NET instructions", "unit": ""}))
    row = build_row(result.model_copy(update={"comparison": counted}))
    assert (row.verdict, row.control, row.treatment, row.difference, row.interval, row.pairs) == (
        "regression", "1,000", "1,001", "+0.10 %", "exact", "4",
    )  # fmt: skip
    assert tabulate_evidence(counted) == [("not worse", "128", "100"), ("not better", "< 0.01", "100")]


def test_discarded_pairs_are_counted() -> None:
    comparisons = [compared("a", [], voided=voided).comparison for voided in (0, 1, 2)]
    texts = [describe_discarded_pairs(each) for each in comparisons if each is not None]
    assert texts == [
        "",
        "1 pair was discarded: a launch failed or was throttled",
        "2 pairs were discarded: a launch failed or was throttled",
    ]


def test_error_rates_depend_on_the_number_of_benchmarks() -> None:
    first, second = compared("a", made_pairs(0.0, 8)), compared("b", made_pairs(0.0, 8))
    assert "with a probability of at most 1 %" in describe_false_discoveries([first, identical("x"), refused("y")])
    assert describe_false_discoveries([first, second]).startswith("Some of 2 benchmarks ")
    assert "at most 5 % of the reported regressions are false" in describe_false_discoveries([first, second])
    later = second.model_copy(update={"run": "later"})
    assert "regressions that each of 2 runs reported are false" in describe_false_discoveries([first, later])
    assert describe_false_discoveries([identical("x")]) == ""
    for failures in ([failed("x")], [failed("x"), failed("y"), refused("z")]):
        assert describe_false_discoveries(failures) == "", "no test gave a verdict"


def test_rules_name_every_limit() -> None:
    rules = dict(describe_rules(Parameters(seed=3, margin=0.02, max_seconds=60, precision=0.003, gate=True)))
    assert rules["improvement"] == "not tested (--gate)"
    assert rules["budget per benchmark"] == "100 pairs or 60 s of device time"
    assert rules["continues until the change is known to"] == "± 0.3 %"
    assert "change below 2 %" in rules["no change"]
    assert rules["random seed"] == "3"


def test_evidence_is_shown_beside_the_rejection_threshold() -> None:
    comparison = compared("a", made_pairs(0.0, 8)).comparison
    assert comparison is not None
    some = comparison.model_copy(update={"evidence": Evidence(regression=1e300, improvement=0.001, tail=20.4)})
    assert [(value, needed) for _, value, needed in tabulate_evidence(some)] == [
        ("1e300", "100"),
        ("< 0.01", "100"),
        ("1", "29"),
        ("1", "29"),
        ("20", "20"),
    ]
    gate = some.model_copy(update={"parameters": Parameters(seed=1, gate=True)})
    assert len(tabulate_evidence(gate)) == 3


@given(st.floats(min_value=0, max_value=1e304))
def test_evidence_is_formatted_compactly(value: float) -> None:
    assert len(format_evidence(value)) <= 7


def test_the_command_reproduces_the_measurement() -> None:
    strict = PARAMETERS.model_copy(update={"margin": 0.005, "max_pairs": 50, "gate": True})
    assert format_rerun_command(compared("a", made_pairs(0.0, 8), parameters=strict)) == (
        "harness compare -b specifications/models/mv2.json --source git:/src/executorch "
        f"--control {'1' * 40} --treatment {'2' * 40} --margin 0.005 --pairs 50 --gate --seed 7"
    )


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("installed", "--self-check"),
        ("none", "--self-check"),
        ("prebuilt", "--control-program CONTROL --treatment-program TREATMENT"),
        ("releases:executorch", "--source releases:executorch --control 1.4 --treatment 1.5"),
    ],
)
def test_the_command_names_both_sides(source: str, words: str) -> None:
    made = compared("a", made_pairs(0.0, 8), treatment=BuildInfo(source=source, commit="1.5"))
    assert made.comparison is not None
    comparison = made.comparison.model_copy(update={"control": BuildInfo(source=source, commit="1.4")})
    phone = DEVICE.model_copy(update={"platform": "android"})
    command = format_rerun_command(made.model_copy(update={"comparison": comparison, "device": phone}))
    assert command == f"harness compare -b specifications/models/mv2.json -p android {words} --seed 7"


@pytest.mark.parametrize(
    ("control", "treatment", "words"),
    [
        ("prebuilt", "git:/src", "--source git:/src --control-program CONTROL --treatment 1.5"),
        ("git:/src", "prebuilt", "--source git:/src --control 1.4 --treatment-program TREATMENT"),
        ("git:/src", "hg:/src", None),
        ("installed", "git:/src", None),
    ],
)
def test_the_command_names_both_sources_or_is_omitted(control: str, treatment: str, words: str | None) -> None:
    made = compared("a", made_pairs(0.0, 8), treatment=BuildInfo(source=treatment, commit="1.5"))
    assert made.comparison is not None
    comparison = made.comparison.model_copy(update={"control": BuildInfo(source=control, commit="1.4")})
    command = format_rerun_command(made.model_copy(update={"comparison": comparison}))
    assert command == (f"harness compare -b specifications/models/mv2.json {words} --seed 7" if words else "")


def test_the_command_names_the_recipe_and_how_it_was_measured() -> None:
    made = compared("a", made_pairs(0.0, 8))
    assert made.comparison is not None
    comparison = made.comparison.model_copy(update={"flags": ("--frameworks-dir", "/my recipes")})
    for recipe, words in (("a/host/fast", "-p host/fast "), ("a/host", ""), ("a", ""), ("a/releases/host", "")):
        assert made.build is not None
        build = made.build.model_copy(update={"recipe": recipe})
        command = format_rerun_command(made.model_copy(update={"comparison": comparison, "build": build}))
        assert command == (
            f"harness compare -b specifications/models/mv2.json {words}--source git:/src/executorch "
            f"--control {'1' * 40} --treatment {'2' * 40} --frameworks-dir '/my recipes' --seed 7"
        )


def test_without_a_build_of_the_treatment_there_is_no_command() -> None:
    assert format_rerun_command(compared("a", made_pairs(0.0, 8)).model_copy(update={"build": None})) == ""


def test_the_command_repeats_large_budgets_to_the_last_digit() -> None:
    made = compared("a", made_pairs(0.0, 8), parameters=Parameters(seed=1, max_pairs=1234567, margin=0.01234567))
    assert "--margin 0.01234567 --pairs 1234567 " in format_rerun_command(made)


def test_commands_use_flags_that_exist(flags_of_compare: set[str]) -> None:
    every = Parameters(
        seed=1, alpha=0.02, beta=0.02, margin=0.02, tail_margin=0.02, max_pairs=2, max_seconds=2, precision=0.02,
        gate=True, fdr=0.02,
    )  # fmt: skip
    made = compared("a", made_pairs(0.0, 8), parameters=every)
    commands = [format_rerun_command(made), format_reevaluate_command(Path("a b"))]
    used = {word for command in commands for word in shlex.split(command) if word.startswith("-")}
    assert len(used) == 15
    assert set(normalise_flags(sorted(used))) <= flags_of_compare


def test_a_folder_with_spaces_stays_one_word() -> None:
    assert shlex.split(format_reevaluate_command(Path("my results/x"))) == [
        "harness",
        "compare",
        "--from",
        "my results/x",
    ]


def test_a_result_without_a_comparison_has_no_command() -> None:
    assert format_rerun_command(failed_result()) == ""


def test_a_row_is_about_the_figure_that_its_difference_is_about() -> None:
    pairs = [
        pair.model_copy(update={"treatment": (*pair.treatment[:4], 2 * pair.treatment[4])})
        for pair in made_pairs(0.0, 20)
    ]
    tail, whole = compared("tail", pairs), compared("whole", made_pairs(0.1, 20))
    row = build_row(tail)
    assert (row.figure, row.control, row.treatment) == ("p90", "8.48 ms", "17.0 ms")
    columns = {column.name: [cell.text for cell in column.cells] for column in build_columns([tail, whole])}
    assert columns["figure"] == ["p90", "median"]
    assert columns["control"] == ["8.48 ms", "8.00 ms"]
    assert "figure: " in format_legend(build_columns([tail, whole]))
    assert not any(column.name == "figure" and column.is_informative for column in build_columns([whole]))
