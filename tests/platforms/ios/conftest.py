from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.testing.phones.ios.apps.packages import SHELL_BUNDLE, shell_app
from harness.testing.phones.ios.lab import IPhoneLab
from platforms.ios.link.client import PhoneClient
from platforms.ios.link.go_ios.client import GoIos
from platforms.ios.options import IosOptions
from platforms.ios.platform import Ios
from platforms.phone_options import PhoneOptions
from tests.iphones import go_ios, ios, iphone, iphone_lab, iphones
from tests.platforms.ios.local_client import LocalClient

__all__ = [
    "MakeIos",
    "client",
    "go_ios",
    "ios",
    "iphone",
    "iphone_lab",
    "iphones",
    "make_ios",
    "make_local_ios",
    "shell",
]

MakeIos = Callable[..., Ios]
"""Makes the platform for the stand-in iPhones, with the shell app as its runner; keywords change options."""


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of an app that executes its arguments as a command."""
    return shell_app(tmp_path_factory.mktemp("shell"))


@pytest.fixture
def client(go_ios: Path, iphones: IPhoneLab) -> GoIos:
    return GoIos(go_ios, usbmuxd=iphones.usbmuxd, tunnel=iphones.tunnel, environment=dict(iphones.environment))


@pytest.fixture
def make_ios(client: GoIos, iphones: IPhoneLab, shell: Path, tmp_path: Path) -> MakeIos:
    """Only the first phone is plugged in: go-ios takes a third of a second of CPU time for each question to each."""
    return _prepare(client, iphones, shell, tmp_path)


@pytest.fixture
def make_local_ios(iphones: IPhoneLab, shell: Path, tmp_path: Path) -> MakeIos:
    """The same without go-ios, for what a session does with any client: forty questions to it take a quarter minute."""
    return _prepare(LocalClient(iphones.phones[0]), iphones, shell, tmp_path)


def _prepare(client: PhoneClient, iphones: IPhoneLab, shell: Path, folder: Path) -> MakeIos:
    (folder / "locks").mkdir()
    first, *others = iphones.phones
    first.install(shell)
    for phone in others:
        phone.unplug()

    def make(phones: PhoneOptions | None = None, **changed: object) -> Ios:
        options = IosOptions(ios_app=SHELL_BUNDLE)
        settings = Settings(
            cache_dir=folder / "cache",
            plug_ins=(options, phones or PhoneOptions()),
            **changed,  # type: ignore[arg-type]
        )
        return Ios(settings, client, locks=folder / "locks")

    return make
