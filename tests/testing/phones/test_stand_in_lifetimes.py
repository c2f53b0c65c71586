from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from harness.testing.phones import start_phones
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from tests.processes import wait_until
from tests.testing.phones.conftest import shell_of

pytestmark = pytest.mark.slow

_OWNER = """
import subprocess, sys, time
from harness.testing.phones import start_phones
from harness.testing.phones.android.adb_server import find_adb
with start_phones(1) as lab:
    if "restart" in sys.argv:
        lab.kill_server()
        for attempt in range(50):  # the port may be taken for a moment by the one that was killed
            if subprocess.run([find_adb(), "start-server"], env=lab.environment).returncode == 0:
                break
            time.sleep(0.2)
        else:
            sys.exit("no adb server starts")
    print("up", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("words", [(), ("restart",)], ids=["as it is", "with an adb server that a client started"])
def test_all_processes_end_with_their_owner_even_when_it_is_killed(
    possible: None, tmp_path: Path, words: tuple[str, ...]
) -> None:
    mark = f"HOLDER={tmp_path}"
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER, *words],
        stdout=subprocess.PIPE,
        env={**os.environ, "HOLDER": str(tmp_path), "TMPDIR": str(tmp_path)},
    )
    with owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"up\n"
        assert len(_marked(mark)) > 3
        owner.send_signal(signal.SIGKILL)
    wait_until(lambda: not _marked(mark))
    wait_until(lambda: not list(tmp_path.iterdir()))


def _marked(mark: str) -> list[int]:
    """Processes that inherited a variable of the owner's, or were started for its folder."""
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            words = {f"{name}={value}" for name, value in process.environ().items()} | set(process.cmdline())
            if any(mark.partition("=")[2] in word for word in words) and process.status() != psutil.STATUS_ZOMBIE:
                processes.append(process.pid)
    return processes


def test_phones_and_server_listen_outside_the_ephemeral_port_range(lab: PhoneLab) -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    listening = [lab.port, *(int(phone.serial.rpartition(":")[2]) for phone in lab.phones)]
    assert all(port < max(lowest, 32_768) for port in listening)


def test_labs_do_not_disturb_each_other(lab: PhoneLab, phone: StandInPhone) -> None:
    with start_phones(1, rooted=True) as second_lab:
        assert phone.serial not in second_lab.states()
        assert second_lab.phones[0].serial not in lab.states()
        serials = {shell_of(each, each.phones[0])("getprop ro.serialno").out for each in (lab, second_lab)}
        assert len(serials) == 2
    assert shell_of(lab, phone)("echo still").out == "still\n"


def test_the_adb_server_can_be_killed(possible: None) -> None:
    with start_phones(1) as lab:
        lab.kill_server()
        wait_until(lambda: not _answers(lab))


def _answers(lab: PhoneLab) -> bool:
    try:
        lab.states()
    except OSError:
        return False
    return True


def test_twenty_phones_work_at_once(possible: None) -> None:
    with start_phones(20) as lab, ThreadPoolExecutor(20) as pool:
        serials = set(pool.map(lambda phone: shell_of(lab, phone)("getprop ro.serialno").out, lab.phones))
    assert len(serials) == 20


def test_a_person_can_have_phones_from_the_command_line(possible: None) -> None:
    argv = [sys.executable, "-m", "harness.testing.phones", "--phones", "1"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        serial, export = process.stdout.readline().strip(), process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert serial.startswith("127.0.0.1:")
    assert export.startswith("export HARNESS_ADB_SERVER=127.0.0.1:")
