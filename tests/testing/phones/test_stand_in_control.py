"""What can be done to stand-in phones from a command line."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentProblem, UsageError
from harness.testing.phones import control
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from tests.docs.pages import DOCS
from tests.processes import wait_until
from tests.testing.phones.conftest import Shell

MAIN = (sys.executable, "-m", "harness.testing.phones")


def test_every_action_is_on_the_page() -> None:
    text = (DOCS / "android.md").read_text(encoding="utf-8").partition("<!-- actions -->")[2].partition("\n\n")[0]
    assert {name for row in text.splitlines()[3:] for name in re.findall(r"`([a-z]+)`", row)} == set(control.ACTIONS)


def test_phones_that_do_not_run_are_reported(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="no stand-in phones answer"):
        control.request(tmp_path / "control", "list", control.EVERY, {})


@pytest.mark.slow
def test_what_happens_to_a_phone_can_be_undone(lab: PhoneLab, phone: StandInPhone, sh: Shell) -> None:
    with control.serve(lab) as path:

        def do(action: str, **values: str) -> str:
            (state,) = control.request(path, action, "0", values)
            return state

        assert do("list") == f"0 {phone.serial} device"
        do("heat", status="4", skin="51.5")
        assert "Thermal Status: 4" in sh("dumpsys thermalservice").out
        do("cool")
        assert "Thermal Status: 0" in sh("dumpsys thermalservice").out
        do("blind")
        assert "TemperatureThreshold" not in sh("dumpsys thermalservice").out
        do("see")
        assert "TemperatureThreshold" in sh("dumpsys thermalservice").out
        do("battery", level="12", plugged="no")
        assert {"level: 12", "USB powered: false"} <= set(map(str.strip, sh("dumpsys battery").out.splitlines()))
        do("battery", level="85", plugged="yes")
        do("lock")
        assert "showing=true" in sh("dumpsys window policy").out
        do("unlock")
        assert "showing=false" in sh("dumpsys window policy").out
        do("boot")
        assert sh("getprop sys.boot_completed").out == "0\n"
        do("booted")
        do("fill", left="100000")
        assert sh("head -c 1000000 /dev/zero >/data/local/tmp/big").code != 0
        do("empty")
        assert sh("head -c 1000000 /dev/zero >/data/local/tmp/big; rm /data/local/tmp/big").code == 0
        do("sleep")
        do("wake")
        assert sh("cat /sys/power/suspend_stats/success").out == "1\n"
        do("freeze")
        do("thaw")
        do("unauthorise")
        wait_until(lambda: do("list").endswith("unauthorized"))
        do("authorise")
        do("offline")
        wait_until(lambda: do("list").endswith("offline"))
        do("online")
        wait_until(lambda: do("list").endswith("device"))
        do("unplug")
        wait_until(lambda: not do("list").endswith("device"))
        do("plug")
        phone.wait_until_ready()
        do("reboot", seconds="0.1")
        phone.wait_until_ready()
        do("cut", bytes="1")
        phone.wait_until_ready()
        with pytest.raises(UsageError, match="no phone 7"):
            control.request(path, "lock", "7", {})
        with pytest.raises(UsageError, match="invalid literal"):
            do("battery", level="much")


@pytest.mark.slow
def test_another_process_does_something_to_phones_that_run(possible: None) -> None:
    with subprocess.Popen((*MAIN, "--phones", "2"), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        serials = [process.stdout.readline().strip() for _ in range(2)]
        variables = dict(word.split("=", 1) for word in process.stdout.readline().split()[1:])

        def do(*words: str, code: int = 0) -> str:
            done = subprocess.run((*MAIN, *words), env=variables, capture_output=True, text=True, check=False)
            assert done.returncode == code, done.stderr
            return done.stdout + done.stderr

        assert do("heat", serials[1], "--skin", "50") == f"1 {serials[1]} device\n"
        assert do("lock", "all") == f"0 {serials[0]} device\n1 {serials[1]} device\n"
        assert "no phone 2" in do("lock", "2", code=2)
        assert "--left" in do("fill", "0", code=2)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert "no stand-in phones answer" in do("list", code=3)
