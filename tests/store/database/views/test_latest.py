"""Lists of results and the values of filters."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from sqlalchemy import delete

from harness.core.outcome import Outcome
from harness.core.result import RawLog
from harness.store.database.engine import Database
from harness.store.database.tables import RESULTS
from harness.store.database.views import History
from harness.store.database.writing import NewResult, store_results
from harness.store.history import HistoryReader, Page, Period, Selection
from harness.testing.results import DEVICE
from tests.store.database.views.samples import (
    ALL,
    ALWAYS,
    DAY,
    FIRST,
    OTHER_PHONE,
    PHONE,
    START,
    against,
    bad,
    foreign,
    good,
    keep,
    metric,
    near,
    sha,
    uids,
)


def test_an_empty_store_has_empty_views(database: Database) -> None:
    reader: HistoryReader = History(database)
    assert reader.options().results == 0
    assert reader.options().first is None
    assert reader.latest(ALL, FIRST).rows == ()
    assert reader.results(ALL, ALWAYS, FIRST).total == 0
    assert (reader.result("x"), reader.row("x"), reader.artifacts("x")) == (None, None, ())
    assert reader.cell("x", "", ALWAYS, 10) is None
    assert (reader.changes(ALWAYS, ALL, FIRST), reader.levels(ALWAYS, ALL, FIRST)) == ((), ())
    assert (reader.commits("", FIRST).rows, reader.commit("abcd")) == ((), None)
    assert reader.results_of("x", ALL, FIRST).rows == ()
    assert (reader.differences("a", "b", ALL), reader.backends("m", ())) == ((), ())
    assert reader.coverage(ALL, None).rows == ()
    assert (reader.alarms(only_open=False, selection=ALL, period=ALWAYS, page=FIRST), reader.alarm("x")) == ((), None)


def test_the_newest_result_of_each_cell_is_shown_and_a_failure_is_not_hidden(database: Database) -> None:
    fine, broken = good(1), bad(2)
    keep(database, good(3, device=PHONE), fine, broken, good(1, backend="portable"))
    page = History(database).latest(ALL, FIRST)
    shown = [(row.cell.identifier, row.cell.device.name, row.outcome, row.reason) for row in page.rows]
    assert shown == [
        ("mv2-portable", DEVICE.name, Outcome.OK, ""),
        ("mv2-xnnpack", DEVICE.name, Outcome.CRASHED, "SIGSEGV"),
        ("mv2-xnnpack", "Pixel 8", Outcome.OK, ""),
    ]
    assert page.total == 3


def test_a_row_has_all_that_lists_show(database: Database) -> None:
    figure = metric("NET latency", 8.0, interval=(7.5, 8.5))
    result = good(5, figure, metric("NET load_time", 3.0), comparison=against(4, 0.05), origin=foreign())
    keep(database, result)
    row = History(database).row(result.uid)
    assert row is not None
    assert row.commit is not None
    assert (row.commit.id, row.commit.time, row.time) == (sha(5), START + 5 * DAY, START + 5 * DAY + 60)
    assert row.figure is not None
    assert (row.figure.median, row.figure.low, row.figure.high, row.figure.count) == (8.0, 7.5, 8.5, 1)
    assert row.contrast is not None
    assert row.contrast.effect is not None
    assert (row.contrast.control.id, row.contrast.effect.log_ratio) == (sha(4), near(0.05))
    assert row.origin == foreign()
    assert History(database).result(result.uid) == result


def test_selections_narrow_lists_and_unknown_names_select_nothing(database: Database) -> None:
    keep(database, good(1), good(1, device=PHONE), category="nightly")
    keep(database, good(1, model="100%_done", backend="q"), bad(2))
    reader = History(database)
    counts = {
        Selection(models=("mv2",)): 2,
        Selection(devices=("phone-1",)): 1,
        Selection(backends=("xnnpack", "q")): 3,
        Selection(frameworks=("executorch",), models=("mv2",)): 2,
        Selection(categories=("nightly",)): 2,
        Selection(categories=("",)): 2,
        Selection(text="MV2/mv2-X"): 2,
        Selection(text="pixel"): 1,
        Selection(text="%_d"): 1,
        Selection(text="%"): 1,
        Selection(text="_"): 1,
        Selection(text="m_2"): 0,
        Selection(models=("nothing",)): 0,
        Selection(models=("mv2\0",), text="\0"): 0,
        Selection(devices=("\ud800",), text="\ud800"): 0,
        Selection(text="' OR 1=1 --"): 0,
        Selection(text="\\"): 0,
        Selection(text="%" * 1_000_000): 0,
        Selection(models=("x" * 50_000,) * 1000): 0,
    }
    assert {selection: reader.latest(selection, FIRST).total for selection in counts} == counts


def test_results_are_newest_first_and_every_page_continues_the_last(database: Database) -> None:
    stored = [good(day, device=device) for day in range(7) for device in (DEVICE, PHONE, OTHER_PHONE)]
    keep(database, *stored[::-1])
    reader = History(database)
    pages = [reader.results(ALL, ALWAYS, Page(limit=4, offset=offset)) for offset in range(0, 24, 4)]
    listed = [row for page in pages for row in page.rows]
    assert sorted(uids(listed)) == sorted(uids(stored))
    assert [row.time for row in listed] == sorted((row.time for row in listed), reverse=True)
    assert {page.total for page in pages} == {21}
    part = Period(start=START + 2 * DAY, end=START + 4 * DAY)
    some = reader.results(Selection(devices=("phone-1",)), part, FIRST)
    assert (some.total, [row.commit.id for row in some.rows if row.commit]) == (2, [sha(3), sha(2)])


def test_a_category_selects_its_own_results_only(database: Database) -> None:
    (nightly,) = keep(database, good(1), category="nightly")
    keep(database, good(2))
    page = History(database).results(Selection(categories=("nightly",)), ALWAYS, FIRST)
    assert (uids(page.rows), page.total) == ([nightly], 1)


def test_options_are_sorted_and_complete(database: Database) -> None:
    keep(database, good(1, device=PHONE), category="nightly")
    keep(database, good(3, model="a", backend="portable"), category="by hand")
    keep(database, good(2))
    options = History(database).options()
    assert (options.models, options.backends) == (("a", "mv2"), ("portable", "xnnpack"))
    assert [device.name for device in options.devices] == [DEVICE.name, "Pixel 8"]
    assert (options.frameworks, options.categories) == (("executorch",), ("by hand", "nightly"))
    assert (options.results, options.first, options.last) == (3, START + DAY + 60, START + 3 * DAY + 60)


def test_files_of_a_result_are_listed_by_name(database: Database) -> None:
    result = good(1)
    logs = (RawLog(name="b.txt", text="two"), RawLog(name="a.txt", text="one"))
    store_results(database, [NewResult(result, logs=logs)], now=START + 2 * DAY)
    files = History(database).artifacts(result.uid)
    assert [file.size_bytes for file in files] == [3, 3]
    assert [file.name for file in files] == sorted(file.name for file in files)


def test_numbers_beyond_those_of_databases_are_refused_or_bounded(database: Database) -> None:
    (uid,) = keep(database, good(1))
    with pytest.raises(ValidationError):
        Page(offset=10**30)
    with pytest.raises(ValidationError):
        Selection(models=("a",) * 1001)
    reader = History(database)
    key = reader.latest(ALL, FIRST).rows[0].cell.key
    history = reader.cell(key, "", Period(start=-1e308, end=1e308), 10**30)
    assert history is not None
    assert uids(history.points) == [uid]


def test_a_cell_whose_newest_result_was_removed_does_not_break_the_views(database: Database) -> None:
    gone, stays = keep(database, good(1), good(1, backend="b"))
    with database.write() as connection:
        connection.execute(delete(RESULTS).where(RESULTS.c.uid == gone))
    reader = History(database)
    assert uids(reader.latest(ALL, FIRST).rows) == [stays]
    assert uids(row.result for row in reader.backends("mv2", ())) == [stays]
    assert sum(reader.coverage(ALL, None).counts.values()) == 1
