"""Batches of pairs of several devices as one comparison: their order, their numbers, their errors."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from harness.core.comparison import STATISTICS, Comparison, Pair, Parameters
from harness.core.device import Device
from harness.core.device_doubt import IN_DOUBT, LAST_GOOD_CHECK, LAST_GOOD_CHECKS, DeviceDoubt, mark_doubts
from harness.core.result import Outcome, Report
from harness.core.verdict import Verdict
from harness.flows.measure.plan import Failure
from harness.lab.jobs import Place, own_versions
from harness.lab.merging import comparison_of
from harness.lab.pooling import BATCH, DEVICES_DIFFER, PooledBatch, PooledComparison
from harness.lab.targets import Target
from harness.running.compared_metric import ComparedMetric
from harness.testing.frameworks.case import benchmark_of
from harness.testing.results import ok_result, report_of
from tests.presentation.comparison_samples import CONTROL, TREATMENT

PLACES = tuple(
    Place(
        device=Device(platform="android", identity=name, name=name, kind="Pixel 8", cores=8),
        device_class="pixel-8",
        host="h",
        versions=own_versions(),
    )
    for name in ("one", "two", "three")
)
TARGET = Target("pixel-8", "class-pixel-8", PLACES)


def pooled(**values: object) -> PooledComparison:
    parameters = Parameters.model_validate({"seed": 7, **values})
    return PooledComparison(benchmark_of("generic"), TARGET, parameters, [ComparedMetric()])


def pairs(chance: random.Random, parameters: Parameters, change: float, *, slot: float = 0.0) -> tuple[Pair, ...]:
    """Pairs whose second launch is slower by the slot effect, with noise of 1 %."""
    made = []
    for index in range(parameters.max_pairs):
        control_first = chance.random() < 0.5
        level = 100 * math.exp(chance.gauss(0, 0.05))
        first, second = (level * math.exp(chance.gauss(0, 0.01)), level * math.exp(slot + chance.gauss(0, 0.01)))
        control, treatment = (first, second) if control_first else (second, first)
        shape = (0.97, 0.99, 1.0, 1.01, 1.05)
        made.append(
            Pair(
                index=index,
                control_first=control_first,
                control=tuple(control * share for share in shape),
                treatment=tuple(treatment * (1 + change) * share for share in shape),
                control_launch=index,
                treatment_launch=index,
                seconds=1.0,
            )
        )
    return tuple(made)


def batch_of(number: int, made: Sequence[Pair], device: str = "one") -> PooledBatch:
    comparison = Comparison(
        control=CONTROL,
        metric="NET latency",
        unit="ms",
        statistics=STATISTICS,
        parameters=Parameters(seed=1),
        pairs=tuple(made),
        verdict=Verdict.UNDECIDED,
        seconds=len(made) + 2.0,
    )
    result = ok_result(uid=f"{number}", build=TREATMENT)
    place = next(place for place in PLACES if place.device.name == device)
    launches = tuple(result.launches[0].model_copy(update={"index": index}) for index in range(len(made)))
    update = {
        "comparison": comparison,
        "device": place.device,
        "launches": launches,
        "control_launches": launches,
        "metrics": (),
    }
    return PooledBatch(number, (report_of(result.model_copy(update=update)),))


def fed(changes: Sequence[tuple[str, float]], seed: int = 3, **values: object) -> PooledComparison:
    """A comparison that got a batch from each of these devices, with the change that it shows."""
    chance, comparison = random.Random(seed), pooled(**values)
    for device, change in changes:
        number, parameters = comparison.ask()
        comparison.add(batch_of(number, pairs(chance, parameters, change), device))
    return comparison


def report(comparison: PooledComparison) -> Report:
    ((_, made),) = comparison.report(("", ""))
    return made


def test_batches_count_in_the_order_in_which_they_were_asked_for() -> None:
    chance = random.Random(1)
    orderly, late = pooled(), pooled()
    batches = []
    for _ in range(3):
        number, parameters = orderly.ask()
        late.ask()
        batches.append(batch_of(number, pairs(chance, parameters, 0.02)))
    for batch in batches:
        orderly.add(batch)
    late.add(batches[2])
    late.add(batches[1])
    assert late.pairs == 0
    assert late.asked_pairs == 3 * BATCH
    late.add(batches[0])
    assert report(late) == report(orderly)
    assert report(late).result.comparison is not None
    assert late.pairs == 3 * BATCH


def test_each_batch_has_a_coin_of_its_own_and_the_budget_is_kept() -> None:
    comparison = pooled(max_pairs=25)
    asked = [comparison.ask() for _ in range(3)]
    assert [parameters.max_pairs for _, parameters in asked] == [10, 10, 5]
    assert len({parameters.seed for _, parameters in asked}) == 3
    assert not comparison.may_ask()
    assert [parameters.seed for _, parameters in asked] == [
        parameters.seed for _, parameters in [again.ask() for again in [pooled(max_pairs=25)] for _ in range(3)]
    ]


def test_the_checks_of_every_device_are_kept_so_that_a_bad_one_marks_the_comparison() -> None:
    chance, comparison = random.Random(3), pooled()
    for device, checked in (("one", 5.0), ("two", 6.0), ("one", 5.0), ("one", 9.0)):
        number, parameters = comparison.ask()
        batch = batch_of(number, pairs(chance, parameters, 0.0), device)
        (made,) = batch.reports
        result = made.result.model_copy(update={"meta": {"note": "mine", LAST_GOOD_CHECK: checked}})
        comparison.add(PooledBatch(number, (made.model_copy(update={"result": result}),)))
    merged = report(comparison).result
    assert merged.meta == {"note": "mine", LAST_GOOD_CHECKS: {"one": [5.0, 9.0], "two": [6.0]}}
    doubt = DeviceDoubt(identity="one", name="one", device_class="pixel-8", since=9.0, until=99.0, reason="drift")
    assert doubt.concerns(merged)
    assert not doubt.model_copy(update={"identity": "two"}).concerns(merged)
    assert mark_doubts(merged, [doubt]).notes[-1].code == IN_DOUBT


def test_pairs_and_launches_are_numbered_on() -> None:
    merged = report(fed([("one", 0.0), ("two", 0.0), ("one", 0.0)]))
    comparison = comparison_of(merged)
    assert [pair.index for pair in comparison.pairs] == [*range(3 * BATCH)]
    assert [pair.treatment_launch for pair in comparison.pairs] == [*range(3 * BATCH)]
    assert [launch.index for launch in merged.result.launches] == [*range(3 * BATCH)]
    assert [pair.device for pair in comparison.pairs] == ["one"] * 10 + ["two"] * 10 + ["one"] * 10
    assert comparison.seconds == 3 * (BATCH + 2)
    assert merged.result.device == Device(
        platform="android",
        identity="class:pixel-8",
        name="pixel-8",
        kind="Pixel 8",
        cores=8,
        attributes={"devices": "2"},
    )


def test_a_failed_batch_costs_its_pairs_and_the_third_ends_it() -> None:
    comparison = pooled()
    failure = Failure(Outcome.CRASHED, "it crashed")
    chance = random.Random(2)
    number, _ = comparison.ask()
    comparison.add_failure(number, failure)
    number, parameters = comparison.ask()
    comparison.add(batch_of(number, pairs(chance, parameters, 0.0)))
    assert comparison.pairs == BATCH
    assert comparison.failure is None
    assert [note.message for note in report(comparison).result.notes] == ["1 batch of pairs failed: it crashed"]
    for _ in range(2):
        number, _ = comparison.ask()
        comparison.add_failure(number, failure)
    assert comparison.failure == failure


def test_few_failures_among_many_batches_end_nothing() -> None:
    comparison = fed([("one", 0.0)] * 15, max_pairs=1000)
    for _ in range(3):
        number, _ = comparison.ask()
        comparison.add_failure(number, Failure(Outcome.CRASHED, "it crashed"))
    assert comparison.failure is None


def test_devices_that_exclude_each_other_are_named() -> None:
    alike = report(fed([("one", 0.02), ("two", 0.02)] * 3))
    assert DEVICES_DIFFER not in {note.code for note in alike.result.notes}
    differing = report(fed([("one", 0.05), ("two", 0.01)] * 3))
    (note,) = (note for note in differing.result.notes if note.code == DEVICES_DIFFER)
    assert note.trust
    assert "on one" in note.message
    assert "on two" in note.message
    opposite = report(fed([("one", 0.05), ("two", -0.05)] * 3))
    (note,) = (note for note in opposite.result.notes if note.code == DEVICES_DIFFER)
    assert not note.trust
    assert not opposite.result.trusted


def test_a_comparison_that_gets_no_pairs_asks_for_batches_no_longer() -> None:
    comparison = pooled(max_pairs=20)
    for _ in range(50):
        if not comparison.may_ask():
            break
        number, _ = comparison.ask()
        comparison.add(batch_of(number, ()))
    assert not comparison.may_ask()


@pytest.mark.exhaustive
@pytest.mark.parametrize("slots", [(0.0, 0.0, 0.0), (0.03, -0.02, 0.0)])
def test_equal_builds_are_told_apart_as_rarely_as_promised(slots: tuple[float, float, float]) -> None:
    """300 comparisons on three devices whose second launches differ by effects of their own: at most 1 % each way.

    With 1 % there are 10 or more among 300 in less than 1 of 1,000 tests; the seeds are fixed.
    """
    changes = 0
    for seed in range(300):
        chance, comparison = random.Random(seed), pooled(seed=seed)
        while comparison.decisions[0].test.verdict() is None and comparison.may_ask():
            number, parameters = comparison.ask()
            device = chance.randrange(3)
            made = pairs(chance, parameters, 0.0, slot=slots[device])
            comparison.add(batch_of(number, made, PLACES[device].device.name))
        verdict = comparison.decisions[0].test.verdict()
        changes += verdict is not None and verdict.is_change
    assert changes < 10


def test_a_metric_that_a_device_does_not_report_is_a_failure_and_never_silence() -> None:
    chance, comparison = (
        random.Random(1),
        PooledComparison(
            benchmark_of("generic"), TARGET, Parameters(seed=1), [ComparedMetric(), ComparedMetric("RUN memory")]
        ),
    )
    number, parameters = comparison.ask()
    made = batch_of(number, pairs(chance, parameters, 0.0))
    second = comparison_of(made.reports[0]).model_copy(update={"metric": "RUN memory", "unit": "bytes"})
    result = made.reports[0].result.model_copy(update={"comparison": second})
    comparison.add(PooledBatch(number, (*made.reports, report_of(result))))
    assert comparison.pairs == BATCH
    for _ in range(3):
        number, parameters = comparison.ask()
        comparison.add(batch_of(number, pairs(chance, parameters, 0.0)))
    assert comparison.pairs == BATCH
    assert comparison.failure is not None
    assert comparison.failure.reason == "a device reported no RUN memory"


def test_devices_that_measured_other_builds_are_named() -> None:
    chance, comparison = random.Random(1), pooled()
    for digest in ("a" * 64, "b" * 64):
        number, parameters = comparison.ask()
        made = batch_of(number, pairs(chance, parameters, 0.0)).reports[0]
        build = TREATMENT.model_copy(update={"digest": digest})
        comparison.add(PooledBatch(number, (report_of(made.result.model_copy(update={"build": build})),)))
    result = report(comparison).result
    (note,) = (note for note in result.notes if note.code == "builds_differ")
    assert note.message == "hosts measured 2 different builds of the treatment"
    assert not result.trusted


def test_a_device_that_reports_in_another_unit_is_a_failure() -> None:
    chance, comparison = random.Random(1), fed([("one", 0.0)])
    for _ in range(3):
        number, parameters = comparison.ask()
        made = batch_of(number, pairs(chance, parameters, 0.0)).reports[0]
        other = comparison_of(made).model_copy(update={"unit": "us"})
        comparison.add(PooledBatch(number, (report_of(made.result.model_copy(update={"comparison": other})),)))
    assert comparison.pairs == BATCH
    assert comparison.failure is not None
    assert comparison.failure.reason == "a device reported NET latency in us, and another in ms"
