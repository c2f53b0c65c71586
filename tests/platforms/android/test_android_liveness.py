"""A phone that hangs is noticed while a program or a script runs, long before the time limit."""

from __future__ import annotations

import contextlib
import socket

import pytest

from harness.core.command import Command
from harness.core.errors import DeviceLost
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.progress import RecordedProgress
from platforms.android.link.adb import AdbServer
from platforms.android.link.liveness import PROBE_TIMES, LivenessProbe, ProbeTimes
from platforms.android.link.phone import Phone
from platforms.android.link.protocol import Connection, ShellStream
from platforms.android.platform import Android
from tests.platforms.android.conftest import MakePlatform
from tests.platforms.android.test_android_adb import soon

SH = "/system/bin/sh"
IMPATIENT = ProbeTimes(interval_s=0.05, answer_s=0.5)


class Shell:
    """Shell stream whose other end a test writes to, and a clock that it moves."""

    def __init__(self) -> None:
        near, self.far = socket.socketpair()
        self.stream = ShellStream(Connection(near, lambda: None))
        self.now = 0.0
        self.pings: list[tuple[float, float]] = []

    def ping(self, limit_s: float) -> None:
        self.pings.append((self.now, limit_s))

    def write(self, text: bytes) -> None:
        self.far.sendall(b"\1" + len(text).to_bytes(4, "little") + text)


def test_a_phone_is_asked_after_a_silence_and_not_while_its_shell_writes() -> None:
    shell = Shell()
    with shell.far:
        probe = LivenessProbe(shell.ping, ProbeTimes(5.0, 10.0), clock=lambda: shell.now)
        for now in range(1, 9):
            shell.now = now
            shell.write(b"line\n")
            assert probe.read(shell.stream, float("inf"))
        assert shell.pings == []
        for now in range(9, 20):
            shell.now = now
            assert probe.read(shell.stream, float("inf"))
        assert shell.pings == [(13.0, 10.0), (18.0, 10.0)]
        shell.stream.close()


def test_a_phone_may_hang_for_less_than_twenty_seconds_before_it_is_noticed() -> None:
    assert PROBE_TIMES.interval_s + PROBE_TIMES.answer_s < 20


@pytest.mark.slow
def test_a_phone_that_hangs_while_a_program_runs_is_lost_before_the_time_limit(
    broken_lab: PhoneLab, make_platform: MakePlatform
) -> None:
    platform = make_platform(broken_lab, return_timeout=0.0)
    impatient = Android(platform.settings, AdbServer(broken_lab.server), probe_times=IMPATIENT)
    stand_in = broken_lab.phones[0]
    (device,) = impatient.devices()
    never = Command((SH, "-c", "sleep 3600"), timeout_s=3600.0)
    open_phone = impatient.open(device, RecordedProgress())
    session = open_phone.__enter__()
    assert session.run(Command((SH, "-c", "sleep 1; echo slow"))).stdout == "slow\n", "a living phone is left alone"
    with session.start(never) as process:
        stand_in.freeze()
        with pytest.raises(DeviceLost, match="did not answer in time"):
            process.wait_for_line("never")
        stand_in.thaw()
    with contextlib.suppress(DeviceLost):
        open_phone.__exit__(None, None, None)


@pytest.mark.slow
def test_a_phone_that_hangs_while_a_script_runs_is_lost_before_the_time_limit(broken_lab: PhoneLab) -> None:
    stand_in = broken_lab.phones[0]
    phone = Phone(AdbServer(broken_lab.server), stand_in.serial, probe_times=IMPATIENT)
    phone.ping(10.0)
    with soon(stand_in.freeze), pytest.raises(DeviceLost, match="did not answer in time"):
        phone.sh("sleep 3600", timeout_s=3600.0)
