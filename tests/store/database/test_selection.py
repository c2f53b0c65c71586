"""Conditions on stored results, decided by the database."""

from __future__ import annotations

import pytest

from harness.core.result import Result
from harness.store.database.engine import Database
from harness.store.database.selection import StoredSelection, iterate_selected, select_uids
from harness.store.database.writing import NewResult, store_results
from harness.store.history import compute_cell_key
from harness.testing.results import DEVICE, STARTED, failed_result, ok_result


def made(uid: str, digest: str, offset: float, **changes: object) -> Result:
    result = ok_result(uid=uid, started=STARTED + offset, **changes)  # type: ignore[arg-type]
    return result.model_copy(update={"benchmark": result.benchmark.model_copy(update={"digest": digest})})


def stored_results() -> list[Result]:
    first = made("1", "a" * 64, 1, model="mv2", identifier="100%_q8")
    second = made("2", "b" * 64, 2, model="mv'3", identifier="fp32")
    phone = DEVICE.model_copy(update={"identity": "phone@processor", "name": "Pixel"})
    third = made("3", "a" * 64, 3, model="mv2", identifier="100%_q8", device=phone)
    assert second.build is not None
    named = second.build.model_copy(update={"commit": "10%_" + "f" * 36, "commit_name": "v1.5"})
    failed = failed_result(uid="4", device=None, build=None)
    other = failed.benchmark.model_copy(update={"digest": "c" * 64, "model": "broken"})
    return [
        first,
        second.model_copy(update={"build": named}),
        third,
        failed.model_copy(update={"benchmark": other, "started": STARTED + 4}),
        made("5", "d" * 64, 0, model="m" + "x" * 300, identifier="long" + "x" * 300 + "_end").model_copy(
            update={"metrics": ()}
        ),
    ]


@pytest.fixture(autouse=True)
def _stored(database: Database) -> None:
    store_results(database, [NewResult(result) for result in stored_results()], now=STARTED + 10)


@pytest.mark.parametrize(
    ("selection", "uids"),
    [
        (StoredSelection(models=("mv2",)), "13"),
        (StoredSelection(models=("mv'3", "none")), "2"),
        (StoredSelection(models=("x\0' OR 1=1 --",)), ""),
        (StoredSelection(devices=("Pixel",)), "3"),
        (StoredSelection(devices=("phone@processor",)), "3"),
        (StoredSelection(devices=("none",)), ""),
        (StoredSelection(commit="10%_"), "2"),
        (StoredSelection(commit="1%"), ""),
        (StoredSelection(commit="v1.5"), "2"),
        (StoredSelection(only=("*100%_q8",)), "13"),
        (StoredSelection(only=("model:mv*",)), "123"),
        (StoredSelection(only=("none*",)), ""),
        (StoredSelection(metrics=("NET latency",)), "123"),
        (StoredSelection(since=STARTED + 2, until=STARTED + 2.5), "2"),
        (StoredSelection(failed=True), "4"),
        (StoredSelection(cell=compute_cell_key("a" * 64, "phone@processor")), "3"),
        (StoredSelection(models=("mv2",), limit=1), "3"),
        (StoredSelection(only=("model:mv*",), limit=2), "23"),
        (StoredSelection(only=("*q8",), limit=1), "3"),
        (StoredSelection(only=("long*_end",)), "5"),
        (StoredSelection(only=("*_end", "model:mv2"), limit=3), "135"),
    ],
)
def test_each_condition_selects_its_results(selection: StoredSelection, uids: str, database: Database) -> None:
    assert {result.uid for result in iterate_selected(database, selection)} == set(uids)


def test_results_come_in_the_order_of_measurement(database: Database) -> None:
    uids = select_uids(database, StoredSelection(models=("mv2", "mv'3")))
    assert uids == ("1", "2", "3")
