"""How long benchmarks took, by the results of a tree and of a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.durations import DurationQuery
from harness.core.result import Result
from harness.store.database.durations import load_durations
from harness.store.database.engine import open_database
from harness.store.database.writing import NewResult, store_results
from harness.store.durations import read_durations
from harness.testing.results import DEVICE, STARTED, failed_result, ok_result, report_of
from reporters.local import LocalReporter
from tests.presentation.comparison_samples import compared, made_pairs

CLASS = DEVICE.model_copy(update={"identity": "class:cpu"})
ELSEWHERE = DEVICE.model_copy(update={"identity": "elsewhere"})


def took(seconds: float, name: str, *, day: int = 0, digest: str = "", **changes: object) -> Result:
    result = ok_result(identifier=name, started=STARTED + day * 86_400)
    benchmark = result.benchmark.model_copy(update={"digest": digest or f"digest of {name}"})
    update = {"benchmark": benchmark, "finished": result.started + seconds, **changes}
    return result.model_copy(update=update)


PAIRS = compared("a", made_pairs(0.0, 20))
assert PAIRS.comparison is not None
RESULTS = (
    took(3.0, "a"),
    took(5.0, "a", day=2),
    took(1.0, "a", day=3, device=ELSEWHERE),
    took(0.1, "a", day=4, outcome=failed_result().outcome, reason="crashed"),
    took(7.0, "b", day=1),
    took(9.0, "b", day=5, digest="b was defined otherwise"),
    took(
        0.0,
        "a",
        day=6,
        device=CLASS,
        comparison=PAIRS.comparison.model_copy(update={"seconds": 30.0}),
    ),
)
QUERY = DurationQuery(benchmarks=("digest of a", "digest of b", "digest of c"), devices=(DEVICE.identity, "nobody"))
TITLES = {f"digest of {name}": f"mv2/{name}" for name in "abc"}


@pytest.fixture(params=["tree", "database"])
def known(request: pytest.FixtureRequest, tmp_path: Path) -> dict[bool, dict[str, float]]:
    """Durations of measurements, and of pairs."""
    queries = {False: QUERY, True: QUERY.model_copy(update={"devices": (CLASS.identity,), "pairs": True})}
    if request.param == "tree":
        for result in RESULTS:
            LocalReporter(tmp_path).report(report_of(result))
        return {pairs: dict(read_durations(tmp_path, query, TITLES)) for pairs, query in queries.items()}
    with open_database(tmp_path / "results.db") as database:
        store_results(database, [NewResult(result) for result in RESULTS], now=STARTED + 10 * 86_400)
        return {pairs: dict(load_durations(database, query)) for pairs, query in queries.items()}


def test_the_newest_good_result_of_the_devices_says_how_long(
    known: dict[bool, dict[str, float]], request: pytest.FixtureRequest
) -> None:
    assert known[False]["digest of a"] == 5.0
    assert "digest of c" not in known[False]
    is_tree = "tree" in request.node.name
    assert known[False].get("digest of b") == (
        None if is_tree else 7.0
    )  # the newest of its title is another definition


def test_of_a_comparison_a_pair_counts(known: dict[bool, dict[str, float]]) -> None:
    assert known[True] == {"digest of a": 1.5}


def test_nothing_is_known_without_results(tmp_path: Path) -> None:
    assert read_durations(tmp_path, QUERY, TITLES) == {}
    with open_database(tmp_path / "results.db") as database:
        assert load_durations(database, QUERY) == {}
