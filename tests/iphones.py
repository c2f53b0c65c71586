"""Fixtures with stand-in iPhones and the real go-ios, for the conftest.py of those who need them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command, Completed
from harness.testing.phones import start_iphones
from harness.testing.phones.ios.client import find_go_ios, go_ios_obstacle
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.phones.ios.phone import StandInIPhone


@dataclass(frozen=True, slots=True)
class GoIosCaller:
    """The real go-ios, for one phone."""

    program: Path
    lab: IPhoneLab
    phone: StandInIPhone

    def command(self, *words: str | Path) -> Command:
        argv = (str(self.program), *map(str, words), f"--udid={self.phone.model.udid}")
        return Command(argv, env=dict(self.lab.environment), timeout_s=240.0)

    def __call__(self, *words: str | Path) -> Completed:
        return shell.run(self.command(*words))

    def open(self, *words: str | Path) -> subprocess.Popen[str]:
        """Start a call whose lines are read while it runs."""
        command = self.command(*words)
        return subprocess.Popen(
            command.argv,
            env={**os.environ, **command.env},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def succeed(self, *words: str | Path) -> str:
        """Return what a call wrote to standard output; it must exit with 0."""
        completed = self(*words)
        assert completed.ok, completed.stdout + completed.stderr
        return completed.stdout

    def fail(self, *words: str | Path) -> str:
        """Return what a call wrote; it must not exit with 0, nor hang."""
        completed = self(*words)
        assert not completed.ok, completed.stdout
        assert not completed.timed_out
        return completed.stdout + completed.stderr

    def other(self, phone: StandInIPhone) -> GoIosCaller:
        return GoIosCaller(self.program, self.lab, phone)


@pytest.fixture(scope="session")
def go_ios() -> Path:
    """Skip where there is no go-ios; where everything must be tested, that is a failure."""
    program = find_go_ios()
    if program is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(go_ios_obstacle() or "no go-ios")
    return program


@pytest.fixture(scope="session")
def iphone_lab(go_ios: Path) -> Iterator[IPhoneLab]:
    with start_iphones(2) as lab:
        yield lab


@pytest.fixture
def iphones(iphone_lab: IPhoneLab) -> Iterator[IPhoneLab]:
    """Two phones without a fault, app or file of an earlier test."""
    reset(iphone_lab)
    yield iphone_lab
    reset(iphone_lab)


@pytest.fixture
def iphone(iphones: IPhoneLab) -> StandInIPhone:
    return iphones.phones[0]


@pytest.fixture
def ios(go_ios: Path, iphones: IPhoneLab) -> GoIosCaller:
    """The real go-ios for the first phone."""
    return GoIosCaller(go_ios, iphones, iphones.phones[0])


def reset(lab: IPhoneLab) -> None:
    for phone in lab.phones:
        phone.mend()
        phone.erase()
