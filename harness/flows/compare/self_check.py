"""Self-check: comparison of a runner with itself, which shows whether this machine can be measured on at all."""

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
from harness.files.reading import read_bounded

_REMEDY = "harness compare --self-check -b specifications/models/mv2.json"


class SelfCheck(Value):
    """Stored self-check of one device.

    Attributes:
        time: Unix seconds.
        verdicts: Count of each verdict.
    """

    time: float
    verdicts: dict[Verdict, int]


class VerdictCounter:
    """Reporter that counts the verdicts of what could be measured, for each device."""

    name = "self-check"

    def __init__(self) -> None:
        self.devices: defaultdict[str, Counter[Verdict]] = defaultdict(Counter)
        """Counts by identity of the device."""

    def report(self, report: Report) -> None:
        """Count the verdict of a result."""
        result = report.result
        if result.ok and result.comparison is not None and result.device is not None:
            self.devices[result.device.identity][result.comparison.effective_verdict] += 1

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
    """Store a self-check for `harness doctor`; devices on which nothing was measured are left out."""
    for identity, verdicts in counter.devices.items():
        write_atomically(
            _file(settings, identity), SelfCheck(time=time.time(), verdicts=dict(verdicts)).model_dump_json()
        )


def diagnose(settings: Settings, device: Device) -> Finding:
    """Return the line of `harness doctor` about the last self-check of a device."""
    file = _file(settings, device.identity)
    check = _read(file)
    if check is None or not sum(check.verdicts.values()):
        return Finding("self-check", None, f"{device.name} was never compared with itself", _REMEDY)
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in sorted(check.verdicts.items()))
    false = any(verdict.is_change for verdict in check.verdicts)
    day = time.strftime("%Y-%m-%d", time.gmtime(check.time))
    return Finding("self-check", None if false else True, f"{device.name} on {day}: {counts}", _REMEDY)


def _file(settings: Settings, identity: str) -> Path:
    return settings.cache_dir / "self-checks" / f"{identity}.json"


def _read(file: Path) -> SelfCheck | None:
    """Return the last self-check; None where there is none, or it is damaged and has to be made again."""
    try:
        return SelfCheck.model_validate_json(read_bounded(file))
    except (OSError, ValueError):
        return None
