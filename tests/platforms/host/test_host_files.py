"""Programs that change their inputs: the cache stays as it was, and no result is reported for other files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, EnvironmentProblem, OutOfSpace
from harness.core.protocols import Staged
from harness.testing.progress import RecordedProgress
from platforms.host import file_copies
from platforms.host.platform import Host
from platforms.host.session import HostSession


@pytest.fixture
def session(tmp_path: Path) -> Iterator[HostSession]:
    host = Host(tmp_path / "work", lock_path=tmp_path / "lock")
    with host.open(host.devices()[0], RecordedProgress()) as held:
        yield held


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.pte"
    path.write_bytes(b"original" * 1000)
    os.utime(path, (1e9, 1e9))
    return path


def _sh(script: str, staged: Staged) -> Command:
    return Command(("/bin/sh", "-c", script, staged.files["model.pte"]))


CHANGES = ['echo x >> "$0"', 'printf ORIGINAL | dd of="$0" conv=notrunc 2>&1', 'rm "$0"; echo other > "$0"']


@pytest.mark.parametrize("change", CHANGES)
def test_a_program_that_changes_its_input_fails_and_the_cache_stays(
    session: HostSession, model: Path, change: str
) -> None:
    before = model.read_bytes()
    with pytest.raises(BenchmarkFailed, match=r"model.pte was changed while a program used it \(it ended well\)"):
        session.run(_sh(change, session.stage({"model.pte": model}, {})))
    assert model.read_bytes() == before
    later = session.run(_sh('cat "$0"', session.stage({"model.pte": model}, {})))
    assert later.stdout.encode() == before


def test_an_interactive_process_that_changes_its_input_fails(session: HostSession, model: Path) -> None:
    staged = session.stage({"model.pte": model}, {})
    with (
        pytest.raises(BenchmarkFailed, match=r"\(it ended with exit status 3"),
        session.start(_sh('echo x >> "$0"; exit 3', staged)) as live,
    ):
        live.finish()


def test_a_large_file_of_the_cache_that_was_changed_is_not_measured_again(
    session: HostSession, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_copies, "LARGE_BYTES", 10)
    staged = session.stage({"model.pte": model}, {})
    assert Path(staged.files["model.pte"]).samefile(model)
    with pytest.raises(BenchmarkFailed, match="was changed"):
        session.run(_sh('echo x >> "$0"', staged))
    with pytest.raises(BenchmarkFailed, match="was changed"):
        session.stage({"model.pte": model}, {})
    model.write_bytes(b"brought anew")
    assert session.run(_sh('cat "$0"', session.stage({"model.pte": model}, {}))).stdout == "brought anew"


def test_a_file_that_a_step_has_rewritten_is_staged_again(session: HostSession, model: Path) -> None:
    session.stage({"model.pte": model}, {})
    model.write_bytes(b"made anew")
    assert session.run(_sh('cat "$0"', session.stage({"model.pte": model}, {}))).stdout == "made anew"


def test_a_file_is_copied_once_and_keeps_its_bits(session: HostSession, model: Path) -> None:
    model.chmod(0o755)
    first, second = (session.stage({"model.pte": model}, {}).files["model.pte"] for _ in range(2))
    assert first != second
    assert Path(first).samefile(second)
    assert not Path(first).samefile(model)
    assert os.access(first, os.X_OK)


def test_a_file_is_copied_where_blocks_cannot_be_shared(
    session: HostSession, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_arguments: int) -> int:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "copy_file_range", cannot, raising=False)
    staged = session.stage({"model.pte": model}, {})
    assert Path(staged.files["model.pte"]).read_bytes() == model.read_bytes()


def test_outputs_outside_stay_there_and_old_ones_are_not_pulled(session: HostSession, tmp_path: Path) -> None:
    users, got = tmp_path / "users.log", tmp_path / "got"
    users.write_text("mine\n")
    time.sleep(0.1)  # longer than a tick
    writes = Command(("/bin/sh", "-c", 'echo new >>"$0"', str(users)))
    for program in (Command(("true",)), writes, Command(("true",)), writes):
        session.run(program)
        if program is writes:
            session.pull(str(users), got)
            assert got.read_text() == users.read_text() != "mine\n"
        else:
            with pytest.raises(FileNotFoundError, match="since the launch"):
                session.pull(str(users), tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(FileNotFoundError):
        session.pull(f"{session.stage({}, {}).folder}/../../../users.log", tmp_path / "none")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ('mkfifo "$0"', "is no regular file"),
        ('ln -s /dev/zero "$0"', "is no regular file"),
        ('mkdir "$0"', "is no regular file"),
        ('ln -s "$0" "$0"', "cannot be fetched: Too many levels of symbolic links"),
    ],
)
def test_an_output_that_is_no_file_fails_and_is_not_read(
    session: HostSession, tmp_path: Path, script: str, reason: str
) -> None:
    remote = f"{session.stage({}, {}).folder}/out"
    session.run(Command(("/bin/sh", "-c", script, remote)))
    with pytest.raises(BenchmarkFailed, match=reason):
        session.pull(remote, tmp_path / "got")
    assert not (tmp_path / "got").exists()


def test_a_full_disk_is_told_from_a_bad_output(
    session: HostSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_paths: Path) -> None:
        raise OSError(28, "No space left on device")

    remote = f"{session.stage({}, {}).folder}/out"
    session.run(Command(("/bin/sh", "-c", 'echo 1 >"$0"', remote)))
    monkeypatch.setattr("platforms.host.session.shutil.copyfile", refuse)
    with pytest.raises(OutOfSpace, match="no space left for"):
        session.pull(remote, tmp_path / "got")
    assert not (tmp_path / "got").exists()


def test_a_missing_file_is_a_problem_of_the_environment(session: HostSession, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="cannot stage"):
        session.stage({"model.pte": tmp_path / "missing"}, {})
