"""Records of other tools' files as results of ours: nothing is added that the file does not say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final

from msgspec import Struct

from harness import __version__
from harness.analysis.summary import collect
from harness.analysis.throttling import note_throttling
from harness.core.build import BuildInfo
from harness.core.device import ELSEWHERE, Device
from harness.core.foreign import ForeignDevice, ForeignRecord
from harness.core.metric import Metric, main_metric
from harness.core.note import Note
from harness.core.order_statistics import median
from harness.core.origin import Origin
from harness.core.percent import in_percent
from harness.core.result import BenchmarkInfo, Result
from harness.flows.foreign.sources import ForeignFile
from harness.foreign.drift import find_drift
from harness.presentation.numbers import format_quantity

TEST: Final = "delay"
_UID_DIGITS: Final = 32
_LISTED: Final = 10
"""Samples that a note lists."""
_DISAGREEMENT: Final = 0.01
"""Relative difference between what a file publishes and the median of its samples from which on a note says so."""


class GivenNames(Struct, frozen=True):
    """Names that the user gives, where a file has none or others; empty keeps those of the file.

    Attributes:
        model: Model name.
        device: Name of the device.
        backend: Name of the backend.
    """

    model: str = ""
    device: str = ""
    backend: str = ""

    def apply(self, record: ForeignRecord) -> ForeignRecord:
        """Return a record with these names."""
        return record.model_copy(
            update={
                "model": self.model or record.model or "unnamed",
                "backend": self.backend or record.backend,
                "device": ForeignDevice(name=self.device) if self.device else record.device,
            }
        )


def build_result(record: ForeignRecord, number: int, file: ForeignFile, form: str, names: GivenNames) -> Result:
    """Return the result of one record.

    Its uid is made of the digest of the file, the place in it, and the names that are given: to read a file again gives
    the same results.

    Args:
        record: The record.
        number: Its 0-based number in the file.
        file: The file.
        form: Name of its format.
        names: Names that replace those of the file.
    """
    record = names.apply(record)
    metrics, collected = collect([record.observations], direction=record.directions)
    main = main_metric(metrics)
    origin = Origin(
        format=form,
        file=file.name,
        digest=file.digest,
        place=record.place,
        published=record.published,
        count=record.count,
    )
    started = record.time if record.time is not None else file.modified
    key = json.dumps([file.digest, form, number, record.place, names.model, names.device, names.backend])
    return Result(
        harness_version=__version__,
        uid=sha256(key.encode()).hexdigest()[:_UID_DIGITS],
        run=sha256(file.digest.encode()).hexdigest()[:_UID_DIGITS],
        started=started,
        finished=started,
        outcome=record.outcome,
        reason=record.reason,
        benchmark=_describe_benchmark(record, origin),
        build=_describe_build(record),
        device=_describe_device(record, file),
        metrics=metrics,
        notes=(*_list_notes(record, origin, metrics, main), *collected, *record.notes),
        meta=dict(record.meta),
        origin=origin,
    )


def _describe_benchmark(record: ForeignRecord, origin: Origin) -> BenchmarkInfo:
    axes = {**({"backend": record.backend} if record.backend else {}), **record.axes}
    definition = [origin.format, record.framework, record.model, record.identifier, axes, record.threads]
    return BenchmarkInfo(
        model=record.model,
        identifier=record.identifier,
        id=0,
        metric=TEST,
        framework=record.framework,
        axes=axes,
        threads=record.threads,
        specification=origin.file,
        digest=sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest(),
    )


def _describe_build(record: ForeignRecord) -> BuildInfo | None:
    if record.build is None:
        return None
    source, commit = record.build.source, record.build.commit
    digest = sha256(json.dumps(["elsewhere", source, commit]).encode()).hexdigest()
    return BuildInfo(source=source, commit=commit, commit_name=record.build.name, digest=digest)


def _describe_device(record: ForeignRecord, file: ForeignFile) -> Device:
    """Return the device by its name: a name is a kind of device rather than one, and never one of ours."""
    device = record.device
    return Device(
        platform=ELSEWHERE,
        identity=f"{ELSEWHERE}:{device.name or file.digest[:16]}",
        name=device.name or "unnamed device",
        kind=device.kind,
        os=device.os,
        attributes=device.attributes,
    )


def _list_notes(
    record: ForeignRecord, origin: Origin, metrics: Sequence[Metric], main: Metric | None
) -> Iterator[Note]:
    yield Note(code="measured_elsewhere", message=origin.words)
    if record.time is None:
        yield Note(
            code="time_of_file", message=f"its time is that of the file, {record.time_note or 'which names none'}"
        )
    elif record.time_note:
        yield Note(code="time_of_file", message=f"its time: {record.time_note}")
    if main is not None and main.samples:
        yield from tuple(note_throttling(main)) or _note_drift(record, metrics, main)
        yield from _note_published(record, main)


def _note_drift(record: ForeignRecord, metrics: Sequence[Metric], main: Metric) -> Iterator[Note]:
    drift = find_drift(main, metrics, record.warmup)
    if drift is None:
        return
    early, late = (format_quantity(value, main.unit) for value in (drift.early, drift.late))
    word = "slower" if drift.slower else "faster"
    yield Note(
        code="drifting_elsewhere",
        message=f"its own samples become {word}: {_list_samples(main)}; first half {early}, second half {late} "
        f"({in_percent(drift.change, signed=True)}); {in_percent(drift.probability, 1)} of all orders of these "
        "samples are as extreme",
        hint="the device throttled while that was measured: measure it with a cool-down, or ask for a longer run"
        if drift.slower
        else "the measurement began before the device was warm: ask for more warm-up",
        trust=False,
    )


def _note_published(record: ForeignRecord, main: Metric) -> Iterator[Note]:
    """Note where the figure that a file publishes is not the median of its samples."""
    published, own = record.published, median(main.samples)
    if published is None or abs(published - own) <= max(_DISAGREEMENT * abs(own), record.rounding):
        return
    rest = ""
    if 0 < record.warmup < len(main.samples):
        first = "the first" if record.warmup == 1 else f"the first {record.warmup}"
        rest = f" ({format_quantity(median(main.samples[record.warmup :]), main.unit)} without {first})"
    yield Note(
        code="published_differs",
        message=f"the file publishes {format_quantity(published, main.unit)} ({record.published_as}); the median of "
        f"its {len(main.samples)} samples is {format_quantity(own, main.unit)}{rest}",
    )


def _list_samples(metric: Metric) -> str:
    listed = ", ".join(f"{sample:.4g}" for sample in metric.samples[:_LISTED])
    more = f" and {len(metric.samples) - _LISTED} more" if len(metric.samples) > _LISTED else ""
    return f"{listed}{more} {metric.unit}".rstrip()
