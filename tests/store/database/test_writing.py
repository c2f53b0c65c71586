"""Results in a database come back as they were."""

from __future__ import annotations

import pytest

from harness.core.result import RawLog, Result
from harness.store.canonical_json import to_json_line
from harness.store.database.engine import Database
from harness.store.database.writing import NewResult, Storing, iterate_results, load_stored, store_results
from harness.testing.results import STARTED, failed_result, ok_result
from tests.presentation.comparison_samples import compared, made_operators, made_pairs

RESULTS = [
    ok_result(),
    failed_result(),
    failed_result(device=None, build=None),
    ok_result(model="a\0" + "b" * 5000, identifier="<script>", samples=(0.5, -0.0, 1e300, 5e-324)),
    compared("slower", made_pairs(0.05, 12), operators=made_operators({"conv": 0.1, "new": None}, 12)),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.benchmark.identifier)
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
