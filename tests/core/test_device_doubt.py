"""Which results are in doubt when a check of a device was bad."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from harness.core.device_doubt import LAST_GOOD_CHECK, LAST_GOOD_CHECKS, DeviceDoubt, last_good_checks, mark_doubts
from harness.core.result import Result
from harness.testing.results import DEVICE, STARTED, failed_result, ok_result

DOUBT = DeviceDoubt(
    identity=DEVICE.identity,
    name=DEVICE.name,
    device_class="cpu",
    since=STARTED - 10,
    until=STARTED + 10,
    reason="the reference changed by +12.0 % from its usual figure (limit 5.0 %)",
)
CLASS = DEVICE.model_copy(update={"identity": "class:cpu", "name": "cpu"})


def pooled(**checks: list[float]) -> Result:
    times: dict[str, JsonValue] = {
        DEVICE.identity if name == "device" else name: [*values] for name, values in checks.items()
    }
    return ok_result(device=CLASS, meta={LAST_GOOD_CHECKS: times})


@pytest.mark.parametrize(
    ("result", "is_in_doubt"),
    [
        (ok_result(), True),
        (ok_result(started=STARTED - 11), False),
        (ok_result(started=STARTED + 11), False),
        (ok_result(device=DEVICE.model_copy(update={"identity": "another"})), False),
        (ok_result(device=None), False),
        (failed_result(), False),  # it has no figure that could be wrong
        (pooled(device=[STARTED - 10]), True),
        (pooled(device=[STARTED - 90, STARTED - 10]), True),  # it was checked while the comparison went on
        (pooled(device=[STARTED - 90]), False),
        (pooled(other=[STARTED - 10]), False),
        (ok_result(device=CLASS), False),
        (ok_result(device=CLASS, meta={LAST_GOOD_CHECKS: "made up"}), False),
    ],
)
def test_a_result_is_in_doubt_from_the_last_good_check_to_the_bad_one(result: Result, is_in_doubt: bool) -> None:
    assert DOUBT.concerns(result) is is_in_doubt
    marked = mark_doubts(result, [DOUBT])
    assert marked.trusted is (result.ok and not is_in_doubt)
    assert (DOUBT.note in marked.notes) is is_in_doubt


@pytest.mark.parametrize(
    ("result", "checks"),
    [
        (pooled(device=[1.0, 2.5], other=[3]), {DEVICE.identity: (1.0, 2.5), "other": (3,)}),
        (ok_result(meta={LAST_GOOD_CHECK: 7.0}), {DEVICE.identity: (7.0,)}),
        (ok_result(meta={LAST_GOOD_CHECK: "made up"}), {}),
        (ok_result(meta={LAST_GOOD_CHECKS: {"other": "made up"}}), {}),
        (ok_result(), {}),
    ],
)
def test_a_result_tells_the_last_good_checks_of_its_devices(
    result: Result, checks: dict[str, tuple[float, ...]]
) -> None:
    assert last_good_checks(result) == checks


def test_a_doubt_that_is_resolved_concerns_nothing() -> None:
    resolved = DOUBT.model_copy(update={"resolved": True})
    assert resolved.replaces(DOUBT)
    assert not DOUBT.replaces(resolved)
    assert mark_doubts(ok_result(uid="a"), [resolved]).trusted
