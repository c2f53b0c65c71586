"""Coverage: every combination has a state and a reason, and nothing is dropped."""

from __future__ import annotations

from harness.core.outcome import Outcome
from harness.store.database.engine import Database
from harness.store.database.views import History
from harness.store.history import Coverage, CoverageState, Selection
from harness.testing.results import DEVICE
from tests.store.database.views.samples import ALL, DAY, OTHER_PHONE, PHONE, START, bad, good, keep

SERVER = DEVICE.model_copy(update={"identity": "server", "name": "Server"})


def states_of(coverage: Coverage, backend: str) -> dict[str, tuple[CoverageState, str]]:
    """Return state and reason of a benchmark by device."""
    row = next(row for row in coverage.rows if row.backend == backend)
    return {device.name: (cell.state, cell.reason) for device, cell in zip(coverage.devices, row.cells, strict=True)}


def test_every_combination_has_a_state_and_a_reason(database: Database) -> None:
    keep(database, good(1, backend="a"), bad(2, backend="a", device=SERVER), good(1, backend="a", device=SERVER))
    keep(database, bad(1, Outcome.UNSUPPORTED, "needs a GPU", backend="b", device=PHONE), good(3, backend="c"))
    keep(database, good(1, backend="c", device=OTHER_PHONE))
    coverage = History(database).coverage(ALL, START + 2 * DAY)
    excluded = (CoverageState.EXCLUDED, "no result on platform android")
    assert states_of(coverage, "a") == {
        DEVICE.name: (CoverageState.STALE, "newest good result is older than the period"),
        "Server": (CoverageState.FAILED, "SIGSEGV"),
        "Pixel 8": excluded,
        "Galaxy S24": excluded,
    }
    assert states_of(coverage, "b")["Pixel 8"] == (CoverageState.SKIPPED, "needs a GPU")
    assert states_of(coverage, "b")["Galaxy S24"] == (CoverageState.MISSING, "never measured on this device")
    assert states_of(coverage, "b")["Server"] == (CoverageState.EXCLUDED, "no result on platform host")
    assert states_of(coverage, "c")[DEVICE.name] == (CoverageState.MEASURED, "")
    assert sum(coverage.counts.values()) == len(coverage.rows) * len(coverage.devices) == 12
    assert sum(count for _, count in coverage.reasons) == 12 - coverage.counts[CoverageState.MEASURED]
    assert coverage.reasons[0][1] == max(count for _, count in coverage.reasons)


def test_a_selected_device_is_missing_what_others_of_its_platform_have(database: Database) -> None:
    keep(database, good(1, backend="a"), good(1, backend="a", device=SERVER), good(1, backend="b", device=SERVER))
    coverage = History(database).coverage(Selection(devices=(DEVICE.identity,)), None)
    assert [device.identity for device in coverage.devices] == [DEVICE.identity]
    assert states_of(coverage, "b") == {DEVICE.name: (CoverageState.MISSING, "never measured on this device")}
    assert sum(coverage.counts.values()) == 2
    assert History(database).coverage(Selection(devices=("x",)), None).rows == ()
    assert History(database).coverage(Selection(models=("x",)), None).devices == ()


def test_of_several_definitions_the_newest_of_each_device_counts(database: Database) -> None:
    keep(database, bad(1, digest="1"), good(2, digest="2"), good(1, digest="1", device=SERVER))
    coverage = History(database).coverage(ALL, None)
    assert len(coverage.rows) == 1
    assert coverage.counts[CoverageState.MEASURED] == 2


def test_results_without_a_device_have_a_column_of_their_own(database: Database) -> None:
    keep(database, bad(1, Outcome.FAILED, "no device", device=None), good(1))
    coverage = History(database).coverage(ALL, None)
    assert [device.identity for device in coverage.devices] == ["", DEVICE.identity]
    assert [cell.state for cell in coverage.rows[0].cells] == [CoverageState.FAILED, CoverageState.MEASURED]
