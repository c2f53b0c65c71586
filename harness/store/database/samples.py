"""Samples of results, which are stored beside their bodies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from pydantic.main import IncEx

from harness.core.metric import ControlSide, Metric
from harness.core.result import Result
from harness.store.database.packing import (
    PackedNumbers,
    pack_launches,
    pack_numbers,
    unpack_launches,
    unpack_numbers,
)

TREATMENT: Final = "t"
"""Side of a result's own samples."""

CONTROL: Final = "c"
"""Side of the control's samples."""

_FIELDS: Final = {TREATMENT: ("samples", "launches"), CONTROL: ("control_values", "control_launches")}


class PackedSamples(Struct, frozen=True):
    """Samples of one side of a metric: a row of `SAMPLES`.

    Attributes:
        metric: Place of the metric.
        side: Whose they are.
        count: How many.
        encoding: See `harness.store.database.packing`.
        numbers: The samples.
        launches: The launch of each.
    """

    metric: int
    side: str
    count: int
    encoding: int
    numbers: bytes
    launches: bytes

    def shifted(self, offset: int) -> PackedSamples:
        """Return the samples with the metric's place in a longer list."""
        return replace(self, metric=self.metric + offset)

    def describe(self, metric_id: int) -> dict[str, object]:
        """Return the columns of the row."""
        return {
            "metric_id": metric_id,
            "side": self.side,
            "count": self.count,
            "encoding": self.encoding,
            "numbers": self.numbers,
            "launches": self.launches,
        }


def pack_samples(result: Result) -> tuple[PackedSamples, ...]:
    """Return the samples of a result; `metric` is the position of the metric in it."""
    packed: list[PackedSamples] = []
    for position, metric in enumerate(result.metrics):
        packed.extend(_pack(position, TREATMENT, metric.samples, metric.launches))
        if metric.control is not None:
            packed.extend(_pack(position, CONTROL, metric.control.control_values, metric.control.control_launches))
    return tuple(packed)


def samples_to_exclude(packed: Iterable[PackedSamples]) -> IncEx:
    """Return what the body leaves out since it is packed."""
    metrics: dict[int, dict[str, IncEx | bool]] = {}
    for part in packed:
        fields: dict[str, IncEx | bool] = dict.fromkeys(_FIELDS[part.side], True)
        left_out = metrics.setdefault(part.metric, {})
        left_out.update({"control": fields} if part.side == CONTROL else fields)
    return {"metrics": dict(metrics)}


def attach_samples(result: Result, packed: Sequence[PackedSamples]) -> Result:
    """Return a result with the samples that its body left out.

    Raises:
        ValueError: They are damaged.
    """
    metrics = list(result.metrics)
    for part in packed:
        if not part.metric < len(metrics):
            raise ValueError("there are samples of a metric that is not there")
        metrics[part.metric] = _attach(metrics[part.metric], part)
    return result.model_copy(update={"metrics": tuple(metrics)}) if packed else result


def _pack(position: int, side: str, samples: Sequence[float], launches: Sequence[int]) -> tuple[PackedSamples, ...]:
    """Return one row; none where there is nothing, or what was made without validation and has another form."""
    if not (samples or launches) or {*map(type, samples)} - {float} or {*map(type, launches)} - {int}:
        return ()
    numbers = pack_numbers(samples)
    return (PackedSamples(position, side, numbers.count, numbers.encoding, numbers.content, pack_launches(launches)),)


def _attach(metric: Metric, part: PackedSamples) -> Metric:
    numbers = unpack_numbers(PackedNumbers(part.count, part.encoding, part.numbers))
    launches = unpack_launches(part.launches)
    values, indices = _FIELDS[part.side]
    if part.side == TREATMENT:
        return metric.model_copy(update={values: numbers, indices: launches})
    control = metric.control or ControlSide()
    return metric.model_copy(update={"control": control.model_copy(update={values: numbers, indices: launches})})
