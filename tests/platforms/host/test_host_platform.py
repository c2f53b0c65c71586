from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.config.settings import Settings
from harness.core.command import Command
from harness.core.errors import BenchmarkUnsupported, EnvironmentProblem, UsageError
from harness.testing.progress import RecordedProgress
from platforms.host import create, identity, placement
from platforms.host import session as host_session
from platforms.host import state as host_state
from platforms.host.placement import Cpu, Placement
from platforms.host.platform import Host
from platforms.host.state import HostStateReader
from tests.processes import is_running, wait_until, written

HOLDER = """
import sys, time
from pathlib import Path
from harness.core.command import Command
from harness.testing.progress import RecordedProgress
from platforms.host.platform import Host
host = Host(Path(sys.argv[1]) / "work", lock_path=Path(sys.argv[1]) / "lock")
with host.open(host.devices()[0], RecordedProgress()) as session:
    session.run(Command(("/bin/sh", "-c", "echo $$ > " + sys.argv[1] + "/pid; sleep 60")))
"""


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path / "work", lock_path=tmp_path / "lock")


def affinity_of(completed_stdout: str) -> set[int]:
    return {int(word) for word in completed_stdout.split()}


AFFINITY = (sys.executable, "-c", "import os; print(*os.sched_getaffinity(0))")


def test_the_identity_is_stable_and_never_empty(tmp_path: Path) -> None:
    first = identity.identity(tmp_path / "one")
    assert first == identity.identity(tmp_path / "two")
    assert len(first) == 16
    assert int(first, 16) >= 0


def test_a_machine_without_an_identity_generates_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "_system_id", lambda: None)
    first = identity.identity(tmp_path / "identity")
    assert identity.identity(tmp_path / "identity") == first
    assert identity.identity(tmp_path / "another") != first


@pytest.mark.slow
def test_concurrent_processes_generate_the_same_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "_system_id", lambda: None)
    for number in range(50):
        place = tmp_path / str(number) / "identity"
        start = threading.Barrier(4)

        def ask(place: Path = place, start: threading.Barrier = start) -> str:
            start.wait()
            return identity.identity(place)

        with ThreadPoolExecutor(4) as pool:
            assert len({asked.result() for asked in [pool.submit(ask) for _ in range(4)]}) == 1
        assert {file.name for file in place.parent.iterdir()} == {"identity", "identity.lock"}


def test_an_empty_identity_file_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "_system_id", lambda: None)
    for place in (tmp_path / "one", tmp_path / "two"):
        place.touch()
    assert identity.identity(tmp_path / "one") == identity.identity(tmp_path / "one")
    assert identity.identity(tmp_path / "one") != identity.identity(tmp_path / "two")


def test_a_machine_on_another_processor_is_another_device_that_answers_to_its_old_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = []
    for family, flags in ((26, "avx2 avx512f avx512_vnni"), (23, "avx2")):
        cpuinfo = tmp_path / "cpuinfo"
        cpuinfo.write_text(
            f"vendor_id\t: AuthenticAMD\ncpu family\t: {family}\nmodel\t\t: 49\n"
            f"model name\t: AMD EPYC\nflags\t\t: {flags}\n"
        )
        monkeypatch.setattr(identity, "CPUINFO", cpuinfo)
        devices.append(identity.describe_host(None, tmp_path / "identity"))
    new, old = devices
    assert new.identity != old.identity
    assert (new.kind, new.microarchitecture, old.microarchitecture) != ("", "Zen 5", "Zen 5")
    assert identity.identity(tmp_path / "identity") in new.names & old.names, "what earlier results call it selects it"


def test_the_raw_machine_id_is_not_revealed(tmp_path: Path) -> None:
    raw = Path("/etc/machine-id")
    if not raw.exists():
        pytest.skip("this system has no machine id")
    assert raw.read_text().strip() not in identity.describe_host(None, tmp_path / "identity").model_dump_json()


def test_the_reported_name_can_be_chosen(tmp_path: Path) -> None:
    assert Host(tmp_path, name="lab-7").devices()[0].name == "lab-7"


def test_a_program_with_known_threads_is_pinned_to_as_many_cpus_that_exist(host: Host) -> None:
    with host.open(host.devices()[0], RecordedProgress()) as session:
        completed = session.run(Command(AFFINITY, threads=1))
    assert completed.cpus is not None
    assert len(completed.cpus) == 1
    assert affinity_of(completed.stdout) == set(completed.cpus) <= set(identity.allowed_cpus())


