"""Example results with all that reporters and foreign formats show; each has a uid of its own unless given one."""

from __future__ import annotations

import statistics
import uuid
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from harness import __version__
from harness.core.build import BuildInfo
from harness.core.device import Device, DeviceState
from harness.core.metric import Direction, Metric
from harness.core.note import Note
from harness.core.result import BenchmarkInfo, FileInfo, Launch, Outcome, RawLog, Report, Result

STARTED: Final = 1_760_000_000.0
"""2025-10-09 08:53:20 UTC."""

LATENCIES_MS: Final = (0.8125, 0.81, 0.83, 0.8099999999999999, 0.82, 1.25, 0.815, 0.8, 0.83, 0.8125)
"""Below one, where FAI-PEP's remote reporter sent 0; one value has no short decimal form."""

DEVICE: Final = Device(
    platform="host",
    identity="machine-4f2a",
    name="Example CPU @ 2.10GHz",
    kind="Example CPU",
    os="Linux 6.1",
    abi="x86_64",
    cores=4,
    memory_bytes=8 << 30,
    attributes={"governor": "performance"},
)

BUILD: Final = BuildInfo(
    source="installed",
    commit="1.5.1",
    commit_time=1_759_400_000,
    recipe="native",
    flags={"compiler": "g++ 12.2"},
    digest="b" * 64,
)


def ok_result(
    *,
    uid: str | None = None,
    model: str = "mv2",
    identifier: str = "mv2-xnnpack_fp32-t1",
    samples: Sequence[float] = LATENCIES_MS,
    launches: int = 2,
    device: Device | None = DEVICE,
    build: BuildInfo | None = BUILD,
    started: float = STARTED,
    notes: Sequence[Note] = (),
    meta: dict[str, JsonValue] | None = None,
) -> Result:
    """Return a successful result with latency, load time, an accuracy and a text.

    Args:
        uid: Its uid; None for a new one.
        model: Model name.
        identifier: Benchmark's identifier.
        samples: Latencies in milliseconds, at least one; distributed over the launches.
        launches: Number of launches; at least one.
        device: Device that ran it.
        build: Build that was measured.
        started: Unix seconds.
        notes: Notes for the reader.
        meta: Free values.
    """
    return Result(
        harness_version=__version__,
        uid=uid or uuid.uuid4().hex,
        started=started,
        finished=started + launches,
        outcome=Outcome.OK,
        benchmark=_benchmark(model, identifier, launches),
        build=build,
        device=device,
        launches=tuple(_launch(index, started) for index in range(launches)),
        metrics=(
            timing("NET", "latency", "ms", samples, launches),
            timing("NET", "load_time", "ms", [4.5] * launches, launches),
            Metric(
                name="NET top1",
                type="NET",
                metric="top1",
                unit="",
                direction=Direction.HIGHER,
                samples=(0.71875,),
                launches=(0,),
                summary={"n": 1.0, "mean": 0.71875, "p50": 0.71875},
            ),
            Metric(name="NET delegate", type="NET", metric="delegate", unit="", direction=None, info="XnnpackBackend"),
        ),
        files={"files.model": FileInfo(filename="model.pte", md5="0" * 32, size_bytes=1 << 20, source="export")},
        notes=tuple(notes),
        meta=meta or {},
    )


def failed_result(
    outcome: Outcome = Outcome.CRASHED,
    *,
    uid: str | None = None,
    model: str = "mv2",
    identifier: str = "mv2-xnnpack_fp32-t1",
    reason: str = "was ended by SIGSEGV without output",
    hint: str | None = "run it again with --debug to see what the program writes",
    device: Device | None = DEVICE,
    build: BuildInfo | None = BUILD,
    started: float = STARTED,
) -> Result:
    """Return a result without metrics; with a device and a build, it has one failed launch."""
    launch = _launch(0, started).model_copy(update={"outcome": outcome, "reason": reason})
    return Result(
        harness_version=__version__,
        uid=uid or uuid.uuid4().hex,
        started=started,
        finished=started + 1,
        outcome=outcome,
        reason=reason,
        hint=hint,
        benchmark=_benchmark(model, identifier, launches=1),
        build=build,
        device=device,
        launches=(launch,) if device is not None and build is not None else (),
    )


def noisy_result(*, uid: str | None = None) -> Result:
    """Return a successful result from a busy machine, which is not trusted."""
    note = Note(
        code="noisy",
        message="the launches disagree by 40 %",
        hint="close other programs and measure again",
        trust=False,
    )
    return ok_result(
        uid=uid, samples=[value * (1.4 if i % 2 else 1.0) for i, value in enumerate(LATENCIES_MS)], notes=[note]
    )


def report_of(result: Result, **logs: str) -> Report:
    """Return the report of a result, with logs by name."""
    return Report(result=result, logs=tuple(RawLog(name=name, text=text) for name, text in logs.items()))


def timing(type_: str, metric: str, unit: str, samples: Sequence[float], launches: int = 1) -> Metric:
    """Return a lower-is-better metric of samples, with those of FAI-PEP's statistics that reporters show."""
    median = statistics.median(samples)
    return Metric(
        name=f"{type_} {metric}",
        type=type_,
        metric=metric,
        unit=unit,
        samples=tuple(samples),
        launches=tuple(i * launches // len(samples) for i in range(len(samples))),
        summary={
            "n": float(len(samples)),
            "mean": statistics.fmean(samples),
            "p0": min(samples),
            "p50": median,
            "p90": statistics.quantiles(samples, n=10, method="inclusive")[-1] if len(samples) > 1 else median,
            "p100": max(samples),
            "MAD": statistics.median(abs(sample - median) for sample in samples),
            "stdev": statistics.pstdev(samples),
            "cv": statistics.pstdev(samples) / statistics.fmean(samples),
        },
    )


def _benchmark(model: str, identifier: str, launches: int) -> BenchmarkInfo:
    return BenchmarkInfo(
        model=model,
        identifier=identifier,
        id=0,
        metric="delay",
        framework="executorch",
        axes={"recipe": "xnnpack_fp32", "threads": 1},
        inputs={"data": (1, 3, 224, 224)},
        threads=1,
        warmup=2,
        iterations=5,
        launches=launches,
        specification="specifications/models/mv2.json",
        digest="a" * 64,
    )


def _launch(index: int, started: float) -> Launch:
    before = DeviceState(time=started + index, load=0.25, frequency_mhz=(2100.0,) * 4, temperature_c=41.5)
    return Launch(
        index=index,
        outcome=Outcome.OK,
        commands=(("taskset", "-c", "1", "runner", "--model", "model.pte"),),
        cpus=(1,),
        started=started + index,
        wall_s=0.9,
        cpu_s=0.85,
        peak_memory_bytes=40 << 20,
        before=before,
        after=before.model_copy(update={"time": started + index + 0.9, "temperature_c": 43.0}),
    )
