"""`minibench`: what ExecuTorch's benchmark apps for Android leave in `benchmark_results.json`.

A list with one entry for each metric: `benchmarkModel{name, backend, quantization}`, `metric`, `actualValue`,
`targetValue` and `deviceInfo{device, arch, os, totalMem, availMem}` (`BenchmarkMetric.java` of pytorch/executorch,
extension/benchmark/android). `actualValue` of `avg_inference_latency(ms)` is a mean of an unknown number of iterations;
`load_status` is 0 where the program was loaded. Device farms wrap it into `Customer_Artifacts.zip`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from harness.core.foreign import ForeignContent, ForeignDevice, ForeignProblem, ForeignRecord
from harness.core.metric import Observation
from harness.core.outcome import Outcome
from harness.foreign.executorch_metrics import (
    LOAD_STATUS,
    explain_status,
    make_observation,
    sort_observations,
)
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


class _BenchModel(ForeignEntry):
    name: Text
    backend: Text = ""
    quantization: Text = ""


class _BenchDevice(ForeignEntry):
    device: Text = ""
    arch: Text = ""
    os: Text = ""
    totalMem: Whole = 0  # noqa: N815 - the name of the format
    availMem: Whole = 0  # noqa: N815


class _BenchEntry(ForeignEntry):
    benchmarkModel: _BenchModel  # noqa: N815
    deviceInfo: _BenchDevice = _BenchDevice()  # noqa: N815
    metric: Text
    actualValue: Number  # noqa: N815
    method: Text = ""

    @property
    def key(self) -> Hashable:
        """What entries of one measurement share."""
        return self.benchmarkModel, self.deviceInfo.device, self.deviceInfo.arch, self.deviceInfo.os


class MinibenchFormat:
    """The format."""

    name = "minibench"
    marks = "JSON list of objects with `benchmarkModel`, `metric` and `actualValue`"

    def recognises(self, text: str, name: str) -> bool:  # noqa: ARG002 - part of the protocol
        """Return whether the two names that no other format has are there."""
        return '"benchmarkModel"' in text and '"actualValue"' in text

    def read(self, text: str, name: str) -> ForeignContent:  # noqa: ARG002
        """Read the file: one record for each model and device; a metric that comes again begins another one."""
        entries, found = read_entries(text)
        problems = list(found)
        groups: dict[Hashable, list[tuple[Placed, _BenchEntry]]] = {}
        finished: list[list[tuple[Placed, _BenchEntry]]] = []
        for placed in entries:
            entry = parse_entry(_BenchEntry, placed)
            if isinstance(entry, ForeignProblem):
                problems.append(entry)
                continue
            group = groups.get(entry.key)
            if group is None or any(entry.metric == other.metric for _, other in group):
                group = groups[entry.key] = []
                finished.append(group)
            group.append((placed, entry))
        return ForeignContent(records=tuple(map(_build, finished)), problems=tuple(problems))


def create() -> MinibenchFormat:
    """Create the format."""
    return MinibenchFormat()


def _build(group: Sequence[tuple[Placed, _BenchEntry]]) -> ForeignRecord:
    first = group[0][1]
    model, device = first.benchmarkModel, first.deviceInfo
    observations = sort_observations(
        [make_observation(entry.metric, (entry.actualValue,)) for _, entry in group if entry.metric != LOAD_STATUS]
    )
    reason = _find_failure(group, observations)
    backend = "_".join(filter(None, (model.backend, model.quantization)))
    memory = {"total_memory": device.totalMem, "available_memory": device.availMem}
    main = observations[0] if observations else None
    return ForeignRecord(
        place=describe_places([placed.place for placed, _ in group]),
        entries=len(group),
        model=model.name,
        identifier=f"{model.name}-{backend}" if backend else model.name,
        framework="executorch",
        backend=backend,
        device=ForeignDevice(
            name=" ".join(dict.fromkeys(filter(None, (device.device, device.arch)))),
            kind=device.arch,
            os=device.os,
            attributes={name: str(value) for name, value in memory.items() if value},
        ),
        observations=() if reason else observations,
        published=main.summary["mean"] if main is not None and main.summary and not reason else None,
        published_as="mean",
        outcome=Outcome.FAILED if reason else Outcome.OK,
        reason=reason or None,
    )


def _find_failure(group: Sequence[tuple[Placed, _BenchEntry]], observations: Sequence[Observation]) -> str:
    """Return why a measurement has no figures; empty where it has some.

    An app that could not load the program, or made no iteration, writes 0 as the average of nothing.
    """
    written = ", ".join(f"{entry.metric} {entry.actualValue:g}" for _, entry in group if entry.metric != LOAD_STATUS)
    status = next((entry.actualValue for _, entry in group if entry.metric == LOAD_STATUS), 0.0)
    beside = f" (the file also says {written})" if written else ""
    if status:
        return explain_status(status) + beside
    if not observations:
        return "the file has no figure of it"
    main = observations[0]
    if (main.summary or {}).get("mean", 0.0) <= 0 and main.type in {"NET", "LLM"}:
        return f"nothing was measured: the average of no iteration is 0{beside}"
    return ""
