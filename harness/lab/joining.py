"""Devices for a command, in a lab whose devices may still be on their way.

It may have just begun; or the process of a device is started anew, because it broke or comes back into the pool.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final

from harness.config.settings import Settings
from harness.core.protocols import Progress
from harness.lab.client import LabClient
from harness.lab.clocks import explain_wrong_clocks, find_wrong_clocks
from harness.lab.jobs import Place
from harness.lab.targets import LabEmpty, NoSuchClass, NoSuchDevice, Target, choose_targets
from harness.shell import pause

_JOINING_S: Final = 30.0
"""How long hosts take to join a lab that began, or began again, and to bring a device back."""
_AGAIN_S: Final = 2.0


def find_targets(
    client: LabClient, settings: Settings, progress: Progress, check: Callable[[], None] = lambda: None
) -> tuple[Sequence[Place], Sequence[Target]]:
    """Return the devices of a lab, and which may do the jobs; without those, wait while they may be on their way.

    Args:
        client: Client of the lab.
        settings: Which devices are wanted.
        progress: Shows that it waits.
        check: Called between looks; what it raises ends the waiting.

    Raises:
        UsageError: There is no such class or device, or none is named among several.
        LabEmpty: The lab has no device.
        LabLost: The scheduler went away.
    """
    end: float | None = None
    while True:
        places = client.places()
        try:
            targets = choose_targets(places, settings.device_class, settings.devices)
        except (LabEmpty, NoSuchClass, NoSuchDevice) as error:
            change, ago_s = client.last_change()
            now = time.monotonic()
            if ago_s >= _JOINING_S or (end is not None and now >= end):  # its clock may have been set back
                raise
            if end is None:
                end = now + _JOINING_S
                progress.say(f"{error.message}; {change} {max(ago_s, 0.0):.0f} s ago: waiting")
        else:
            chosen = tuple(chain.from_iterable(target.places for target in targets))
            for line in explain_wrong_clocks(find_wrong_clocks(chosen)):
                progress.warn(f"! {line}")
            return places, targets
        check()
        pause(_AGAIN_S)
