"""A runner compared with itself: whether this machine can be measured on at all."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from harness.core.comparison import Verdict
from harness.core.device import Device
from harness.core.protocols import Finding
from harness.core.values import Value
from harness.flows.plan import Plan
from harness.settings import Settings

_REMEDY = "harness compare --self_check -b specifications/models/mv2.json"


class SelfCheck(Value):
    """What comparing a runner with itself said on one device.

    Attributes:
        time: Unix seconds.
        verdicts: How often each verdict was given.
    """

    time: float
    verdicts: dict[Verdict, int]


def sentence(verdicts: Counter[Verdict], failed: int) -> str:
    """What a person is told.

    Args:
        verdicts: How often each was given.
        failed: Comparisons that could not be measured.
    """
    total, false = sum(verdicts.values()) - failed, verdicts[Verdict.REGRESSION] + verdicts[Verdict.IMPROVEMENT]
    if total <= 0:
        return "self-check: nothing was checked, because nothing could be measured"
    if false:
        return f"self-check: {false} of {total} comparisons of a runner with itself found a difference: trust none here"
    open_ = verdicts[Verdict.UNDECIDED] - failed
    why = "their reasons say whether more pairs help, or a finer clock"
    left = f", {open_} undecided: {why}" if open_ else ""
    return f"self-check: no false alarm in {total} comparisons of a runner with itself{left}"


def remember(settings: Settings, plan: Plan, verdicts: Counter[Verdict]) -> None:
    """Keep it for `harness doctor`; nothing is kept of a check that measured nothing."""
    if not verdicts.total():
        return
    check = SelfCheck(time=time.time(), verdicts=dict(verdicts))
    for device in {pair.device.identity: pair.device for pair in plan.assignments}.values():
        place = _place(settings, device)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(check.model_dump_json())


def finding(settings: Settings, device: Device) -> Finding:
    """What is known about a device."""
    place = _place(settings, device)
    if not place.exists():
        return Finding("self-check", None, f"{device.name} was never compared with itself", _REMEDY)
    check = SelfCheck.model_validate_json(place.read_text())
    if not sum(check.verdicts.values()):
        return Finding("self-check", None, f"{device.name} was never compared with itself", _REMEDY)
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in sorted(check.verdicts.items()))
    bad = {Verdict.REGRESSION, Verdict.IMPROVEMENT} & set(check.verdicts)
    day = time.strftime("%Y-%m-%d", time.gmtime(check.time))
    return Finding("self-check", None if bad else True, f"{device.name} on {day}: {counts}", _REMEDY)


def _place(settings: Settings, device: Device) -> Path:
    return settings.cache_dir / "self-checks" / f"{device.identity}.json"
