"""Commits: lists, names, their results, and two of them side by side."""

from __future__ import annotations

import math

import pytest

from harness.core.errors import UsageError
from harness.core.outcome import Outcome
from harness.core.verdict import Verdict
from harness.store.database.alarms import store_alarm
from harness.store.database.engine import Database
from harness.store.database.views import History
from harness.store.history import Page, Selection
from tests.reporters.alarms.alarm_samples import commit, found_step
from tests.store.database.views.samples import (
    ALL,
    DAY,
    FIRST,
    PHONE,
    START,
    against,
    bad,
    build,
    good,
    keep,
    metric,
    near,
    sha,
    uids,
)


def test_commits_are_listed_by_their_newest_measurement_with_counts(database: Database) -> None:
    keep(
        database,
        good(1, started=START + 9 * DAY),
        good(2, comparison=against(7, 0.1)),
        bad(2, backend="a"),
        bad(2, Outcome.SKIPPED, backend="b"),
        good(2, backend="c", comparison=against(7, -0.1, Verdict.IMPROVEMENT)),
        good(2, backend="d", comparison=against(7, 0.1), started=START + 3 * DAY),
        good(2, backend="d", comparison=against(7, 0.0, Verdict.NO_CHANGE), started=START + 4 * DAY),
    )
    page = History(database).commits("", FIRST)
    rows = {row.commit.id: row for row in page.rows}
    assert page.rows[0].commit.id == sha(1)
    row = rows[sha(2)]
    assert (row.results, row.failed, row.regressions, row.improvements) == (6, 1, 1, 1)
    assert row.measured == START + 4 * DAY


def test_pages_have_every_commit_once(database: Database) -> None:
    keep(database, *(good(day) for day in range(11)))
    reader = History(database)
    pages = [reader.commits("", Page(limit=3, offset=offset)) for offset in range(0, 12, 3)]
    assert [row.commit.id for page in pages for row in page.rows] == [sha(day) for day in range(10, -1, -1)]
    assert {page.total for page in pages} == {11}


def test_a_text_finds_ids_names_and_subjects_and_escapes_wildcards(database: Database) -> None:
    named = build(1, commit_name="release_1%", commit_subject="Reuse the Arena")
    keep(database, good(1, build=named), good(2), good(3))
    reader = History(database)
    for text, days in (
        ("arena", [1]),
        ("SE_1%", [1]),
        (sha(2)[:8], [2]),
        ("%", [1]),
        ("x_y", []),
        ("\0", []),
        ("\ud800", []),
    ):
        assert [row.commit.id for row in reader.commits(text, FIRST).rows] == [sha(day) for day in days]


def test_given_programs_are_no_commits(database: Database) -> None:
    given = build(1, source="prebuilt", commit="0123456789ab", commit_name="hang.sh")
    keep(database, good(1, build=given), good(2), good(3, build=build(3, source="none", commit="none")))
    reader = History(database)
    page = reader.commits("", FIRST)
    assert ([row.commit.id for row in page.rows], page.total) == ([sha(2)], 1)
    program = reader.commit("hang.sh")
    assert program is not None, "results link to it"
    assert program.commit.is_given


def test_a_program_given_as_that_of_a_commit_is_one(database: Database) -> None:
    """FAI-PEP's info names the commit of a given program, and no file."""
    keep(database, good(1, build=build(1, source="prebuilt", commit_name="")))
    (row,) = History(database).commits("", FIRST).rows
    assert not row.commit.is_given


def test_a_commit_is_found_by_id_beginning_and_name(database: Database) -> None:
    keep(database, good(0xAB, build=build(0xAB, commit_name="v1.2")), good(0xAC))
    reader = History(database)
    found = [reader.commit(name) for name in (sha(0xAB), sha(0xAB)[:12], sha(0xAB)[:9].upper(), "v1.2")]
    assert [row.commit.id if row else None for row in found] == [sha(0xAB)] * 4
    assert [reader.commit(name) for name in ("000", "v1", "", "zzzz", "%", "\0\0\0\0", "\ud800" * 5)] == [None] * 7
    with pytest.raises(UsageError, match="may be several commits") as caught:
        reader.commit("000000a")
    assert sha(0xAB) in caught.value.message
    assert sha(0xAC) in caught.value.message