def test_every_launch_of_a_session_runs_on_the_same_cpu(host: Host) -> None:
    with host.open(host.devices()[0], RecordedProgress()) as session:
        placed = {session.run(Command(AFFINITY, threads=1)).cpus for _ in range(5)}
    assert len(placed) == 1


def test_the_choice_of_the_cpu_is_recorded(host: Host) -> None:
    with host.open(host.devices()[0], RecordedProgress()) as session:
        assert "least busy" in session.device.attributes["placement"]


def test_a_program_of_unknown_threads_is_not_pinned(host: Host) -> None:
    with host.open(host.devices()[0], RecordedProgress()) as session:
        completed = session.run(Command(AFFINITY))
    assert completed.cpus is None
    assert affinity_of(completed.stdout) == set(identity.allowed_cpus())


def test_a_program_of_unknown_threads_runs_on_the_cpus_that_were_asked_for(tmp_path: Path) -> None:
    wanted = identity.allowed_cpus()[-1:]
    host = Host(tmp_path / "work", cpus=wanted, lock_path=tmp_path / "lock")
    with host.open(host.devices()[0], RecordedProgress()) as session:
        completed = session.run(Command(AFFINITY))
    assert completed.cpus == wanted
    assert affinity_of(completed.stdout) == set(wanted)


def test_pinning_can_be_forbidden(tmp_path: Path) -> None:
    host = Host(tmp_path / "work", cpus=(), lock_path=tmp_path / "lock")
    with host.open(host.devices()[0], RecordedProgress()) as session:
        assert session.run(Command(AFFINITY, threads=1)).cpus is None


def test_a_cpu_that_does_not_exist_is_refused_with_the_ones_that_do(host: Host) -> None:
    with (
        host.open(host.devices()[0], RecordedProgress()) as session,
        pytest.raises(BenchmarkUnsupported, match="CPU 4095 does not exist") as caught,
    ):
        session.run(Command(AFFINITY, cpus=(4095,)))
    assert caught.value.hint is not None
    assert str(identity.allowed_cpus()[0]) in caught.value.hint


def test_fast_cores_come_first_and_siblings_last() -> None:
    cpus = (Cpu(3, 3, 3000, 0.0), Cpu(1, 1, 3000, 0.0), Cpu(5, 3, 3000, 0.0), Cpu(2, 2, 1000, 0.0))
    assert Placement(cpus).choose(2) == (1, 3)
    assert Placement(cpus).choose(9) == (1, 2, 3, 5)


@pytest.mark.slow
def test_an_idle_cpu_is_preferred_to_a_busy_one() -> None:
    cpus = identity.allowed_cpus()
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    busy = cpus[-1]
    burner = subprocess.Popen(("taskset", "-c", str(busy), sys.executable, "-c", "while True: pass"))
    looks: list[Placement] = []

    def shares() -> dict[int, float]:
        return {cpu.number: cpu.busy for cpu in looks[-1].cpus}

    def is_seen() -> bool:
        looks.append(placement.rank_cpus())
        return shares()[busy] > 0.5

    try:
        wait_until(is_seen)
    finally:
        burner.kill()
        burner.wait()
    if min(shares().values()) < 0.4:
        assert looks[-1].choose(1) != (busy,)


@pytest.mark.slow
def test_two_measurements_do_not_run_at_once(tmp_path: Path, host: Host) -> None:
    holder = subprocess.Popen((sys.executable, "-c", HOLDER, str(tmp_path)), stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: written(tmp_path / "pid"))
        impatient = Host(tmp_path / "work", lock_path=tmp_path / "lock", lock_timeout_s=0.3)
        progress = RecordedProgress()
        with (
            pytest.raises(EnvironmentProblem, match=f"process {holder.pid}"),
            impatient.open(impatient.devices()[0], progress),
        ):
            pass
        assert any("waiting" in task for task in progress.tasks)
    finally:
        holder.kill()
        holder.wait()


@pytest.mark.slow
def test_a_killed_harness_leaves_no_program_no_lock_and_no_files(tmp_path: Path, host: Host) -> None:
    holder = subprocess.Popen((sys.executable, "-c", HOLDER, str(tmp_path)), stdout=subprocess.DEVNULL)
    pid_file = tmp_path / "pid"
    wait_until(lambda: written(pid_file))
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    program = int(pid_file.read_text())
    wait_until(lambda: not is_running(program))
    with host.open(host.devices()[0], RecordedProgress()):
        assert len(list((tmp_path / "work" / "sessions").iterdir())) == 1


