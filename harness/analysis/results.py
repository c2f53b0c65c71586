"""From what launches said to the canonical result."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence, Set

from pydantic import JsonValue

import harness
from harness.analysis.quality import judge
from harness.analysis.summary import collect
from harness.core.benchmark import POWER, Benchmark
from harness.core.build import Build, BuildInfo
from harness.core.device import Device
from harness.core.files import CachedFile
from harness.core.measurement import Job, Measurement
from harness.core.metric import ENERGY, LATENCY, Metric
from harness.core.note import Note
from harness.core.result import BenchmarkInfo, FileInfo, Launch, Outcome, Result

_SILENT = "the program ended well but reported no number"
_NO_OPERATORS = "operators_unavailable"
_BAD_LINES = "bad_lines"
_LOST_METRIC = "lost_metric"
_NO_ENERGY = "energy_unavailable"
_SILENT_HINT = (
    "a program reports with lines such as "
    'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "123"}'
)


def build_result(
    job: Job,
    device: Device,
    measurement: Measurement,
    *,
    run_type: str,
    meta: Mapping[str, JsonValue],
    known: Set[str] = frozenset(),
) -> Result:
    """The result of one measured job.

    A program that ended well without a single number is a failure: nothing was measured. So is one that printed a
    metric no number of which can be read, or anything unreadable and no latency: what is missing may be what it was run
    for. A test of power is about energy: it may print nothing, and has failed without any.

    Args:
        job: What was measured.
        device: Where.
        measurement: What its launches said.
        run_type: FAI-PEP's kind of run.
        meta: Free values.
        known: Names of metrics that launches of an interrupted run reported, whose samples are not kept. Then it is no
            failure to have no number: there was nothing left to launch.
    """
    metrics, collected = collect(measurement.observations, job.benchmark.statistics, job.benchmark.direction)
    outcome, reason, hint = measurement.outcome, measurement.reason, measurement.hint
    notes: Sequence[Note] = (*measurement.notes, *collected)
    if outcome is Outcome.OK:
        elsewhere = bool(known) and not any(metric.summary for metric in metrics)
        if not elsewhere and (missing := _missing_energy(metrics, notes, job.benchmark)) is not None:
            outcome, reason, hint = Outcome.FAILED, missing.message, missing.hint
            notes = _without(notes, missing.code)
        elif not elsewhere and not _reported(metrics, job.benchmark):
            outcome, reason, hint = Outcome.FAILED, _silence(notes), _SILENT_HINT
            notes = _without(notes, _BAD_LINES, _LOST_METRIC)
        elif not elsewhere and (silent := _silent_launches(measurement, job.benchmark)):
            outcome, reason, hint = Outcome.FAILED, _silent_in(silent, measurement.launches), _SILENT_HINT
        elif (lost := _lost(metrics, notes, known)) is not None:
            outcome, reason, hint = Outcome.FAILED, lost.message, lost.hint
            notes = _without(notes, lost.code)
        else:
            notes = (*notes, *(() if elsewhere else _untimed(metrics, notes, job.benchmark)))
            notes = (*notes, *judge(metrics, measurement.launches, device.cores))
    return _result(
        job.benchmark,
        device,
        job.build,
        started=measurement.started,
        finished=measurement.finished,
        outcome=outcome,
        reason=reason,
        hint=hint,
        run_type=run_type,
        meta=meta,
        files={**job.files, **measurement.made},
        metrics=metrics,
        notes=merged(notes),
    ).model_copy(update={"launches": measurement.launches})


def without_numbers(
    benchmark: Benchmark,
    device: Device | None,
    build: Build | None,
    *,
    outcome: Outcome,
    reason: str,
    hint: str | None,
    now: float,
    run_type: str,
    meta: Mapping[str, JsonValue],
) -> Result:
    """The result of a benchmark that could not even be started."""
    return _result(
        benchmark,
        device,
        build,
        started=now,
        finished=now,
        outcome=outcome,
        reason=reason,
        hint=hint,
        run_type=run_type,
        meta=meta,
    )


def merged(notes: Sequence[Note]) -> tuple[Note, ...]:
    """One note for each code: the first, saying how often it was seen if several launches raised it."""
    by_code: dict[str, list[Note]] = {}
    for note in notes:
        by_code.setdefault(note.code, []).append(note)
    return tuple(_merge(same) for same in by_code.values())


def _merge(same: Sequence[Note]) -> Note:
    first = same[0]
    if len(same) == 1:
        return first
    trust = all(note.trust for note in same)
    return first.model_copy(update={"message": f"{first.message} (and {len(same) - 1} more like it)", "trust": trust})


def _without(notes: Sequence[Note], *codes: str) -> Sequence[Note]:
    """The notes but those that the reason has the words of: they are said once."""
    return [note for note in notes if note.code not in codes]


def _reported(metrics: Sequence[Metric], benchmark: Benchmark) -> bool:
    """Whether there is a number for which it was run: energy is the harness's own, and none of the program's."""
    about_energy = benchmark.metric == POWER
    return any(metric.summary and (about_energy or metric.metric != ENERGY) for metric in metrics)


def _silent_launches(measurement: Measurement, benchmark: Benchmark) -> list[int]:
    """Launches that ended well, count, and said nothing: what the others said is a choice of the program's launches."""
    if benchmark.metric == POWER:
        return []
    return [
        launch.index
        for launch, said in zip(measurement.launches, measurement.observations, strict=False)
        if launch.discarded is None
        and launch.outcome is Outcome.OK
        and all(observation.metric == ENERGY for observation in said)
    ]


