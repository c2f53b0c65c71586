from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.testing.phones import start_iphones
from harness.testing.phones.ios.lab import IPhoneLab
from tests.iphones import GoIosCaller, reset


@pytest.fixture(scope="session", params=["18.5", "17.2"])
def new_iphone_lab(request: pytest.FixtureRequest, go_ios: Path) -> Iterator[IPhoneLab]:
    """Two phones with a tunnel: in user space, and by a network interface."""
    with start_iphones(2, version=str(request.param)) as lab:
        yield lab


@pytest.fixture
def new_ios(go_ios: Path, new_iphone_lab: IPhoneLab) -> Iterator[GoIosCaller]:
    """The real go-ios for the first of two phones with a tunnel, without a fault, app or file of an earlier test."""
    mend(new_iphone_lab)
    yield GoIosCaller(go_ios, new_iphone_lab, new_iphone_lab.phones[0])
    mend(new_iphone_lab)


def mend(lab: IPhoneLab) -> None:
    reset(lab)
    for phone in lab.phones:
        assert lab.tunnels is not None
        lab.tunnels.tunnels.find(phone.model.udid).start()
