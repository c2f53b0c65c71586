"""`pytorch_v3`: records of PyTorch's benchmark database, version 3, as one object, a list or lines of JSON.

One object for each metric: `benchmark{name, mode, dtype, extra_info}`, `model{name, backend}`, `runners[]{name, type}`,
`metric{name, benchmark_values[], extra_info}`, with `timestamp`, `repo`, `head_sha` and the numbers of the job. Several
values are samples; a single one is an average of an unknown number. `FAILURE_REPORT` is a job that failed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Final

from pydantic import Field, JsonValue

from harness.core.foreign import ForeignBuild, ForeignContent, ForeignDevice, ForeignProblem, ForeignRecord
from harness.core.outcome import Outcome
from harness.foreign.executorch_metrics import LOAD_STATUS, explain_status, make_observation, sort_observations
from harness.formats.json_entries import (
    ForeignEntry,
    Number,
    Placed,
    Text,
    Whole,
    describe_places,
    parse_entry,
    read_entries,
)

FAILURE: Final = "FAILURE_REPORT"
_LONGEST_REASON: Final = 200


class _V3Benchmark(ForeignEntry):
    name: Text
    mode: Text = ""
    dtype: Text | None = ""
    extra_info: dict[str, JsonValue] = {}


class _V3Model(ForeignEntry):
    name: Text
    backend: Text | None = ""


class _V3Runner(ForeignEntry):
    name: Text = ""
    type: Text = ""
    cpu_info: Text | None = ""


class _V3Metric(ForeignEntry):
    name: Text
    benchmark_values: Annotated[tuple[Number, ...], Field(min_length=1, max_length=1_000_000)] | Number
    extra_info: dict[str, JsonValue] = {}

    @property
    def values(self) -> tuple[float, ...]:
        """Its values; failures are written with a bare number."""
        return self.benchmark_values if isinstance(self.benchmark_values, tuple) else (self.benchmark_values,)


class _V3Record(ForeignEntry):
    timestamp: Whole | None = None
    repo: Text = ""
    head_branch: Text = ""
    head_sha: Text = ""
    workflow_id: Whole | None = None
    run_attempt: Whole | None = None
    job_id: Whole | None = None
    benchmark: _V3Benchmark
    model: _V3Model
    runners: tuple[_V3Runner, ...] = ()
    metric: _V3Metric

    @property
    def key(self) -> Hashable:
        """What records of one measurement share: all but the metric. Jobs number their records."""
        benchmark, runner = self.benchmark, self.runner
        subject = (benchmark.name, benchmark.mode, benchmark.dtype, self.model.name, self.model.backend)
        return subject, runner.name, runner.type, self.head_sha, self.workflow_id, self.run_attempt, self.timestamp

    @property
    def runner(self) -> _V3Runner:
        """The first device; an unnamed one where there is none."""
        return self.runners[0] if self.runners else _V3Runner()


class PyTorchV3Format:
    """The format."""

    name = "pytorch_v3"
    marks = "JSON objects with `benchmark`, `model` and `metric{name, benchmark_values}`"

    def recognises(self, text: str, name: str) -> bool:  # noqa: ARG002 - part of the protocol
        """Return whether the names that no other format has are there."""
        return all(f'"{mark}"' in text for mark in ("benchmark_values", "benchmark", "model", "metric"))

    def read(self, text: str, name: str) -> ForeignContent:  # noqa: ARG002
        """Read the file: one record for each measurement, and for each failure."""
        entries, found = read_entries(text)
        problems = list(found)
        groups: dict[Hashable, list[tuple[Placed, _V3Record]]] = {}
        finished: list[list[tuple[Placed, _V3Record]]] = []
        for placed in entries:
            record = parse_entry(_V3Record, placed)
            if isinstance(record, ForeignProblem):
                problems.append(record)
                continue
            group = groups.get(record.key)
            is_again = group is not None and any(record.metric.name == other.metric.name for _, other in group)
            if record.metric.name == FAILURE:
                finished.append([(placed, record)])
            elif group is None or is_again:
                group = groups[record.key] = [(placed, record)]
                finished.append(group)
            else:
                group.append((placed, record))
        return ForeignContent(records=tuple(map(_build, finished)), problems=tuple(problems))


def create() -> PyTorchV3Format:
    """Create the format."""
    return PyTorchV3Format()


def _build(group: Sequence[tuple[Placed, _V3Record]]) -> ForeignRecord:
    first = group[0][1]
    figures = [record.metric for _, record in group if record.metric.name not in {LOAD_STATUS, FAILURE}]
    observations = sort_observations([make_observation(metric.name, metric.values) for metric in figures])
    reason = _find_failure([record for _, record in group], has_figures=bool(figures))
    backend, dtype = first.model.backend or "", first.benchmark.dtype or ""
    time = first.timestamp if first.timestamp and 0 < first.timestamp < 2**33 else None
    main = observations[0] if observations and not reason else None
    is_average = main is not None and main.summary is not None
    jobs = (("workflow_id", first.workflow_id), ("job_id", first.job_id), ("run_attempt", first.run_attempt))
    return ForeignRecord(
        place=describe_places([placed.place for placed, _ in group]),
        entries=len(group),
        model=first.model.name,
        identifier="-".join(filter(None, (first.model.name, backend, dtype))),
        framework=first.benchmark.name.lower(),
        backend=backend,
        axes={name: value for name, value in (("dtype", dtype), ("mode", first.benchmark.mode)) if value},
        device=ForeignDevice(
            name=first.runner.name,
            kind=first.runner.cpu_info or "",
            os=first.runner.type,
        ),
        build=ForeignBuild(source=first.repo or first.benchmark.name, commit=first.head_sha, name=first.head_branch)
        if first.head_sha
        else None,
        time=float(time) if time is not None else None,
        time_note="" if time is not None else "which has no `timestamp`",
        observations=() if reason else observations,
        published=main.summary["mean"] if is_average and main is not None and main.summary else None,
        published_as="mean",
        count=len(main.samples) or None if main is not None else None,
        outcome=Outcome.FAILED if reason else Outcome.OK,
        reason=reason or None,
        meta={name: str(number) for name, number in jobs if number},
    )


def _find_failure(records: Sequence[_V3Record], *, has_figures: bool) -> str:
    """Return why a measurement has no figures; empty where it has some."""
    for record in records:
        info = {**record.benchmark.extra_info, **record.metric.extra_info}
        if record.metric.name == FAILURE:
            words = [
                f"{name} {info[name]}" for name in ("failure_type", "failure_level", "job_conclusion") if name in info
            ]
            return f"{FAILURE}: {', '.join(words) or 'without a reason'}"[:_LONGEST_REASON]
        if record.metric.name == LOAD_STATUS and any(record.metric.values):
            return explain_status(next(filter(None, record.metric.values)))
    return "" if has_figures else "the file has no figure of it"
