"""Results in a database come back as they were."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from harness.core.metric import ControlSide, Metric
from harness.core.origin import Origin
from harness.core.result import RawLog, Result
from harness.store.canonical_json import to_json_line
from harness.store.database.engine import Database
from harness.store.database.rebuilding import rebuild_columns
from harness.store.database.tables import CELLS, COMMITS, CONTRASTS, DEVICES, METRICS, RESULTS
from harness.store.database.writing import NewResult, Storing, iterate_results, load_stored, store_results
from harness.testing.results import STARTED, failed_result, ok_result
from tests.presentation.comparison_samples import compared, made_operators, made_pairs

YEAR_S = 365 * 86_400.0

EXAMPLES = [
    ok_result(),
    failed_result(),
    failed_result(device=None, build=None),
    ok_result(model="a\0" + "b" * 5000, identifier="<script>", samples=(0.5, -0.0, 1e300, 5e-324)),
    compared("slower", made_pairs(0.05, 12), operators=made_operators({"conv": 0.1, "new": None}, 12)),
    compared("faster", made_pairs(-0.05, 12), higher_is_better=True),
    ok_result(identifier="older").model_copy(update={"schema_version": "1.0", "metrics": ()}),
    ok_result(identifier="elsewhere", build=None, device=None).model_copy(
        update={"origin": Origin(format="minibench", file="a\0.json", digest="d" * 64, count=10**30)}
    ),
    ok_result(identifier="free", meta={"huge": 10**40, "float": 1.0, "nested": [None, {"\u2028": -0.0}]}),
]


@pytest.mark.parametrize("result", EXAMPLES, ids=lambda result: result.benchmark.identifier)
def test_a_result_comes_back_byte_for_byte(result: Result, database: Database) -> None:
    assert store_results(database, [NewResult(result)], now=STARTED) == (Storing.CREATED,)
    stored = load_stored(database, result.uid)
    assert stored is not None
    assert to_json_line(stored) == to_json_line(result)


def test_a_uid_is_stored_once_and_the_first_content_stays(database: Database) -> None:
    first, other = ok_result(uid="1"), failed_result(uid="1")
    new = [NewResult(first, logs=(RawLog(name="0.txt", text="out"),)), NewResult(first), NewResult(other)]
    assert store_results(database, new, now=STARTED) == (Storing.CREATED, Storing.KNOWN, Storing.CONFLICT)
    assert store_results(database, new, now=STARTED) == (Storing.KNOWN, Storing.KNOWN, Storing.CONFLICT)
    assert list(iterate_results(database)) == [first]


def test_results_are_iterated_oldest_first(database: Database) -> None:
    results = [ok_result(started=STARTED + offset) for offset in (3, 1, 2, 1)]
    store_results(database, [NewResult(result) for result in results], now=STARTED)
    starts = [result.started - STARTED for result in iterate_results(database, chunk=2)]
    assert starts == [1, 1, 2, 3]


FINITE = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(max_size=30)
SAMPLES = st.lists(FINITE, max_size=20).map(tuple)
SUMMARIES = st.dictionaries(st.sampled_from(["n", "p50", "mean"]), st.none() | FINITE)
CONTROLS = st.builds(
    ControlSide,
    control_values=SAMPLES,
    control_launches=st.lists(st.integers(), max_size=20).map(tuple),
    control_summary=SUMMARIES,
)
METRIC_VALUES = st.builds(
    Metric,
    name=TEXT,
    type=TEXT,
    metric=TEXT,
    unit=TEXT,
    samples=SAMPLES,
    launches=st.lists(st.integers(), max_size=20).map(tuple),
    summary=SUMMARIES,
    info=st.none() | TEXT,
    control=st.none() | CONTROLS,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    metrics=st.lists(METRIC_VALUES, max_size=4),
    texts=st.tuples(TEXT, TEXT, TEXT),
    started=FINITE,
    commit_time=st.none() | st.integers(),
)
def test_any_result_comes_back_byte_for_byte(
    database: Database, metrics: list[Metric], texts: tuple[str, str, str], started: float, commit_time: int | None
) -> None:
    example = ok_result(model=texts[0], identifier=texts[1], started=started)
    assert example.build is not None
    build = example.build.model_copy(update={"commit": texts[2], "commit_time": commit_time})
    result = example.model_copy(update={"metrics": tuple(metrics), "build": build})
    assert store_results(database, [NewResult(result, category=texts[2])], now=STARTED) == (Storing.CREATED,)
    assert store_results(database, [NewResult(result)], now=STARTED) == (Storing.KNOWN,)
    stored = load_stored(database, result.uid)
    assert stored is not None
    assert to_json_line(stored) == to_json_line(result)


def test_integers_among_samples_come_back_as_they_were(database: Database) -> None:
    result = ok_result()
    metric = result.metrics[0].model_copy(update={"samples": (1, 2.0), "launches": (True, 1)})
    odd = result.model_copy(update={"metrics": (metric,)})
    store_results(database, [NewResult(odd)], now=STARTED)
    stored = load_stored(database, odd.uid)
    assert stored == Result.model_validate_json(to_json_line(odd))


def test_surrogates_are_replaced_and_noted(database: Database) -> None:
    result = ok_result(uid="\ud800", model="\udfff")
    store_results(database, [NewResult(result)], now=STARTED)
    stored = load_stored(database, "\ufffd")
    assert stored is not None
    assert (stored.benchmark.model, stored.notes[-1].code) == ("\ufffd", "replaced_text")


def test_texts_that_differ_only_where_columns_are_short_stay_apart(database: Database) -> None:
    uids = ["a\0", "a\ufffd", "x" * 5000, "x" * 5001]
    results = [ok_result(uid=uid, model=uid) for uid in uids]
    assert store_results(database, [NewResult(result) for result in results], now=STARTED) == (Storing.CREATED,) * 4
    for uid, result in zip(uids, results, strict=True):
        assert load_stored(database, uid) == result


def test_a_result_that_an_older_version_stored_is_known(database: Database) -> None:
    result = ok_result()
    store_results(database, [NewResult(result)], now=STARTED)
    with database.write() as connection:
        connection.execute(RESULTS.update().values(content="of its JSON, which had fewer fields"))
    assert store_results(database, [NewResult(result)], now=STARTED) == (Storing.KNOWN,)


def test_cells_and_commits_know_their_newest_results(database: Database) -> None:
    old, failed, late = ok_result(started=STARTED), failed_result(started=STARTED + 2), ok_result(started=STARTED - 5)
    for result in (old, failed, late):
        store_results(database, [NewResult(result)], now=STARTED)
    with database.read() as connection:
        uids = dict(connection.execute(select(RESULTS.c.id, RESULTS.c.uid)).all())
        cell = connection.execute(select(CELLS)).one()
        measured = connection.execute(select(COMMITS.c.measured)).scalar_one()
    assert (uids[cell.latest_result_id], uids[cell.latest_good_id], cell.results) == (failed.uid, old.uid, 3)
    assert measured == STARTED + 2


def test_a_clock_that_is_a_year_ahead_or_behind_does_not_hide_later_results(database: Database) -> None:
    ahead, behind = ok_result(started=STARTED + YEAR_S), ok_result(started=STARTED - YEAR_S)
    right = ok_result(started=STARTED + 60)
    store_results(database, [NewResult(behind), NewResult(ahead)], now=STARTED)
    store_results(database, [NewResult(right)], now=STARTED + 60)
    with database.read() as connection:
        latest = connection.execute(select(CELLS.c.latest_result_id)).scalar_one()
        starts = connection.execute(select(RESULTS.c.uid, RESULTS.c.started).order_by(RESULTS.c.started)).all()
        assert connection.execute(select(RESULTS.c.uid).where(RESULTS.c.id == latest)).scalar_one() == right.uid
    assert starts == [(behind.uid, STARTED - YEAR_S), (ahead.uid, STARTED), (right.uid, STARTED + 60)]
    assert load_stored(database, ahead.uid) == ahead


def test_columns_can_be_made_again_from_results(database: Database) -> None:
    new = [NewResult(result) for result in random.Random(1).sample(EXAMPLES, len(EXAMPLES))]
    store_results(database, new, now=STARTED)
    tables = (RESULTS, METRICS, CONTRASTS, CELLS, COMMITS, DEVICES)
    with database.read() as connection:
        before = [connection.execute(select(table).order_by(*table.primary_key)).all() for table in tables]
    with database.write() as connection:
        connection.execute(RESULTS.update().values(reason="wrong", trusted=False, time=0.0))
        connection.execute(METRICS.update().values(median=None, is_main=False))
        connection.execute(CONTRASTS.delete())
        connection.execute(CELLS.update().values(results=0, latest_result_id=None, latest_good_id=7))
        connection.execute(COMMITS.update().values(measured=None))
    assert rebuild_columns(database) == len(EXAMPLES)
    with database.read() as connection:
        after = [connection.execute(select(table).order_by(*table.primary_key)).all() for table in tables]
    assert after == before


def test_nothing_of_a_call_is_stored_when_a_result_cannot_be(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.store.database.writing.add_to_commits", _fail)
    with pytest.raises(KeyboardInterrupt):
        store_results(database, [NewResult(ok_result())], now=STARTED)
    with database.read() as connection:
        assert connection.execute(select(func.count()).select_from(METRICS)).scalar() == 0


def _fail(*_: object) -> None:
    raise KeyboardInterrupt