def _silent_in(silent: Sequence[int], launches: Sequence[Launch]) -> str:
    which = ", ".join(str(index + 1) for index in silent[:4])
    more = f" and {len(silent) - 4} more" if len(silent) > 4 else ""
    return f"launch{'es' if len(silent) > 1 else ''} {which}{more} of {len(launches)} ended well and reported nothing"


def _missing_energy(metrics: Sequence[Metric], notes: Sequence[Note], benchmark: Benchmark) -> Note | None:
    """Why a test of power has none; None when it has, or is another test."""
    if benchmark.metric != POWER or any(metric.metric == ENERGY and metric.summary for metric in metrics):
        return None
    untold = Note(code=_NO_ENERGY, message="no energy was measured")
    return next((note for note in notes if note.code == _NO_ENERGY), untold)


def _lost(metrics: Sequence[Metric], notes: Sequence[Note], known: Set[str]) -> Note | None:
    """Why what a program was run for may be missing."""
    latency = LATENCY in known or any(metric.name == LATENCY and metric.summary for metric in metrics)
    codes = {_LOST_METRIC} if latency else {_LOST_METRIC, _BAD_LINES}
    found = [note for note in notes if note.code in codes]
    return min(found, key=lambda note: note.code != _LOST_METRIC, default=None)


def _untimed(metrics: Sequence[Metric], notes: Sequence[Note], benchmark: Benchmark) -> tuple[Note, ...]:
    """That operators were asked for and none was told, unless the framework said why."""
    told = any(metric.is_of_operator for metric in metrics) or any(note.code == _NO_OPERATORS for note in notes)
    if not benchmark.operators or told:
        return ()
    return (
        Note(
            code=_NO_OPERATORS,
            message="the program reported no time of an operator",
            hint="a program that is started by `commands` reports them itself: lines with the operator's name as "
            "`type`, and `latency` as `metric`",
        ),
    )


def _silence(notes: Sequence[Note]) -> str:
    bad = next((note.message for note in notes if note.code == _BAD_LINES), None)
    return f"{_SILENT}: {bad}" if bad else _SILENT


def _result(
    benchmark: Benchmark,
    device: Device | None,
    build: Build | None,
    *,
    started: float,
    finished: float,
    outcome: Outcome,
    reason: str | None,
    hint: str | None,
    run_type: str,
    meta: Mapping[str, JsonValue],
    files: Mapping[str, CachedFile] | None = None,
    metrics: Sequence[Metric] = (),
    notes: Sequence[Note] = (),
) -> Result:
    return Result(
        harness_version=harness.__version__,
        uid=str(uuid.uuid4()),
        started=started,
        finished=finished,
        outcome=outcome,
        reason=reason,
        hint=hint,
        run_type=run_type,
        benchmark=_benchmark_info(benchmark),
        build=build_info(build) if build else None,
        device=device,
        metrics=tuple(metrics),
        files={key: _file_info(file) for key, file in (files or {}).items()},
        notes=tuple(notes),
        meta={**benchmark.meta, **meta},
    )


def _benchmark_info(benchmark: Benchmark) -> BenchmarkInfo:
    return BenchmarkInfo(
        model=benchmark.model.name,
        identifier=benchmark.identifier,
        id=benchmark.id,
        metric=benchmark.metric,
        framework=benchmark.framework,
        axes=benchmark.axes,
        inputs={tensor.name: tensor.shape for tensor in benchmark.inputs},
        threads=benchmark.threads,
        warmup=benchmark.warmup,
        iterations=benchmark.iterations,
        time_limit_s=benchmark.time_limit_s,
        launches=benchmark.launches,
        operators=benchmark.operators,
        category=benchmark.model.category,
        group=benchmark.model.group,
        specification=benchmark.origin.file.name,
        digest=benchmark.digest,
    )


def build_info(build: Build) -> BuildInfo:
    """What a result keeps of a build."""
    return BuildInfo(**build.model_dump(exclude={"programs", "variables"}))


def _file_info(file: CachedFile) -> FileInfo:
    return FileInfo(
        filename=file.filename, md5=file.md5, size_bytes=file.size_bytes, source=file.source, export=file.report
    )
