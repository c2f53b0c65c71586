"""Outputs of models before lowering: computed once for each export and example folder."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.core.benchmark import Export
from harness.core.errors import ExportFailed
from harness.core.examples import MANIFEST, Stage, TensorInfo
from harness.core.protocols import Task
from harness.files.examples import read_outputs, write_outputs
from harness.models.references import ReferenceCache
from harness.testing.progress import RecordedProgress

EXPORT = Export(definition="toy", recipe="q8")
OUTPUTS = (TensorInfo(name="output_0", dtype="float32", shape=(2,)),)


class Framework:
    """Makes references that say what they are, and counts them."""

    name = "toy"

    def __init__(self, version: str = "1", error: ExportFailed | None = None) -> None:
        self.version = version
        self.error = error
        self.made: list[tuple[Stage, ...]] = []

    def fingerprint(self, export: Export, *_: object) -> Mapping[str, str]:
        return {"version": self.version}

    def export(self, *_: object, **__: object) -> None:
        raise NotImplementedError

    def reference_stages(self, export: Export) -> Sequence[Stage]:
        return (Stage.EAGER, Stage.EXPORTED)

    def make_references(
        self,
        export: Export,
        examples: Path,
        stages: Sequence[Stage],
        destination: Path,
        progress: Task,
        *,
        calibration: Path | None = None,
    ) -> None:
        self.made.append(tuple(stages))
        for stage in stages:
            with write_outputs(destination / stage, OUTPUTS, stage=stage, examples="d") as writer:
                writer.add([np.ones(2, np.float32)])
        if self.error is not None:
            raise self.error


def fetch(folder: Path, framework: Framework, digest: str = "d") -> Mapping[Stage, Path]:
    return ReferenceCache(folder).fetch(
        EXPORT,
        framework,  # type: ignore[arg-type]
        examples=folder,
        examples_digest=digest,
        progress=RecordedProgress(),
    )


def test_they_are_computed_once(tmp_path: Path) -> None:
    framework = Framework()
    first = fetch(tmp_path, framework)
    assert first == fetch(tmp_path, framework)
    assert framework.made == [(Stage.EAGER, Stage.EXPORTED)]
    assert all((folder / MANIFEST).is_file() for folder in first.values())


def test_other_examples_or_other_versions_are_other_references(tmp_path: Path) -> None:
    framework = Framework()
    folders = {fetch(tmp_path, framework)[Stage.EAGER], fetch(tmp_path, framework, "other")[Stage.EAGER]}
    folders.add(fetch(tmp_path, Framework(version="2"))[Stage.EAGER])
    assert len(folders) == 3


def test_a_stage_that_is_missing_is_computed_alone(tmp_path: Path) -> None:
    framework = Framework()
    folders = fetch(tmp_path, framework)
    shutil.rmtree(folders[Stage.EAGER])
    fetch(tmp_path, framework)
    assert framework.made[-1] == (Stage.EAGER,)


@pytest.mark.parametrize("name", [MANIFEST, "output-0.bin"])
def test_a_stage_that_is_damaged_is_computed_again(name: str, tmp_path: Path) -> None:
    framework = Framework()
    folders = fetch(tmp_path, framework)
    (folders[Stage.EXPORTED] / name).write_bytes(b"")
    assert fetch(tmp_path, framework) == folders
    assert framework.made[-1] == (Stage.EXPORTED,)
    assert read_outputs(folders[Stage.EXPORTED])[0][0].tolist() == [1, 1]


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ExportFailed, match="no memory"):
        fetch(tmp_path, Framework(error=ExportFailed("no memory")))
    framework = Framework()
    fetch(tmp_path, framework)
    assert framework.made == [(Stage.EAGER, Stage.EXPORTED)]


def test_two_threads_compute_them_once(tmp_path: Path) -> None:
    framework = Framework()
    threads = [threading.Thread(target=fetch, args=(tmp_path, framework)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(framework.made) == 1
