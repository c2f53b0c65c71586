"""A framework under test, and benchmarks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.core.benchmark import Benchmark, Export, Model, ModelFile, SpecificationPlace
from harness.core.device import Device
from harness.core.protocols import Framework
from harness.testing.results import DEVICE

HERE: Final = SpecificationPlace(file=Path("contract.json"), pointer="/tests/0", line=1)


@dataclass(frozen=True, slots=True)
class FrameworkCase:
    """Framework under test.

    Attributes:
        create: Makes the plug-in; called often.
        benchmark: A benchmark that it can start, see `benchmark_of`. Its files need not exist unless `runs`.
        output: What its runner prints in a successful launch of that benchmark.
        observed: Number of samples in that output, by metric: `{"NET latency": 5}`.
        refused: Benchmarks that it cannot start.
        composes: Whether it composes commands at all; if not, it must refuse `benchmark` too.
        builds: Whether it can build or find a runner here.
        runs: Whether that runner can be started here, with the files of `benchmark` at their locations.
        interleavable: Whether that runner can be interleaved; matters only where the framework is `Interleavable`.
        device: Device that runners are built for.
        export: An export that it could make; needed where the framework is an `Exporter`. It is not made.
    """

    create: Callable[[], Framework]
    benchmark: Benchmark
    output: str
    observed: Mapping[str, int]
    refused: Sequence[Benchmark] = ()
    composes: bool = True
    builds: bool = True
    runs: bool = False
    interleavable: bool = True
    device: Device = field(default=DEVICE)
    export: Export | None = None


Check = Callable[[FrameworkCase], None]


def benchmark_of(framework: str, files: Mapping[str, str] | None = None, **changes: object) -> Benchmark:
    """Return a plain benchmark.

    Args:
        framework: Name of the framework.
        files: Location of each file by key, for example `{"files.model": "/d/net.pte"}`.
        changes: Other fields of `Benchmark`.
    """
    entries = tuple(
        ModelFile(key=key, filename=Path(location).name, location=location, origin=HERE)
        for key, location in (files or {}).items()
    )
    plain = Benchmark(
        id=0,
        model=Model(name="contract", format="any"),
        identifier="contract",
        metric="delay",
        framework=framework,
        files=entries,
        origin=HERE,
        digest="0" * 64,
    )
    return plain.model_copy(update=changes)
