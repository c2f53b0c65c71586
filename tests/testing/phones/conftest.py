from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from adbutils import AdbClient, AdbDevice

from harness.testing.phones import start_phones, unavailable_reason
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command on a phone said."""

    code: int
    out: str
    err: str


Shell = Callable[[str], Answer]


def device_of(lab: PhoneLab, phone: StandInPhone) -> AdbDevice:
    return AdbClient("127.0.0.1", lab.port, socket_timeout=60).device(phone.serial)


def shell_of(lab: PhoneLab, phone: StandInPhone) -> Shell:
    device = device_of(lab, phone)

    def run(command: str) -> Answer:
        answer = device.shell2(command, v2=True, timeout=60)
        return Answer(answer.returncode, answer.stdout, answer.stderr)

    return run


@pytest.fixture(scope="session")
def possible() -> None:
    """Skip where there can be no phones; where everything must be tested, that is a failure."""
    if reason := unavailable_reason():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@pytest.fixture(scope="session")
def lab(possible: None) -> Iterator[PhoneLab]:
    with start_phones(1) as lab:
        yield lab


@pytest.fixture(scope="session")
def rooted_lab(possible: None) -> Iterator[PhoneLab]:
    with start_phones(1, rooted=True, api=29) as lab:
        yield lab


@pytest.fixture
def phone(lab: PhoneLab) -> Iterator[StandInPhone]:
    yield lab.phones[0]
    mend(lab.phones[0])


@pytest.fixture
def rooted(rooted_lab: PhoneLab) -> Iterator[StandInPhone]:
    yield rooted_lab.phones[0]
    mend(rooted_lab.phones[0])


@pytest.fixture
def sh(lab: PhoneLab, phone: StandInPhone) -> Shell:
    return shell_of(lab, phone)


@pytest.fixture
def root_sh(rooted_lab: PhoneLab, rooted: StandInPhone) -> Shell:
    return shell_of(rooted_lab, rooted)


@pytest.fixture
def device(lab: PhoneLab, phone: StandInPhone) -> AdbDevice:
    return device_of(lab, phone)


def mend(phone: StandInPhone) -> None:
    """Undo every fault, and wait until it is there."""
    phone.thaw()
    phone.come_online()
    phone.set_latency(0.0)
    phone.limit_rate(None)
    phone.cut_connection_after(None)
    phone.fill(1 << 30)
    phone.authorise()
    phone.plug()
    phone.wait_until_ready()
