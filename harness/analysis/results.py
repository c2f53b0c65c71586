"""Canonical results built from measurements."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from pydantic import JsonValue

import harness
from harness.analysis.deadlines import assess_deadline
from harness.analysis.energy import assess_energy
from harness.analysis.quality import assess_quality, find_impossible
from harness.analysis.summary import collect
from harness.core.benchmark import ERROR, Benchmark
from harness.core.build import Build, BuildInfo
from harness.core.cached_files import CachedFile
from harness.core.device import Device
from harness.core.launch_interval import interval_of
from harness.core.measurement import Job, Measurement
from harness.core.metric import (
    ENERGY,
    ENERGY_METRICS,
    LATENCY,
    NO_NUMBER_HINT,
    OUTPUTS,
    Metric,
    Observation,
    main_metric,
)
from harness.core.note import NO_OPERATORS, Note
from harness.core.result import BenchmarkInfo, FileInfo, Launch, Outcome, Result
from harness.core.scenario import SUSTAINED

if TYPE_CHECKING:
    from harness.core.evaluation import Evaluation
    from harness.core.long_run import LongRun

_NO_NUMBER = "the program ended well but reported no number"
_BAD_LINES = "bad_lines"
_LOST_METRIC = "lost_metric"
_DISTURBED = "disturbed"
_NO_ENERGY = "energy_unavailable"


def build_result(
    job: Job,
    device: Device,
    measurement: Measurement,
    *,
    run_type: str,
    meta: Mapping[str, JsonValue],
    known: Set[str] = frozenset(),
) -> Result:
    """Build the result of one measured job.

    A program that ended well without a single number is a failure: nothing was measured. So is one that printed a
    metric without a readable number, or anything unreadable and no latency: the missing number may be what it was run
    for. A latency whose median is zero or less was not measured either. Steps after a program may report in its
    place, those before it may not. A test of power is about energy: it may print nothing, and has failed without any
    energy.

    Args:
        job: The job that was measured.
        device: The device it was measured on.
        measurement: The record of its launches.
        run_type: FAI-PEP's kind of run.
        meta: Free values.
        known: Names of metrics that launches of an interrupted run reported, whose samples are not kept. Then it is no
            failure to have no number: there was nothing left to launch.
    """
    tail = ("p99",) if job.benchmark.arrival is not None else ()
    metrics, collected = collect(measurement.reported, (*job.benchmark.statistics, *tail), job.benchmark.direction)
    metrics = _with_intervals(metrics, _count_looks(job.benchmark, measurement.launches))
    long_run, steady, long_run_notes = _examine_long_run(metrics, measurement.launches, device.cores)
    late, deadline_notes = assess_deadline(metrics, job.benchmark.arrival)
    metrics = (*metrics, *steady, *late, *measurement.computed)
    fidelity = _fidelity_metrics(measurement.evaluation)
    outcome, reason, hint = measurement.outcome, measurement.reason, measurement.hint
    notes: Sequence[Note] = (*measurement.notes, *collected)
    if outcome is Outcome.OK:
        is_resumed = bool(known) and not any(metric.summary for metric in metrics)
        if not is_resumed and (missing := _missing_energy(metrics, notes, job.benchmark)) is not None:
            outcome, reason, hint = Outcome.FAILED, missing.message, missing.hint
            notes = _without(notes, missing.code)
        elif not is_resumed and not _has_reported(measurement, job.benchmark):
            outcome, reason, hint = Outcome.FAILED, _explain_silence(notes), NO_NUMBER_HINT
            notes = _without(notes, _BAD_LINES, _LOST_METRIC)
        elif not is_resumed and (silent := _silent_launches(measurement, job.benchmark)):
            outcome, reason, hint = (
                Outcome.FAILED,
                _explain_silent_launches(silent, measurement.launches),
                NO_NUMBER_HINT,
            )
        elif not is_resumed and _is_about_time(job.benchmark) and (wrong := find_impossible(metrics)) is not None:
            outcome, reason, hint = Outcome.FAILED, wrong.message, wrong.hint
        elif (lost := _find_loss_note(metrics, notes, known)) is not None:
            outcome, reason, hint = Outcome.FAILED, lost.message, lost.hint
            notes = _without(notes, lost.code)
        else:
            notes = (*notes, *(() if is_resumed else _missing_operators(metrics, notes, job.benchmark)))
            notes = (*notes, *_timed_operators(metrics, job.benchmark))
            notes = _outvote_disturbances(notes, measurement.launches, metrics)
            notes = (*notes, *assess_energy(metrics), *deadline_notes)
            notes = (*notes, *long_run_notes)
            notes = (*notes, *assess_quality(metrics, measurement.launches, device.cores, job.benchmark.threads))
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
        metrics=(*metrics, *fidelity),
        notes=merge_notes(notes),
    ).model_copy(
        update={
            "launches": measurement.launches,
            "long_run": long_run,
            "evaluation": measurement.evaluation,
            "same_work": measurement.same_work,
            "probes": measurement.probes,
        }
    )


def _is_about_time(benchmark: Benchmark) -> bool:
    return not benchmark.is_about_energy and benchmark.metric != ERROR


def _examine_long_run(
    metrics: Sequence[Metric], launches: Sequence[Launch], cores: int
) -> tuple[LongRun | None, Sequence[Metric], Sequence[Note]]:
    """Return what became of the figure in the long run, and the metrics and notes of that, where there was one."""
    if not any(metric.type == SUSTAINED for metric in metrics):
        return None, (), ()
    from harness.analysis import long_run  # noqa: PLC0415 - few results have one

    found = long_run.analyse_long_run(metrics, launches, cores)
    if found is None:
        return None, (), ()
    used = {launch for metric in metrics if metric.name == found.metric for launch in metric.launches}
    notes = long_run.note_long_run(found, [launch for launch in launches if launch.index in used])
    return found, tuple(long_run.derive_metrics(found)), tuple(notes)


def _fidelity_metrics(evaluation: Evaluation | None) -> Iterator[Metric]:
    """Yield the statistics of the lowered program against the eager model as metrics, for tables and series.

    They have no samples: each is an estimate over all examples, whose interval is in the evaluation.
    """
    measured = evaluation.measured if evaluation is not None else None
    for statistic in measured.statistics if measured is not None and not measured.is_faulty else ():
        if statistic.value is not None:
            yield Metric(
                name=f"{OUTPUTS} {statistic.name}",
                type=OUTPUTS,
                metric=statistic.name,
                unit=statistic.unit,
                direction=statistic.direction,
                summary={"n": float(statistic.examples), "mean": statistic.value, "p50": statistic.value},
            )


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
    """Build the result of a benchmark that could not even be started."""
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


def merge_notes(notes: Sequence[Note]) -> tuple[Note, ...]:
    """Merge the notes of each code into the worst, with a count if several launches raised it."""
    by_code: dict[str, list[Note]] = {}
    for note in notes:
        by_code.setdefault(note.code, []).append(note)
    return tuple(_merge(same) for same in by_code.values())


def _merge(same: Sequence[Note]) -> Note:
    if len(same) == 1:
        return same[0]
    worst = max(same, key=lambda note: note.error or 0.0)
    return worst.model_copy(
        update={
            "message": f"{worst.message} (and {len(same) - 1} more like it)",
            "trust": all(note.trust for note in same),
        }
    )


def _without(notes: Sequence[Note], *codes: str) -> Sequence[Note]:
    """Return the notes without those whose message became the reason."""
    return [note for note in notes if note.code not in codes]


def _with_intervals(metrics: Sequence[Metric], looks: int) -> tuple[Metric, ...]:
    return tuple(metric.model_copy(update={"interval": interval_of(metric, looks)}) for metric in metrics)


def _count_looks(benchmark: Benchmark, launches: Sequence[Launch]) -> int:
    """Return of how many intervals that over these launches is one: the only one, if time ended them before a look."""
    counting = sum(launch.discarded is None for launch in launches)
    return len(benchmark.looks) if counting >= benchmark.looks[0] else 1


def _outvote_disturbances(
    notes: Sequence[Note], launches: Sequence[Launch], metrics: Sequence[Metric]
) -> Sequence[Note]:
    """Return the notes, with trust where less than half of the launches were disturbed: the interval covers those."""
    main = main_metric(metrics)
    disturbed = sum(note.code == _DISTURBED for note in notes)
    counting = sum(launch.discarded is None for launch in launches)
    if main is None or main.interval is None or 2 * disturbed >= counting:
        return notes
    return [note.model_copy(update={"trust": True}) if note.code == _DISTURBED else note for note in notes]


def _has_reported(measurement: Measurement, benchmark: Benchmark) -> bool:
    """Return whether there is a number that it was run for: energy is measured by the harness, not by the program."""
    observations = (*itertools.chain(*measurement.observations), *measurement.model_postprocessed)
    return any(metric.metric == ERROR for metric in measurement.computed) or any(
        _is_number(observation) and (benchmark.is_about_energy or observation.metric not in ENERGY_METRICS)
        for observation in observations
    )


def _is_number(observation: Observation) -> bool:
    return bool(observation.samples or observation.summary)


def _silent_launches(measurement: Measurement, benchmark: Benchmark) -> list[int]:
    """Return launches that ended well and reported nothing: the others would be a selection of all launches.

    Where no launch reports, the model's last step does so for all of them.
    """
    counted = {
        launch.index: any(observation.metric not in ENERGY_METRICS for observation in observations)
        for launch, observations in zip(measurement.launches, measurement.observations, strict=False)
        if launch.discarded is None and launch.outcome is Outcome.OK
    }
    if benchmark.is_about_energy or not any(counted.values()):
        return []
    return [index for index, has_reported in counted.items() if not has_reported]


def _explain_silent_launches(silent: Sequence[int], launches: Sequence[Launch]) -> str:
    which = ", ".join(str(index + 1) for index in silent[:4])
    more = f" and {len(silent) - 4} more" if len(silent) > 4 else ""
    return f"launch{'es' if len(silent) > 1 else ''} {which}{more} of {len(launches)} ended well and reported nothing"


def _missing_energy(metrics: Sequence[Metric], notes: Sequence[Note], benchmark: Benchmark) -> Note | None:
    """Explain why a test of power has no energy; None when it has some, or is another test."""
    if not benchmark.is_about_energy or any(metric.metric == ENERGY and metric.summary for metric in metrics):
        return None
    default = Note(code=_NO_ENERGY, message="no energy was measured")
    return next((note for note in notes if note.code == _NO_ENERGY), default)


def _find_loss_note(metrics: Sequence[Metric], notes: Sequence[Note], known: Set[str]) -> Note | None:
    """Return the note that the number a program was run for may be missing."""
    latency = LATENCY in known or any(metric.name == LATENCY and metric.summary for metric in metrics)
    codes = {_LOST_METRIC} if latency else {_LOST_METRIC, _BAD_LINES}
    candidates = [note for note in notes if note.code in codes]
    return min(candidates, key=lambda note: note.code != _LOST_METRIC, default=None)


def _missing_operators(metrics: Sequence[Metric], notes: Sequence[Note], benchmark: Benchmark) -> tuple[Note, ...]:
    """Note that operators were asked for and none was reported, unless the framework noted why."""
    explained = any(metric.is_of_operator for metric in metrics) or any(note.code == NO_OPERATORS for note in notes)
    if not benchmark.operators or explained:
        return ()
    return (
        Note(
            code=NO_OPERATORS,
            message="the program reported no operator times",
            hint="a program that is started by `commands` reports them itself: lines with the operator's name as "
            "`type`, and `latency` as `metric`",
        ),
    )


def _timed_operators(metrics: Sequence[Metric], benchmark: Benchmark) -> tuple[Note, ...]:
    """Note that the latency holds the time of the clocks that were read for each operator."""
    if not benchmark.operators or not any(metric.is_of_operator for metric in metrics):
        return ()
    message = "each operator was timed, and the time for that is part of the latency"
    return (Note(code="operators_timed", message=message, hint="`harness profile` measures both ways"),)


def _explain_silence(notes: Sequence[Note]) -> str:
    bad = next((note.message for note in notes if note.code == _BAD_LINES), None)
    return f"{_NO_NUMBER}: {bad}" if bad else _NO_NUMBER


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
        kinds=benchmark.kinds,
        framework=benchmark.framework,
        axes=benchmark.axes,
        inputs={tensor.name: tensor.shape for tensor in benchmark.inputs},
        threads=benchmark.threads,
        warmup=benchmark.warmup,
        iterations=benchmark.iterations,
        time_limit_s=benchmark.time_limit_s,
        launches=benchmark.launches,
        max_launches=benchmark.max_launches,
        precision=benchmark.precision,
        operators=benchmark.has_operators,
        backend_options=benchmark.backend_options,
        arrival=benchmark.arrival,
        generation=benchmark.generation,
        category=benchmark.model.category,
        group=benchmark.model.group,
        specification=benchmark.origin.file.name,
        digest=benchmark.digest,
    )


def build_info(build: Build) -> BuildInfo:
    """Return what a result stores about a build."""
    return BuildInfo(**build.model_dump(exclude={"programs", "variables"}))


def _file_info(file: CachedFile) -> FileInfo:
    return FileInfo(
        filename=file.filename, md5=file.md5, size_bytes=file.size_bytes, source=file.source, export=file.report
    )
