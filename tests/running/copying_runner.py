"""A framework whose runner is a shell script that copies its only input to its only output, on any device."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from harness.core.benchmark import Benchmark, Model, ModelFile, SpecificationPlace
from harness.core.build import Build
from harness.core.cached_files import CachedFile
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.examples import MANIFEST, DataRequest, ExampleManifest, TensorInfo
from harness.core.measurement import Job
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Progress, StagedExamples

_SCRIPT = """#!{sh}
behaviour=$1 count=$2 output=$3 input=$4
case $behaviour in
  at-most-*)
    [ "$count" -le "${{behaviour#at-most-}}" ] || {{ echo "cannot write: No space left on device" >&2; exit 4; }};;
  fails) echo "the program failed while it executed example 1" >&2; exit 4;;
  hangs) sleep 600;;
  silent) exit 0;;
  short) echo x > "$output-0.bin"; exit 0;;
esac
cat "$input" > "$output-0.bin"
"""

EXAMPLE = TensorInfo(name="input_0", dtype="float32", shape=(1, 3))
OUTPUT = TensorInfo(name="output_0", dtype="float32", shape=(1, 3))


class Copying:
    """A framework that executes examples.

    Args:
        most: Examples that its runner takes in one launch.
    """

    name = "copying"

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self.counts: list[int] = []

    def build(self, device: Device, progress: Progress) -> Build:
        raise NotImplementedError

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        raise NotImplementedError

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        return (), ()

    def examples_per_launch(self, build: Build) -> int | None:
        return self._most

    def examples_command(
        self, benchmark: Benchmark, build: Build, files: Mapping[str, str], examples: StagedExamples
    ) -> Command:
        self.counts.append(examples.count)
        (file,) = examples.inputs
        return Command((files["program"], build.commit, str(examples.count), examples.outputs, file))

    def parse_outputs(self, completed: Completed, job: Job) -> Sequence[TensorInfo]:
        return [OUTPUT]


def copying_job(folder: Path, behaviour: str = "good", sh: str = "/bin/sh", **fields: object) -> Job:
    """Return a job whose runner behaves so."""
    program, model = folder / "runner", folder / "model"
    program.write_text(_SCRIPT.format(sh=sh))
    program.chmod(0o755)
    model.write_text("model")
    file = ModelFile(
        key="files.model", filename="model", location=str(model), origin=SpecificationPlace(file=Path("spec.json"))
    )
    given = {
        "id": 0,
        "model": Model(name="model", format="none"),
        "identifier": "test",
        "metric": "delay",
        "framework": "copying",
        "origin": SpecificationPlace(file=Path("spec.json")),
        "digest": "0",
        "files": (file,),
        "timeout_s": 60.0,
    }
    cached = CachedFile(key=file.key, filename="model", path=model, md5="0", size_bytes=5, source=str(model))
    build = Build(source="none", commit=behaviour, recipe="copy", programs={"program": program})
    return Job(Benchmark.model_validate({**given, **fields}), build, {file.key: cached})


def write_examples(folder: Path, count: int) -> np.ndarray:
    """Write an example folder, and return its examples."""
    folder.mkdir()
    values = np.random.default_rng(0).normal(size=(count, *EXAMPLE.shape)).astype(np.float32)
    values.tofile(folder / "input-0.bin")
    manifest = ExampleManifest(
        request=DataRequest(provider="random", count=count),
        description="random numbers",
        inputs=(EXAMPLE,),
        count=count,
        digest=hashlib.sha256(values.tobytes()).hexdigest(),
    )
    (folder / MANIFEST).write_text(manifest.model_dump_json())
    return values
