"""Classes of devices of a lab as a platform: flows ask it which there are, and never open one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import AbstractContextManager

from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Progress, Session


class LabPlatform:
    """Classes of devices of a lab, as a platform that opens none of them: their hosts do.

    Args:
        name: Name of the platform that they are of.
        devices: Each class, or each named device.
    """

    def __init__(self, name: str, devices: Sequence[Device]) -> None:
        self.name = name
        self._devices = tuple(devices)

    def devices(self) -> Sequence[Device]:
        """Return the classes."""
        return self._devices

    def open(self, device: Device, progress: Progress) -> AbstractContextManager[Session]:  # noqa: ARG002 - a protocol
        """Refuse.

        Raises:
            EnvironmentProblem: Always.
        """
        raise EnvironmentProblem(f"{device.name} is opened by its host", hint="measure it by --lab")


def settings_to_repeat(settings: Settings) -> Settings:
    """Return the settings for a command that measures once more: the identity of its device says where."""
    return dataclasses.replace(settings, device_class=(), devices=())
