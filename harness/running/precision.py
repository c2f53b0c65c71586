"""Precision of a measurement after some of its launches: whether more of them are needed."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.launch_interval import interval_of
from harness.core.metric import Metric, Observation, main_metric
from harness.core.order_statistics import median


def is_precise(launches: Sequence[Sequence[Observation]], precision: float, looks: int) -> bool:
    """Return whether the median of the main metric is as precise as wanted, or more launches could not make it so.

    That is so where no time or rate was sampled: accuracy does not become more precise by repetition.

    Args:
        launches: Observations of each launch that counts.
        precision: Half of the interval's width, relative to the median.
        looks: Number of times that the precision is examined at most.
    """
    metric = find_sampled_metric(launches)
    if metric is None:
        return True
    interval = interval_of(metric, looks)
    reached = metric.model_copy(update={"interval": interval}).precision
    return reached is None or reached <= precision


def find_sampled_metric(launches: Sequence[Sequence[Observation]]) -> Metric | None:
    """Return the time or rate that a result of these launches is about; None where none was sampled, in one unit."""
    by_name: dict[str, list[tuple[int, Observation]]] = {}
    for number, observations in enumerate(launches):
        for observation in observations:
            if observation.samples:
                by_name.setdefault(observation.name, []).append((number, observation))
    main = main_metric([_combine(sampled) for sampled in by_name.values() if _have_one_unit(sampled)])
    return main if main is not None and main.is_timed else None


def _have_one_unit(sampled: Sequence[tuple[int, Observation]]) -> bool:
    return len({observation.unit for _, observation in sampled}) == 1


def _combine(sampled: Sequence[tuple[int, Observation]]) -> Metric:
    _, first = sampled[0]
    samples = tuple(sample for _, observation in sampled for sample in observation.samples)
    return Metric(
        name=first.name,
        type=first.type,
        metric=first.metric,
        unit=first.unit,
        samples=samples,
        launches=tuple(number for number, observation in sampled for _ in observation.samples),
        summary={"p50": median(samples)},
    )
