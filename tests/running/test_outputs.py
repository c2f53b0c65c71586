"""Outputs of examples: launches, chunks, failures; with a runner that copies, on this machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from frameworks.generic.framework import Generic
from harness.core.command import Command, Completed
from harness.core.device import DeviceState
from harness.core.errors import DeviceLost, OutOfSpace
from harness.core.examples import MANIFEST, OutputManifest, Stage
from harness.core.measurement import Job
from harness.core.protocols import ExampleRunning, Framework, Releasing, Session, Staged
from harness.core.result import Outcome
from harness.running.outputs import TakenOutputs, take_outputs
from harness.testing.progress import RecordedTask
from platforms.host.session import HostSession
from tests.running.copying_runner import OUTPUT, Copying, copying_job, write_examples


class Folders(NamedTuple):
    """Folders of one test."""

    examples: Path
    outputs: Path
    scratch: Path


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    (tmp_path / "scratch").mkdir()
    return Folders(tmp_path / "examples", tmp_path / "outputs", tmp_path / "scratch")


def take(job: Job, session: Session, framework: Framework, folders: Folders) -> TakenOutputs:
    task = RecordedTask("", None)
    return take_outputs(
        job,
        session,
        framework,
        folders.examples,
        folders.outputs,
        stage=Stage.HOST,
        scratch=folders.scratch,
        progress=task,
    )


def read(folder: Path) -> np.ndarray:
    return np.fromfile(folder / "output-0.bin", dtype=np.float32)


class SmallDevice:
    """Session on a device with room for a few bytes of examples.

    Args:
        inner: Session that runs the programs.
        most_bytes: Its room.
    """

    def __init__(self, inner: HostSession, most_bytes: int) -> None:
        self._inner = inner
        self.device = inner.device
        self._most_bytes = most_bytes
        self._used: dict[str, int] = {}

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        sizes = {name: path.stat().st_size for name, path in files.items() if name.startswith("examples/")}
        if sum(self._used.values()) + sum(sizes.values()) > self._most_bytes:
            raise OutOfSpace("no space left")
        staged = self._inner.stage(files, programs)
        self._used.update({staged.files[name]: size for name, size in sizes.items()})
        return staged

    def release(self, staged: Staged, names: Collection[str]) -> None:
        self._inner.release(staged, names)
        assert not Path(staged.folder).exists()
        for name in names:
            del self._used[staged.files[name]]

    def run(self, command: Command) -> Completed:
        return self._inner.run(command)

    def pull(self, remote: str, local: Path) -> None:
        self._inner.pull(remote, local)

    def state(self) -> DeviceState:
        return self._inner.state()


class LostOnce(SmallDevice):
    """Session that is lost at its second start, and comes back."""

    starts = 0

    def run(self, command: Command) -> Completed:
        self.starts += 1
        if self.starts == 2:
            raise DeviceLost("the phone was unplugged")
        return super().run(command)

    def reconnect(self) -> None:
        self._used.clear()


def test_the_stand_ins_have_the_capabilities(session: HostSession) -> None:
    assert isinstance(Copying(), ExampleRunning)
    assert isinstance(session, Releasing)
    assert isinstance(SmallDevice(session, 1), Releasing)


def test_one_launch_writes_an_output_folder(session: HostSession, folders: Folders, tmp_path: Path) -> None:
    values = write_examples(folders.examples, 5)
    framework = Copying()
    taken = take(copying_job(tmp_path), session, framework, folders)
    assert (taken.outcome, taken.launches, taken.examples, taken.notes) == (Outcome.OK, 1, 5, ())
    assert framework.counts == [5]
    np.testing.assert_array_equal(read(folders.outputs), values.ravel())
    manifest = OutputManifest.model_validate_json((folders.outputs / MANIFEST).read_text())
    assert (manifest.stage, manifest.outputs, manifest.count) == (Stage.HOST, (OUTPUT,), 5)
    assert manifest.versions == {"copying": "good", "runner": "copy"}
    assert sorted(path.name for path in folders.outputs.iterdir()) == [MANIFEST, "output-0.bin"]


def test_a_runner_of_single_examples_is_launched_for_each(
    session: HostSession, folders: Folders, tmp_path: Path
) -> None:
    values = write_examples(folders.examples, 3)
    taken = take(copying_job(tmp_path), session, Copying(most=1), folders)
    assert (taken.outcome, taken.launches) == (Outcome.OK, 3)
    np.testing.assert_array_equal(read(folders.outputs), values.ravel())
    assert [note.message for note in taken.notes] == [
        "3 examples were executed in 3 launches: its runner takes one example at a time"
    ]
    assert not list(folders.scratch.rglob("*.bin")), "copies of chunks are removed"


def test_examples_that_do_not_fit_are_executed_in_chunks(
    session: HostSession, folders: Folders, tmp_path: Path
) -> None:
    values = write_examples(folders.examples, 10)
    framework = Copying()
    taken = take(copying_job(tmp_path), SmallDevice(session, 3 * 12), framework, folders)
    assert (taken.outcome, taken.launches, taken.examples) == (Outcome.OK, 4, 10)
    assert framework.counts == [3, 3, 3, 1]
    np.testing.assert_array_equal(read(folders.outputs), values.ravel())
    assert "10 examples were executed in 4 launches: the device has no room for all" in taken.notes[0].message


def test_outputs_that_do_not_fit_lead_to_chunks_too(session: HostSession, folders: Folders, tmp_path: Path) -> None:
    values = write_examples(folders.examples, 7)
    framework = Copying()
    taken = take(copying_job(tmp_path, "at-most-4"), session, framework, folders)
    assert (taken.outcome, framework.counts) == (Outcome.OK, [7, 4, 3])
    np.testing.assert_array_equal(read(folders.outputs), values.ravel())


def test_a_device_without_room_for_one_example_is_a_failure(
    session: HostSession, folders: Folders, tmp_path: Path
) -> None:
    write_examples(folders.examples, 4)
    taken = take(copying_job(tmp_path), SmallDevice(session, 3), Copying(), folders)
    assert (taken.outcome, taken.reason) == (Outcome.FAILED, "no space left")
    assert not (folders.outputs / MANIFEST).exists()


def test_a_chunk_is_repeated_when_the_device_was_lost(session: HostSession, folders: Folders, tmp_path: Path) -> None:
    values = write_examples(folders.examples, 4)
    taken = take(copying_job(tmp_path), LostOnce(session, 2 * 12), Copying(), folders)
    assert (taken.outcome, taken.launches, taken.examples) == (Outcome.OK, 2, 4)
    np.testing.assert_array_equal(read(folders.outputs), values.ravel())
    assert [note.code for note in taken.notes] == ["returned", "examples_in_launches"]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (
            "fails",
            "the program ended with exit status 4: the program failed while it executed example 1",
        ),
        ("silent", "the runner ended well but did not write "),
        ("short", "the runner wrote 2 bytes of output_0 instead of 24: 2 examples of float32 [1, 3]"),
    ],
)
def test_a_failure_is_an_outcome_with_a_reason(
    session: HostSession, folders: Folders, tmp_path: Path, behaviour: str, reason: str
) -> None:
    write_examples(folders.examples, 2)
    folders.outputs.mkdir()
    (folders.outputs / MANIFEST).write_text("of an earlier run")
    taken = take(copying_job(tmp_path, behaviour), session, Copying(), folders)
    assert taken.outcome is Outcome.FAILED
    assert (taken.reason or "").startswith(reason)
    assert not (folders.outputs / MANIFEST).exists()


def test_a_launch_that_takes_too_long_is_ended(session: HostSession, folders: Folders, tmp_path: Path) -> None:
    write_examples(folders.examples, 2)
    taken = take(copying_job(tmp_path, "hangs", timeout_s=0.5), session, Copying(), folders)
    assert (taken.outcome, taken.hint) == (Outcome.TIMEOUT, "take fewer examples, or raise timeout_s")


def test_a_damaged_example_folder_is_named(session: HostSession, folders: Folders, tmp_path: Path) -> None:
    write_examples(folders.examples, 2)
    (folders.examples / "input-0.bin").write_bytes(bytes(23))
    taken = take(copying_job(tmp_path), session, Copying(), folders)
    assert taken.outcome is Outcome.FAILED
    assert "input-0.bin has 23 bytes; 2 examples of float32 [1, 3] have 24" in (taken.reason or "")


def test_frameworks_and_benchmarks_that_cannot_are_unsupported(
    session: HostSession, folders: Folders, tmp_path: Path
) -> None:
    write_examples(folders.examples, 2)
    taken = take(copying_job(tmp_path), session, Generic({}), folders)
    assert (taken.outcome, taken.reason) == (Outcome.UNSUPPORTED, "the framework generic cannot execute examples")
    taken = take(copying_job(tmp_path, commands=("{program} x",)), session, Copying(), folders)
    assert taken.outcome is Outcome.UNSUPPORTED
    assert "has commands of its own" in (taken.reason or "")


def test_files_of_this_machine_that_cannot_be_written_are_a_reason(
    session: HostSession, folders: Folders, tmp_path: Path
) -> None:
    write_examples(folders.examples, 2)
    folders.outputs.write_text("a file")
    taken = take(copying_job(tmp_path), session, Copying(), folders)
    assert taken.outcome is Outcome.FAILED
    assert str(folders.outputs) in (taken.reason or "")
