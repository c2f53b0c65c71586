"""Devices of a lab that a command measures on: those of each class, or each named one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from msgspec import Struct

from harness.core.device import CLASS
from harness.core.errors import EnvironmentProblem, UsageError
from harness.lab.jobs import Place, class_resource, device_resource, own_versions, slug


class Target(Struct, frozen=True):
    """Devices that may do a job.

    Attributes:
        label: Their class, or the name of the only one.
        resource: What their processes have.
        places: The devices, when the command began.
        is_single: Whether it is a single device, and no class.
    """

    label: str
    resource: str
    places: tuple[Place, ...]
    is_single: bool = False

    def count_in_pool(self) -> int:
        """Return how many of them may get jobs; 1 where none does now, so that a job waits for the first."""
        return sum(not place.health for place in self.places) or 1

    def accepts(self, place: Place) -> bool:
        """Return whether a device is one of them, perhaps one that joined since."""
        return self.resource in {class_resource(place.device_class), device_resource(place.device.identity)}


class LabEmpty(EnvironmentProblem):
    """A lab has no device now."""


class NoSuchClass(UsageError):
    """A lab has no device of a class now."""


class NoSuchDevice(UsageError):
    """A lab has no device of a name now, or several."""


def choose_targets(places: Sequence[Place], classes: Sequence[str], devices: Sequence[str]) -> Sequence[Target]:
    """Return which devices may do the jobs: those of each class, or each named one.

    Args:
        places: The devices of the lab.
        classes: Classes that are asked for; without any, the lab has to have a single one.
        devices: Names of single devices, in place of classes; or identities of classes, as results have them.

    Raises:
        NoSuchClass: There is no such class.
        NoSuchDevice: There is no such device.
        UsageError: None is named among several.
        LabEmpty: The lab has no device.
    """
    if not places:
        raise LabEmpty("the lab has no device", hint="bring some: `harness lab join ADDRESS` on their host")
    if devices and classes:
        raise UsageError("--devices and --device-class both say where", hint="leave one of them out")
    known = sorted({place.device_class for place in places})
    if devices and all(name.startswith(CLASS) for name in devices):
        classes, devices = [name.removeprefix(CLASS) for name in devices], ()
    if devices:
        return [_device_target(name, places) for name in dict.fromkeys(devices)]
    if not classes and len(known) > 1:
        raise UsageError(
            f"the lab has devices of {len(known)} classes", hint=f"choose by --device-class: {', '.join(known)}"
        )
    wanted = [slug(name) for name in classes] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise NoSuchClass(f"the lab has no device of class {', '.join(unknown)}", hint=f"there are: {', '.join(known)}")
    return [
        Target(name, class_resource(name), tuple(place for place in places if place.device_class == name))
        for name in dict.fromkeys(wanted)
    ]


def reject_other_versions(targets: Sequence[Target]) -> None:
    """Raise `EnvironmentProblem` if a device that may measure has other versions than this client."""
    for place in itertools.chain.from_iterable(target.places for target in targets):
        if difference := own_versions().explain_difference(place.versions):
            raise EnvironmentProblem(f"{place.host} has {difference}", hint="install the same versions everywhere")


def _device_target(name: str, places: Sequence[Place]) -> Target:
    found = tuple(place for place in places if name in place.device.names)
    if len(found) != 1:
        known = ", ".join(sorted(place.device.name for place in places))
        several = "several devices" if found else "no device"
        raise NoSuchDevice(f"the lab has {several} called {name}", hint=f"there are: {known}; identities are unique")
    return Target(name, device_resource(found[0].device.identity), found, is_single=True)
