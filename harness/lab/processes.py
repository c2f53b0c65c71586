"""What the processes of a host are told when they start."""

from __future__ import annotations

import base64
import os
import pickle
from functools import cache
from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer

from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import EnvironmentProblem
from harness.core.values import Value
from harness.lab.quiet_hours import QuietHours

VARIABLE: Final = "EDGE_HARNESS_LAB_DEVICE"
"""Environment variable of a process: the device that it serves (`ServedDevice`)."""
BUILDS_VARIABLE: Final = "EDGE_HARNESS_LAB_BUILDS"
"""The same of a process that builds for others (`ServedBuilds`)."""


def _to_text(pickled: bytes) -> str:
    return base64.b64encode(pickled).decode()


def _to_bytes(text: object) -> object:
    return base64.b64decode(text) if isinstance(text, str) else text


@cache
def _read_settings(pickled: bytes) -> Settings:
    settings: Settings = pickle.loads(pickled)  # noqa: S301 - written by the process that started this one
    return settings


class ServedDevice(Value):
    """What the process of a device is told when it starts.

    Attributes:
        device: The device.
        device_class: Its class.
        cache_dir: Cache of its host.
        settings: Settings of its host, pickled: options of plug-ins, such as where the server of adb is.
        is_checked: Whether its health is checked.
        quiet_hours: Quiet hours of its host.
    """

    device: Device
    device_class: str
    cache_dir: Path
    settings: Annotated[bytes, PlainSerializer(_to_text), BeforeValidator(_to_bytes)]
    is_checked: bool = False
    quiet_hours: tuple[QuietHours, ...] = ()

    @property
    def host_settings(self) -> Settings:
        """Settings of its host."""
        return _read_settings(self.settings)


class ServedBuilds(Value):
    """What the process of a host that builds for others is told when it starts.

    Attributes:
        cache_dir: Cache of its host.
        settings: Settings of its host, pickled: options of plug-ins.
        toolchain: Digest of its toolchain.
    """

    cache_dir: Path
    settings: Annotated[bytes, PlainSerializer(_to_text), BeforeValidator(_to_bytes)]
    toolchain: str

    @property
    def host_settings(self) -> Settings:
        """Settings of its host."""
        return _read_settings(self.settings)


def served_builds() -> ServedBuilds:
    """Return what this process was told that builds for others.

    Raises:
        EnvironmentProblem: It does not.
    """
    text = os.environ.get(BUILDS_VARIABLE)
    if text is None:
        raise EnvironmentProblem("this process builds nothing", hint="start it by `harness lab join ADDRESS --builds`")
    return ServedBuilds.model_validate_json(text)


@cache
def _read_device(text: str) -> ServedDevice:
    return ServedDevice.model_validate_json(text)


def served_device() -> ServedDevice:
    """Return the device of this process.

    Raises:
        EnvironmentProblem: It serves none.
    """
    text = os.environ.get(VARIABLE)
    if text is None:
        raise EnvironmentProblem("this process serves no device", hint="start it by `harness lab join ADDRESS`")
    return _read_device(text)


def host_cache_dir() -> Path:
    """Return the cache of this host."""
    return served_builds().cache_dir if BUILDS_VARIABLE in os.environ else served_device().cache_dir
