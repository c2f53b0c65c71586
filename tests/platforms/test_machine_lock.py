"""One machine, one lock, whatever lies around and whoever asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem, UsageError
from harness.testing.progress import RecordedProgress
from platforms import machine_lock
from platforms.host import create, placement
from platforms.host.platform import Host

ASK = "from platforms import machine_lock; print(machine_lock.lock_path('host'))"


def _take(path: Path) -> None:
    with machine_lock.hold(path, 0.0, RecordedProgress()):
        pass


@pytest.mark.slow
def test_every_environment_has_the_same_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(machine_lock.FOLDER)
    asked = []
    for folder in (tmp_path, tmp_path / "another"):
        environment = {**os.environ, "TMPDIR": str(folder)}
        asked.append(subprocess.check_output((sys.executable, "-c", ASK), env=environment, text=True).strip())
    assert asked[0] == asked[1]
    assert not asked[0].startswith(str(tmp_path))


def test_containers_of_a_machine_can_share_a_folder_of_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine_lock.FOLDER, str(tmp_path))
    assert machine_lock.lock_path("host") == tmp_path / "edge-harness-host.lock"
    monkeypatch.setenv(machine_lock.FOLDER, str(tmp_path / "missing"))
    with pytest.raises(EnvironmentProblem, match="cannot open the lock") as raised:
        _take(machine_lock.lock_path("host"))
    assert raised.value.hint == f"make the folder {tmp_path / 'missing'}, or name another one in EDGE_HARNESS_LOCKS"


def test_tests_do_not_wait_for_other_measurements_on_this_machine() -> None:
    named = machine_lock.lock_path("host")
    assert not named.is_relative_to(machine_lock.shared_folder((Path("/run/lock"), Path("/var/lock"))))


def test_the_lock_is_where_everybody_may_write(tmp_path: Path) -> None:
    private, public = tmp_path / "private", tmp_path / "public"
    private.mkdir(mode=0o700)
    public.mkdir()
    public.chmod(0o1777)
    assert machine_lock.shared_folder((tmp_path / "missing", private, public)) == public
    assert machine_lock.shared_folder((private, tmp_path / "last")) == tmp_path / "last"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("do not touch")
    precious.chmod(0o600)
    (tmp_path / "lock").symlink_to(precious)
    with pytest.raises(EnvironmentProblem, match="cannot open the lock"):
        _take(tmp_path / "lock")
    (tmp_path / "hard").hardlink_to(precious)
    with pytest.raises(EnvironmentProblem, match="no lock file"):
        _take(tmp_path / "hard")
    assert precious.read_text() == "do not touch"
    assert precious.stat().st_mode & 0o777 == 0o600


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    with pytest.raises(EnvironmentProblem, match="no lock file"):
        _take(tmp_path / "lock")


def test_only_a_new_lock_file_is_opened_to_everybody(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        _take(tmp_path / "new")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o666
    (tmp_path / "old").touch(mode=0o644)
    _take(tmp_path / "old")
    assert (tmp_path / "old").stat().st_mode & 0o777 == 0o644


def test_a_session_under_another_machine_lock_keeps_its_folder(tmp_path: Path) -> None:
    one, other = (Host(tmp_path / "work", lock_path=tmp_path / name) for name in ("one", "other"))
    device = one.devices()[0]
    with one.open(device, RecordedProgress()) as session:
        folder = Path(session.stage({}, {}).folder)
        with other.open(device, RecordedProgress()) as second:
            assert folder.is_dir()
            assert Path(second.stage({}, {}).folder).is_dir()
        assert folder.is_dir()
    assert not list((tmp_path / "work" / "sessions").iterdir())


def test_an_unwritable_folder_is_a_problem_of_the_environment(tmp_path: Path) -> None:
    host = Host(tmp_path / "work", lock_path=tmp_path / "lock")
    device = host.devices()[0]
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "sessions").write_text("in the way")
    with pytest.raises(EnvironmentProblem, match="cannot prepare this machine"), host.open(device, RecordedProgress()):
        pass


def test_missing_cpus_are_the_user_s_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--cpus: CPU 4095"):
        create(Settings(cache_dir=tmp_path, cpus=(4095,)))


def test_cpus_that_disappeared_are_a_problem_of_the_environment(tmp_path: Path) -> None:
    host = Host(tmp_path / "work", cpus=(4095,), lock_path=tmp_path / "lock")
    with pytest.raises(EnvironmentProblem, match="CPU 4095"), host.open(host.devices()[0], RecordedProgress()):
        pass


def test_a_machine_that_cannot_pin_refuses_chosen_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "can_pin", lambda: False)
    with pytest.raises(UsageError, match="cannot be pinned"):
        create(Settings(cache_dir=tmp_path, cpus=(0,)))
    create(Settings(cache_dir=tmp_path, cpus=()))
