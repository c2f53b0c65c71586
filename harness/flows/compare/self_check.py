"""Self-check: comparison of a runner with itself, which shows whether this machine can be measured on at all."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.protocols import Finding
from harness.core.result import Report
from harness.core.self_check import SCHEMA_VERSION, SelfCheck, Sensitivity
from harness.core.verdict import Verdict
from harness.files.atomic import write_atomically
from harness.files.reading import read_bounded
from harness.presentation.self_check import conclude, format_age

_REMEDY: Final = "harness self-check"

_SAME_CHECK_S: Final = 1.0
"""Verdicts that are younger than the sensitivity by more are those of a later `harness compare --self-check`."""


class VerdictCounter:
    """Reporter that counts the verdicts of what could be measured, for each device."""

    name = "self-check"

    def __init__(self) -> None:
        self.devices: defaultdict[str, Counter[Verdict]] = defaultdict(Counter)
        """Counts by identity of the device."""
        self.named: dict[str, Device] = {}
        """The devices, by identity."""

    def report(self, report: Report) -> None:
        """Count the verdict of a result."""
        result = report.result
        if result.ok and result.comparison is not None and result.device is not None:
            self.devices[result.device.identity][result.comparison.effective_verdict] += 1
            self.named[result.device.identity] = result.device

    def close(self) -> None:
        """Do nothing: every verdict has been counted."""


def summarise(counter: VerdictCounter) -> str:
    """Summarise a self-check in a sentence."""
    verdicts = sum(counter.devices.values(), Counter[Verdict]())
    total, false = verdicts.total(), verdicts[Verdict.REGRESSION] + verdicts[Verdict.IMPROVEMENT]
    if not total:
        return "self-check: nothing was checked, because nothing could be measured"
    if false:
        return (
            f"self-check: {false} of {_comparisons(total)} of a runner with itself found a difference: "
            "trust no comparison on this machine"
        )
    undecided = verdicts[Verdict.UNDECIDED]
    why = "their reasons say whether more pairs help, or a finer clock"
    remark = f", {undecided} undecided: {why}" if undecided else ""
    return f"self-check: no false alarm in {_comparisons(total)} of a runner with itself{remark}"


def _comparisons(count: int) -> str:
    return f"{count} comparison{'' if count == 1 else 's'}"


def store(settings: Settings, counter: VerdictCounter) -> None:
    """Store the verdicts of a self-check for `harness doctor`; devices on which nothing was measured are left out."""
    for identity, verdicts in counter.devices.items():
        device = counter.named[identity]
        earlier = read(settings, device)
        _write(settings, _make(device, verdicts, None if earlier is None else earlier.sensitivity))


def store_sensitivity(settings: Settings, device: Device, sensitivity: Sensitivity) -> SelfCheck:
    """Store what comparisons on a device can show, and return the self-check.

    Where nothing was measured, the last one stays.
    """
    verdicts = Counter(check.verdict for check in sensitivity.benchmarks)
    check = _make(device, verdicts, sensitivity)
    if verdicts:
        _write(settings, check)
    return check


def diagnose(settings: Settings, device: Device) -> Finding:
    """Return the line of `harness doctor` about the last self-check of a device."""
    check = read(settings, device)
    if check is None or not sum(check.verdicts.values()):
        return Finding("self-check", None, f"{device.name} was never compared with itself", _REMEDY)
    day = time.strftime("%Y-%m-%d", time.gmtime(check.time))
    label = f"{device.name} on {day} ({format_age(time.time() - check.time)})"
    if check.sensitivity is not None and check.time - check.sensitivity.time < _SAME_CHECK_S:
        conclusion = conclude(check.sensitivity)
        return Finding("self-check", conclusion.is_good or None, f"{label}: {conclusion.text}", _REMEDY)
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in sorted(check.verdicts.items()))
    before = ""
    if check.sensitivity is not None:
        day = time.strftime("%Y-%m-%d", time.gmtime(check.sensitivity.time))
        before = f"; on {day}: {conclude(check.sensitivity).text}"
    is_good = all(verdict is Verdict.NO_CHANGE for verdict, count in check.verdicts.items() if count)
    return Finding("self-check", is_good or None, f"{label}: {counts}{before}", _REMEDY)


def read(settings: Settings, device: Device) -> SelfCheck | None:
    """Return the last self-check; None where there is none, or it is damaged and has to be made again."""
    try:
        return SelfCheck.model_validate_json(read_bounded(_file(settings, device.identity)))
    except (OSError, ValueError):
        return None


def _make(device: Device, verdicts: Mapping[Verdict, int], sensitivity: Sensitivity | None) -> SelfCheck:
    return SelfCheck(
        schema_version=SCHEMA_VERSION,
        time=time.time(),
        verdicts=dict(verdicts),
        device=device.name,
        identity=device.identity,
        sensitivity=sensitivity,
    )


def _write(settings: Settings, check: SelfCheck) -> None:
    write_atomically(_file(settings, check.identity), check.model_dump_json())


def _file(settings: Settings, identity: str) -> Path:
    return settings.cache_dir / "self-checks" / f"{identity}.json"