def test_the_diagnosis_reports_what_steadies_measurements(host: Host) -> None:
    findings = {finding.name: finding for finding in host.diagnose()}
    assert {"taskset", "setpriv", "governor", "load", "CPUs"} <= set(findings)
    assert all(finding.ok is not False for finding in findings.values())


@pytest.mark.slow
def test_what_virtual_machines_of_this_machine_use_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Times(NamedTuple):
        user: float
        nice: float
        idle: float
        guest: float
        guest_nice: float

    readings = iter([Times(100.0, 10.0, 100.0, 100.0, 10.0), Times(140.0, 20.0, 150.0, 140.0, 20.0)])
    monkeypatch.setattr("psutil.cpu_times", lambda: next(readings))

    assert HostStateReader().read().busy == pytest.approx(0.5)


def test_busy_covers_the_time_since_the_last_reading() -> None:
    reader = HostStateReader()
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        pass
    busy = reader.read().busy
    assert busy is not None
    assert busy > 0.3 / (os.cpu_count() or 1)


def test_busy_comes_with_the_number_of_cpus() -> None:
    assert HostStateReader().read().cpus == os.cpu_count()


def test_frequencies_are_those_of_their_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for cpu, khz in ((0, "2100000"), (2, "3300000"), (10, "1200000")):
        folder = tmp_path / f"cpu{cpu}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(khz)
    monkeypatch.setattr(host_state, "_CPU", tmp_path)
    frequencies = HostStateReader().read().frequency_mhz
    assert frequencies == (2100.0, 0.0, 3300.0, *[0.0] * 7, 1200.0)


def test_a_program_is_pinned_by_its_number_where_there_is_no_taskset(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "_taskset", lambda: None)
    script = ("/bin/sh", "-c", 'sleep 0.5; exec "$@"', "sh", *AFFINITY)  # pinned just after its start
    with host.open(host.devices()[0], RecordedProgress()) as session:
        completed = session.run(Command(script, threads=1))
    assert completed.cpus is not None
    assert affinity_of(completed.stdout) == set(completed.cpus)


def test_missing_pinning_is_told_and_not_recorded(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "_taskset", lambda: None)
    monkeypatch.setattr(placement, "can_pin", lambda: False)
    monkeypatch.setattr(host_session, "can_pin", lambda: False)
    with host.open(host.devices()[0], RecordedProgress()) as session:
        completed = session.run(Command(AFFINITY, threads=1))
        assert "placement" not in session.device.attributes
        with pytest.raises(BenchmarkUnsupported, match="cannot be pinned"):
            session.run(Command(AFFINITY, cpus=identity.allowed_cpus()))
    assert completed.cpus is None
    assert [note.code for note in completed.notes] == ["not_pinned"]
    assert affinity_of(completed.stdout) == set(identity.allowed_cpus())


def test_a_machine_has_only_the_cpus_to_choose_from(tmp_path: Path) -> None:
    cpus = identity.allowed_cpus()[:1]
    assert Host(tmp_path, cpus=cpus).devices()[0].cores == 1
    assert Host(tmp_path, cpus=()).devices()[0].cores == len(identity.allowed_cpus())


def test_a_cpu_that_a_project_names_is_refused_with_its_file() -> None:
    settings = Settings(cpus=(100_000,), places={"cpus": "harness.toml:2"})
    with pytest.raises(UsageError, match=r"^harness\.toml:2: --cpus: CPU 100000 does not exist here"):
        create(settings)


def test_a_kind_of_cpus_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = identity.allowed_cpus()
    monkeypatch.setattr("platforms.host.placement.kinds_of_cpus", lambda: ((first,), tuple(others)))
    (device,) = create(Settings(cache_dir=tmp_path, cpus="big")).devices()
    assert device.cores == 1


def test_remarks_about_the_options_are_shown_when_the_machine_is_opened(tmp_path: Path) -> None:
    progress = RecordedProgress()
    remarked = Host(tmp_path, lock_path=tmp_path / "lock", remarks=("CPUs of one kind only",))
    with remarked.open(remarked.devices()[0], progress):
        assert progress.lines == ["CPUs of one kind only"]


def test_the_kinds_of_this_machine_are_complete() -> None:
    assert sorted(cpu for kind in placement.kinds_of_cpus() for cpu in kind) == sorted(identity.allowed_cpus())
