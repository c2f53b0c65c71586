"""Pages of changes, results and alarms: what is proven, by what, and what to do."""

from __future__ import annotations

from harness.core.effect import Effect
from harness.core.verdict import Verdict
from harness.dashboard.alarms import render_alarms
from harness.dashboard.changes import render_changes, summarise_changes
from harness.presentation.differences import WHAT_IS_UNKNOWN
from harness.store.history import Period, ProofKind, Selection
from tests.dashboard.pages import make_pages, row_of
from tests.dashboard.samples import make_cell, make_change, make_site
from tests.reporters.alarms.alarm_samples import found_step


def test_a_summary_counts_what_is_proven_and_names_the_largest() -> None:
    changes = (
        make_change(1),
        make_change(2, cell=make_cell("vit", "Mac")),
        make_change(3, verdict=Verdict.IMPROVEMENT),
    )
    text = summarise_changes(changes, (), Period())
    assert text.startswith("2 proven regressions on 2 devices, the largest +10.0 % in mv2/q8 on Pixel 8")
    assert "1 improvement" in text


def test_a_change_names_its_culprit_its_interval_and_its_evidence() -> None:
    text = make_pages()["changes"]
    assert "+9.42 … +10.5 %" in text
    assert "culprit</span>" in text
    assert f'href="/commits/{9:040x}"' in text
    assert 'href="/alarms/step%3A0123"' in text


def test_a_list_of_alarms_and_comparisons_says_its_order() -> None:
    alarm = make_change(1)
    comparison = make_change(2, proof=ProofKind.COMPARISON, alarm="", culprit=False)
    mixed = render_changes((alarm, comparison), (), Period(), Selection(), make_site())
    assert "2 proven, verified alarms before comparisons, the largest of each first" in mixed
    alike = render_changes((alarm, alarm), (), Period(), Selection(), make_site())
    assert "2 proven, largest first" in alike


def test_levels_stand_below_what_they_cannot_show_and_have_no_verdict() -> None:
    level = make_change(1, proof=ProofKind.MEDIANS, verdict=Verdict.UNDECIDED, alarm="", culprit=False)
    text = render_changes((), (level,), Period(), Selection(), make_site())
    assert WHAT_IS_UNKNOWN in text
    assert 'class="badge"' not in text
    assert "No proven change" in text


def test_a_result_links_to_its_cell_commit_archive_and_files() -> None:
    text = make_pages()["result"]
    for address in ("/cells/0123456789abcdef", "/archive", "/artifacts/logs/0.txt"):
        assert address in text
    assert f'href="/commits/{3:040x}"' in text
    assert 'class="box"' in text, "samples, launch by launch"


def test_a_failed_result_says_why_and_what_to_do() -> None:
    assert '<span class="badge">crashed</span>' in make_pages()["result-failed"]
    assert "What to do" in make_pages()["result-failed"]


def test_an_alarm_shows_who_did_what() -> None:
    text = make_pages()["alarm"]
    assert "<strong>Ada</strong> acknowledged it" in text
    assert "looking at it" in text
    assert 'name="form_token" value="secret"' in text


def test_closed_alarms_are_folded_below_open_ones() -> None:
    text = make_pages()["alarms"]
    assert text.index("<h2>Open</h2>") < text.index("<summary>1 closed")


def test_an_unknown_address_is_explained_with_links_on() -> None:
    text = make_pages()["error"]
    assert "the store may have been made anew" in text
    assert 'href="/changes"' in text


def test_an_improvement_is_no_open_alarm() -> None:
    worse = row_of(found_step()).model_copy(update={"acknowledged": None})
    better = worse.model_copy(update={"identity": "better", "effect": Effect(log_ratio=-0.1)})
    text = render_alarms((worse, better), make_site())
    assert "1 open, 1 improved; nobody has acknowledged 1 of them." in text
    assert "<summary>1 improved</summary>" in text