def test_the_same_id_of_two_copies_of_a_repository_is_one_commit(database: Database) -> None:
    keep(database, good(1), good(1, backend="b", build=build(1, source="git:/home/x", commit_subject="Subject")))
    reader = History(database)
    (row,) = reader.commits("", FIRST).rows
    assert (row.results, row.commit.subject) == (2, "Subject")
    assert reader.commits("", FIRST).total == 1
    assert reader.results_of(sha(1), ALL, FIRST).total == 2


def test_controls_and_commits_of_alarms_are_found_though_they_have_no_results(database: Database) -> None:
    keep(database, good(2, comparison=against(1, 0.1)))
    store_alarm(database, found_step(), now=found_step().alarm.updated)
    reader = History(database)
    control, named = reader.commit(sha(1)), reader.commit(commit(24).id)
    assert control is not None
    assert named is not None
    assert (control.results, control.measured) == (0, START + 2 * DAY + 60)
    assert (named.results, named.commit.subject) == (0, commit(24).subject)


def test_the_newest_result_of_each_cell_at_a_commit_failures_first(database: Database) -> None:
    fine = good(1, backend="a")
    small, large = (good(1, backend=name, comparison=against(0, size)) for name, size in (("b", 0.1), ("c", 0.2)))
    gain = good(1, backend="d", comparison=against(0, -0.3, Verdict.IMPROVEMENT))
    repaired, skipped = good(1, backend="e", started=START + 5 * DAY), bad(1, Outcome.SKIPPED, backend="f")
    broken = bad(1, backend="z")
    keep(database, fine, small, large, gain, repaired, bad(1, backend="e"), skipped, broken, good(2, backend="a"))
    reader = History(database)
    page = reader.results_of(sha(1), ALL, FIRST)
    assert uids(page.rows) == uids([broken, large, small, gain, fine, repaired, skipped])
    pages = [reader.results_of(sha(1), ALL, Page(limit=2, offset=offset)) for offset in range(0, 8, 2)]
    assert [row for part in pages for row in part.rows] == list(page.rows)
    assert reader.results_of(sha(1), Selection(backends=("a", "z")), FIRST).total == 2
    assert reader.results_of("%", ALL, FIRST).total == 0


def test_two_commits_side_by_side(database: Database) -> None:
    before = good(1, metric(median=10.0, interval=(9.0, 11.0)), backend="a")
    after = good(2, metric(median=20.0, interval=(19.0, 21.0)), backend="a")
    proven = good(2, backend="b", comparison=against(1, 0.1))
    keep(database, before, after, proven, good(1, backend="c"), bad(2, backend="c"), good(2, backend="d", device=PHONE))
    keep(database, good(2, backend="e", comparison=against(7, 0.1)), good(9, backend="f"))
    rows = History(database).differences(sha(1), sha(2), ALL)
    a, b, c, d, e = rows
    assert [row.cell.backend for row in rows] == ["a", "b", "c", "d", "e"]
    assert a.ratio is not None
    assert (a.contrast, a.ratio.log_ratio) == (None, near(math.log(2)))
    assert a.ratio.low_log_ratio == near(math.log(2) - math.hypot(math.log(20 / 19), math.log(11 / 10)))
    assert b.contrast is not None
    assert (b.contrast.verdict, b.control, b.ratio) == (Verdict.REGRESSION, None, None)
    assert c.treatment is not None
    assert (c.treatment.outcome, c.ratio) == (Outcome.CRASHED, None)
    assert (d.control, d.treatment is not None) == (None, True)
    assert e.contrast is None, "it was compared with another commit"
    assert len(History(database).differences(sha(1), sha(2), Selection(backends=("a",)))) == 1
    assert History(database).differences("\0", "\ud800", ALL) == ()
