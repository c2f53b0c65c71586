"""Where in the local tree the results of one benchmark on one device of one build lie."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from harness.core.device import Device
from harness.core.result import Result
from harness.store.tree import segment

_YEAR_10000: Final = 253_402_300_800
"""Unix seconds; no commit time from here on has a calendar date."""


def branch(result: Result) -> Path:
    """`<device>/<framework>/<model>/<metric>/<identifier>/<YYYY>/<MM>/<DD>/<commit>`, relative to the tree.

    The date is the commit's (UTC), or that of the measurement where the build has no commit time.
    """
    info, build = result.benchmark, result.build
    commit = build.commit if build is not None else ""
    seconds = build.commit_time if build is not None and build.commit_time is not None else result.started
    # A commit may claim any time at all; it must not cost the result.
    date = datetime.fromtimestamp(min(max(seconds, 0), _YEAR_10000 - 1), UTC)
    subject = (_device_name(result.device), info.framework, info.model, info.metric, info.identifier)
    names = (*subject, *f"{date:%Y/%m/%d}".split("/"), commit or "no-commit")
    return Path(*map(segment, names))


def _device_name(device: Device | None) -> str:
    """What its folder is called; never empty, and never FAI-PEP's `null`, where all devices met."""
    if device is None:
        return "no-device"
    names = (device.name, device.kind, device.platform, device.identity)
    return next((name for name in names if name.strip() not in ("", "null")), "no-device")
