from __future__ import annotations

import socket
import sys
import threading
from pathlib import Path

import pytest

from harness import shell
from harness.testing.phones import StandInUnavailable, start_iphones
from tests.iphones import GoIosCaller


@pytest.mark.slow
def test_everything_ends_with_the_context_whatever_runs(go_ios: Path) -> None:
    before = set(threading.enumerate())
    with start_iphones(2) as lab:
        first, second = (GoIosCaller(go_ios, lab, phone) for phone in lab.phones)
        log = first.open("syslog")
        assert log.stdout is not None
        assert "a client listens" in log.stdout.readline()
        second.succeed("info")
        second.phone.freeze()
        waiting = second.open("apps")
        assert not shell.poll_until(lambda: waiting.poll() is not None, 1.0)
    with log, waiting:
        assert log.wait(300) != 0
        assert waiting.wait(300) != 0
    assert shell.poll_until(lambda: set(threading.enumerate()) <= before, 60)
    assert not any(phone.folder.exists() for phone in lab.phones)
    host, _, port = lab.usbmuxd.partition(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=60)


def test_labs_know_nothing_of_each_other() -> None:
    with start_iphones() as one, start_iphones(version="17.4") as another:
        assert one.usbmuxd != another.usbmuxd
        assert one.phones[0].model.udid != another.phones[0].model.udid
        assert another.phones[0].model.build == "21H16"


def test_a_missing_package_is_said_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "harness.testing.phones.ios.lab", None)
    with pytest.raises(StandInUnavailable) as problem:
        start_iphones()
    assert "stand-ins" in str(problem.value.hint)
