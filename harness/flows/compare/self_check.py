"""A runner compared with itself: whether this machine can be measured on at all."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from pathlib import Path

from harness.config.settings import Settings
from harness.core.comparison import Verdict
from harness.core.device import Device
from harness.core.protocols import Finding
from harness.core.result import Report
from harness.core.values import Value
from harness.files.atomic import write_atomically

_REMEDY = "harness compare --self_check -b specifications/models/mv2.json"


class SelfCheck(Value):
    """What comparing a runner with itself said on one device.

    Attributes:
        time: Unix seconds.
        verdicts: How often each verdict was given.
    """

    time: float
    verdicts: dict[Verdict, int]


class Checked:
    """Counts the verdicts of what could be measured, for each device (`Reporter`)."""

    name = "self-check"

    def __init__(self) -> None:
        self.devices: defaultdict[str, Counter[Verdict]] = defaultdict(Counter)
        """By identity."""

    def report(self, report: Report) -> None:
        """Count one."""
        result = report.result
        if result.ok and result.comparison is not None and result.device is not None:
            self.devices[result.device.identity][result.comparison.effective_verdict] += 1

    def close(self) -> None:
        """Nothing is left to tell."""


def sentence(checked: Checked) -> str:
    """What a person is told."""
    verdicts = sum(checked.devices.values(), Counter[Verdict]())
    total, false = verdicts.total(), verdicts[Verdict.REGRESSION] + verdicts[Verdict.IMPROVEMENT]
    if not total:
        return "self-check: nothing was checked, because nothing could be measured"
    if false:
        return (
            f"self-check: {false} of {_comparisons(total)} of a runner with itself found a difference: trust none here"
        )
    open_ = verdicts[Verdict.UNDECIDED]
    why = "their reasons say whether more pairs help, or a finer clock"
    left = f", {open_} undecided: {why}" if open_ else ""
    return f"self-check: no false alarm in {_comparisons(total)} of a runner with itself{left}"


def _comparisons(count: int) -> str:
    return f"{count} comparison{'' if count == 1 else 's'}"


def remember(settings: Settings, checked: Checked) -> None:
    """Keep it for `harness doctor`; nothing is kept of a device on which nothing was measured."""
    for identity, verdicts in checked.devices.items():
        place = _place(settings, identity)
        write_atomically(place, SelfCheck(time=time.time(), verdicts=dict(verdicts)).model_dump_json())


def finding(settings: Settings, device: Device) -> Finding:
    """What is known about a device."""
    place = _place(settings, device.identity)
    if not place.exists():
        return Finding("self-check", None, f"{device.name} was never compared with itself", _REMEDY)
    check = SelfCheck.model_validate_json(place.read_text())
    if not sum(check.verdicts.values()):
        return Finding("self-check", None, f"{device.name} was never compared with itself", _REMEDY)
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in sorted(check.verdicts.items()))
    bad = {Verdict.REGRESSION, Verdict.IMPROVEMENT} & set(check.verdicts)
    day = time.strftime("%Y-%m-%d", time.gmtime(check.time))
    return Finding("self-check", None if bad else True, f"{device.name} on {day}: {counts}", _REMEDY)


def _place(settings: Settings, identity: str) -> Path:
    return settings.cache_dir / "self-checks" / f"{identity}.json"
