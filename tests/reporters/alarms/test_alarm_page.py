"""The page of an alarm, read back by a Markdown parser."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from markdown_it import MarkdownIt
from markdown_it.token import Token

from harness.core.alarm import AlarmEvent, AlarmReport, ChangedOperator
from harness.core.culprit import Candidate
from harness.core.effect import effect_of
from harness.presentation.alarm_headlines import headline
from reporters.alarms.page import format_time, render, select_candidates
from tests.reporters.alarms.alarm_samples import (
    bisected_step,
    changed,
    closed,
    commit,
    confirmed_drift,
    culprit,
    found_step,
    improvement,
    nasty_subjects,
    searched,
    two_culprits,
    unbuildable_range,
    verified,
)
from tests.reporters.alarms.any_alarm import reports
from tests.reporters.alarms.golden_alarms import FOLDER, current

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = {"heading", "paragraph", "table", "thead", "tbody", "tr", "th", "td", "bullet_list", "list_item"}
INLINE = {"text", "strong_open", "strong_close", "image", "link_open", "link_close"}


def _tokens(report: AlarmReport) -> list[Token]:
    return PARSER.parse(render(report))


def _inline(report: AlarmReport) -> list[Token]:
    return [child for token in _tokens(report) if token.type == "inline" for child in token.children or ()]


@pytest.mark.parametrize("name", sorted(current()))
def test_each_sample_is_rendered_as_its_golden_file(name: str) -> None:
    kept = (FOLDER / name).read_text(encoding="utf-8")
    advice = "run python -m tests.reporters.alarms.golden_alarms and look at the difference"
    assert current()[name] == kept, advice


@pytest.mark.slow
@given(reports)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
def test_any_alarm_page_contains_only_generated_markup(report: AlarmReport) -> None:
    tokens = _tokens(report)
    blocks = {token.type.removesuffix("_open").removesuffix("_close") for token in tokens}
    assert blocks <= OURS | {"inline", "hr", "fence"}
    assert sum(token.type == "fence" for token in tokens) == bool(report.command)
    assert sum(token.type == "hr" for token in tokens) == 1
    assert sum(token.type == "heading_open" and token.tag == "h1" for token in tokens) == 1
    inline = _inline(report)
    assert {token.type for token in inline} <= INLINE
    assert [token.attrs["src"] for token in inline if token.type == "image"] == ["series.svg"] * bool(report.series)
    links = [str(token.attrs["href"]) for token in inline if token.type == "link_open"]
    assert len(links) <= 1 + len(report.results) + 4, "group, difference, two commits"
    assert all(link.startswith(("http://", "https://")) or ":" not in link for link in links)


def test_texts_of_commits_are_shown_verbatim() -> None:
    page = PARSER.render(render(nasty_subjects()))
    for harm in ("<script", "<img src=x", 'href="javascript:', "</details>", "<b>", "<s>", 'src="https'):
        assert harm not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_addresses_in_texts_do_not_become_links() -> None:
    text = render(nasty_subjects())
    body = text[: text.index("## Links")]
    assert "https\\://evil" in body
    assert "://" not in body.replace("\\://", "")
    assert "www." not in body


def test_the_headline_names_size_interval_and_culprit() -> None:
    assert headline(bisected_step()) == (
        "mv2/mv2-xnnpack_q8 on Pixel 8 became 3.1 % slower [2.6, 3.6] "
        "with commit 736ae249736a “Use a slower loop” by Grace Hopper"
    )


def test_a_page_says_what_its_command_compares() -> None:
    before, after = commit(24).short, commit(25).short
    assert f"It compares {after}, the culprit, against the commit before it, {before}." in render(bisected_step())
    before, after = commit(22).short, commit(26).short
    detected = f"It compares {after} against {before}, the range in which the change was detected; the culprit is not"
    assert detected in render(found_step())
    assert "the range of all 2 culprits." in render(two_culprits())


def test_the_headline_of_an_alarm_that_was_not_searched_names_a_range() -> None:
    first, last = commit(23).short, commit(26).short
    assert headline(found_step()).endswith(f"became 3.1 % slower [2.6, 3.6] with one of 4 commits, {first} to {last}")
    assert "bit by bit over 34 commits" in headline(confirmed_drift())


def test_an_improvement_of_a_rate_rises() -> None:
    assert "rose by 8.3 % [7.8, 8.8] with commit" in headline(improvement())


def test_the_interval_of_an_improvement_is_shown_as_positive_percentages() -> None:
    effect = effect_of(-0.031, -0.036, -0.026)
    report = changed(found_step(), effect=effect, verification=None)
    assert "became 3.1 % faster [2.6, 3.6] with" in headline(report)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (None, 0.04, " [-∞, 4.0] with"),
        (0.02, None, " [2.0, ∞] with"),
        (None, None, "slower with"),
        (-0.0, 0.0, "[0.00"),
    ],
)
def test_an_unbounded_end_of_an_interval_is_shown_as_unbounded(
    low: float | None, high: float | None, expected: str
) -> None:
    effect = effect_of(0.03, low, high)
    assert expected in headline(changed(found_step(), effect=effect, verification=None))


def test_an_interval_that_begins_beside_zero_does_not_read_as_containing_it() -> None:
    effect = effect_of(0.012, 0.00003, 0.021)
    assert "became 1.2 % slower [0.003, 2.1]" in headline(changed(found_step(), effect=effect, verification=None))


def test_the_verification_is_reported_rather_than_the_series() -> None:
    assert "[2.6, 3.6]" in headline(found_step())
    assert "became 3.0 % slower [2.7, 3.4]" in headline(changed(found_step(), verification=None))


def test_each_of_two_culprits_has_a_share_and_the_unproven_culprit_is_probable() -> None:
    headline_text = headline(two_culprits())
    assert "became 3.7 % slower [3.2, 4.2] with 2 changes: " in headline_text
    assert (
        headline_text.index("(+2.10 %)")
        < headline_text.index(" and probably 5c5581d45c55")
        < headline_text.index("(+1.20 %)")
    )
    assert "No culprit explains the remaining +0.40 %." in render(two_culprits())


def test_further_culprits_are_counted() -> None:
    search = searched(reason="many", culprits=tuple(culprit(commit(number)) for number in range(23, 28)))
    assert headline(changed(found_step(), search=search)).endswith(" and 2 more")


def test_commits_that_do_not_build_form_one_culprit() -> None:
    assert headline(unbuildable_range()).endswith("of which only the last builds")
    assert render(unbuildable_range()).count("| no | 24 % |") == 3


def test_a_closed_alarm_is_shown_as_closed() -> None:
    assert "became 3.1 % slower" in headline(closed())
    assert headline(closed()).endswith(f": {closed().alarm.reason}")
    assert render(closed()).startswith("# ✓ ")


def test_a_level_that_is_back_does_not_end_an_alarm() -> None:
    reason = f"the level is below again since {commit(34).short}, while {commit(25).short} is still in"
    report = changed(bisected_step(), event=AlarmEvent.RECOVERED, reason=reason)
    assert headline(report).endswith(f": {reason}")
    assert f"**Not over**: {reason}." in render(report)


def test_a_change_of_the_tail_names_its_figure() -> None:
    change = found_step().alarm.change.model_copy(update={"figure": "p90"})
    assert " in its p90 with " in headline(changed(found_step(), change=change, verification=None))
    assert " in its p90 " not in headline(changed(found_step(), verification=None))


def test_a_search_without_a_culprit_names_the_range_and_the_reason() -> None:
    report = changed(found_step(), search=searched(reason="the budget is spent", rest=0.03))
    text = render(report)
    assert "with one of 4 commits" in headline(report)
    assert "**Searched**: the budget is spent.\n" in text
    assert "What the search found" not in text


def test_only_likely_commits_are_shown_and_the_remaining_commits_are_counted() -> None:
    selection = select_candidates(two_culprits())
    assert [candidate.commit.id for candidate in selection.shown] == [commit(number).id for number in (10, 11, 20)]
    assert selection.left_out == 17
    assert selection.probability == pytest.approx(0.02)


def test_an_unlikely_culprit_is_still_shown() -> None:
    begun = two_culprits()
    selection = select_candidates(changed(begun, search=searched(reason="", culprits=(culprit(commit(15)),))))
    assert commit(15).id in [candidate.commit.id for candidate in selection.shown]


def test_both_ends_of_a_long_range_are_shown() -> None:
    selection = select_candidates(confirmed_drift())
    assert [selection.shown[0].commit, selection.shown[-1].commit] == [commit(6), commit(39)]
    assert (len(selection.shown), selection.left_out, selection.probability) == (12, 22, None)


def test_commits_that_are_equally_likely_do_not_fill_the_page() -> None:
    candidates = tuple(Candidate(commit=commit(number), probability=0.01) for number in range(100))
    assert len(select_candidates(changed(found_step(), candidates=candidates)).shown) == 12


def test_operators_are_sorted_by_contribution() -> None:
    text = render(bisected_step())
    assert text.index("Convolution") < text.index("Softmax") < text.index("Transpose")
    many = tuple(ChangedOperator(name=f"Op {number}", contribution=number / 100) for number in range(14))
    text = render(changed(bisected_step(), operators=many))
    assert "4 with smaller contributions are left out." in text
    assert "Op 13" in text
    assert "Op 3 " not in text


def test_unknown_facts_have_no_heading() -> None:
    report = changed(found_step(), command="", series=(), candidates=(), results=())
    text = render(report)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Why it is believed",
        "## Other measurements of this change",
    ]
    assert "series.svg" not in text
    assert headline(report).endswith(f"after commit {commit(22).short}")


def _links(report: AlarmReport) -> list[str]:
    return [str(token.attrs["href"]) for token in _inline(report) if token.type == "link_open"]


def test_links_to_a_folder_with_special_characters_are_escaped() -> None:
    report = changed(nasty_subjects(), results=("a) b>c", 'http://x/<y>\n"z"'))
    assert _links(report)[:-1] == ["../../a%29%20b%3Ec", "http://x/%3Cy%3E%0A%22z%22"]


def test_no_link_leads_to_a_path_of_this_machine_alone() -> None:
    places = (
        "/srv/results",
        "file:///srv/results",
        "C:\\results",
        "\\\\host\\results",
        "~/results",
        "javascript:alert(1)",
    )
    report = changed(bisected_step(), results=places)
    assert [link for link in _links(report) if "results" in link or "alert" in link] == []
    assert "/srv/results" in render(report), "it is shown all the same"


def test_the_page_links_the_difference_both_commits_and_the_result() -> None:
    before, after = commit(24).id, commit(25).id
    assert _links(bisected_step()) == [
        "index.html",
        f"https://github.com/pytorch/executorch/compare/{before}...{after}",
        f"https://github.com/pytorch/executorch/commit/{before}",
        f"https://github.com/pytorch/executorch/commit/{after}",
        "../../Pixel%208/executorch/mv2/0",
        "https://perf.example/runs?alarm=5f2b",
        "alarm.json",
    ]


def test_one_size_is_given_and_the_others_are_labelled_below() -> None:
    """A change whose series says +2.7 %, its verification +4.0 % and the search +6.7 %."""
    search = searched(reason="proven", culprits=(culprit(commit(25), step=0.067),), pairs=120)
    report = changed(bisected_step(), effect=effect_of(0.027), verification=verified(0.04), search=search)
    above, below = render(report).split("## Other measurements of this change")
    assert "became 6.7 % slower" in above
    assert "+6.70 % \\[+6.20 … +7.20 %\\]" in above
    assert f"{commit(25).short} against the commit before it, {commit(24).short}, from the search" in above
    assert "2.7" not in above
    assert "4.0" not in above
    assert "| measured again |" in below
    assert "| series |" in below
    assert "6.7" not in below


@pytest.mark.parametrize("report", [bisected_step(), found_step(), two_culprits(), improvement(), closed()])
def test_the_size_in_the_headline_is_that_of_the_alarm(report: AlarmReport) -> None:
    assert f" {abs(100 * report.alarm.size.effect.relative_change):.1f} %" in headline(report)


def test_a_merge_that_brought_the_culprit_is_named_as_such_and_is_no_second_culprit() -> None:
    step = bisected_step()
    search, candidates = step.alarm.search, list(step.alarm.candidates)
    assert search is not None
    brought = search.culprits[0].model_copy(update={"merges": (candidates[3].commit.id,)})
    candidates[3] = candidates[3].model_copy(update={"probability": 1.0})
    report = changed(step, search=search.model_copy(update={"culprits": (brought,)}), candidates=tuple(candidates))
    lines = render(report).partition("commits in question")[2].partition("##")[0].splitlines()
    (row,) = (line for line in lines if candidates[3].commit.short in line)
    assert "the merge that brought ►" in row
    assert "%" not in row


def test_times_are_utc_and_times_outside_the_calendar_have_no_date() -> None:
    assert format_time(0) == "1970-01-01 00:00"
    assert format_time(-(10**400)) == format_time(1e300) == "no date"
