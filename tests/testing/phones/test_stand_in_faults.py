from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
from adbutils import AdbDevice, AdbError, AdbTimeout

from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from tests.processes import wait_until
from tests.testing.phones.conftest import Shell, shell_of

pytestmark = [
    pytest.mark.slow,
    # adbutils does not close its socket when something fails, and faults are what is tested here
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def boot_of(sh: Shell) -> str:
    """Which boot of the phone this is; nothing while it is away."""
    try:
        return sh("cat /proc/sys/kernel/random/boot_id").out
    except (EOFError, AdbError):
        return ""


def test_an_unplugged_phone_disappears_and_returns(lab: PhoneLab, phone: StandInPhone, sh: Shell) -> None:
    phone.unplug()
    wait_until(lambda: lab.states().get(phone.serial) != "device")
    with pytest.raises(AdbError):
        sh("echo")
    phone.plug()
    phone.wait_until_ready()
    assert sh("echo back").out == "back\n"


def test_unplugging_the_phone_aborts_a_command(phone: StandInPhone, device: AdbDevice) -> None:
    stream = device.shell("echo begun; sleep 30", stream=True)
    with stream:
        assert stream.conn.recv(6) == b"begun\n"
        phone.unplug()
        assert stream.conn.recv(1) == b""


def test_a_frozen_phone_answers_after_thawing(lab: PhoneLab, phone: StandInPhone, device: AdbDevice) -> None:
    phone.freeze()
    with pytest.raises(AdbTimeout):
        device.shell2("echo", v2=True, timeout=0.5)
    assert lab.states()[phone.serial] == "device"
    phone.thaw()
    assert device.shell2("echo on", v2=True, timeout=60).stdout == "on\n"


def test_a_connection_breaks_after_so_many_bytes(
    lab: PhoneLab, phone: StandInPhone, device: AdbDevice, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(1 << 20))
    phone.cut_connection_after(1 << 19)
    with pytest.raises((AdbError, OSError, EOFError)):
        device.sync.push(file, "/data/local/tmp/cut")
    phone.wait_until_ready()
    assert shell_of(lab, phone)("wc -c < /data/local/tmp/cut || echo 0").out.strip() != str(1 << 20)


def test_a_slow_cable_limits_the_transfer_rate(phone: StandInPhone, device: AdbDevice, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(1 << 18))
    phone.limit_rate(1 << 19)
    started = time.monotonic()
    device.sync.push(file, "/data/local/tmp/slow")
    assert time.monotonic() - started > 0.4


def test_each_round_trip_is_delayed_and_counted(phone: StandInPhone, sh: Shell) -> None:
    sh("true")
    phone.round_trips = 0
    phone.set_latency(0.2)
    started = time.monotonic()
    sh("true")
    assert time.monotonic() - started > 0.2
    assert phone.round_trips == 1


def test_a_phone_is_unauthorized_until_this_machine_is_allowed(lab: PhoneLab, phone: StandInPhone, sh: Shell) -> None:
    phone.unauthorise()
    wait_until(lambda: lab.states().get(phone.serial) == "unauthorized")
    phone.authorise()
    phone.wait_until_ready()
    assert sh("echo in").out == "in\n"


def test_a_full_phone_rejects_files(phone: StandInPhone, device: AdbDevice, sh: Shell, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(1 << 20))
    phone.fill(1 << 16)
    with pytest.raises(AdbError):
        device.sync.push(file, "/data/local/tmp/large")
    assert "No space left" in sh("head -c 200000 /dev/zero > /data/local/tmp/x").err
    sh("rm -f /data/local/tmp/x /data/local/tmp/large")


@pytest.mark.parametrize("way", ["reboot", "setprop sys.powerctl reboot", "svc power reboot"])
def test_a_reboot_keeps_data_and_settings_and_nothing_else(phone: StandInPhone, sh: Shell, way: str) -> None:
    sh("echo kept > /data/local/tmp/kept; settings put global kept 1; setprop debug.lost 1")
    sh("cmd power set-fixed-performance-mode-enabled true; setsid sleep 1000 > /dev/null 2>&1 &")
    before = boot_of(sh)
    with pytest.raises((EOFError, AdbError)):
        sh(way)
    wait_until(lambda: boot_of(sh) not in {"", before})
    phone.wait_until_ready()
    assert sh("cat /data/local/tmp/kept; settings get global kept; getprop debug.lost").out == "kept\n1\n\n"
    assert sh("cat /services/fixed_performance").code == 1
    assert sh("pidof sleep").code == 1
    assert float(sh("cat /proc/uptime").out.split()[0]) < 60


def test_adb_can_reboot_a_phone(phone: StandInPhone, device: AdbDevice, sh: Shell) -> None:
    before = boot_of(sh)
    with contextlib.suppress(AdbError):  # the phone may be gone before it has answered
        device.reboot()
    wait_until(lambda: boot_of(sh) not in {"", before})
    phone.wait_until_ready()


def test_a_reboot_from_outside_takes_its_time(phone: StandInPhone, sh: Shell) -> None:
    before = boot_of(sh)
    phone.reboot(3.0)
    assert not phone.is_ready()
    phone.wait_until_ready()
    assert boot_of(sh) != before
