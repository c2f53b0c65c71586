"""Health of a device: a reference workload against itself, judged by its own earlier checks, kept on its host."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import statistics
import time
import uuid
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from pydantic import JsonValue, ValidationError

from harness.config.settings import Settings
from harness.core.comparison import Parameters
from harness.core.device import Device
from harness.core.device_doubt import DeviceDoubt
from harness.core.percent import in_percent
from harness.core.result import Result
from harness.core.values import Value
from harness.core.verdict import Verdict
from harness.files.atomic import write_atomically
from harness.flows.measure.workload import load_benchmarks
from harness.lab.jobs import LabJob, PairsRequest, choose_settings, own_versions
from harness.specification.document import SpecificationDocument

WITHOUT_SHELL: Final = frozenset({"ios"})
"""Platforms whose devices cannot run the reference."""
RETRY_S: Final = 3600.0
"""How soon a device that is out of the pool is checked again."""
PAIRS: Final = 15
_ALPHA: Final = 0.001
"""Probability of finding a difference of the reference with itself, of each sign: one of 500 checks is false."""
_KEPT: Final = 60
"""Checks that are kept of a device: two months of one a day."""
_FLOOR: Final = 0.05
"""Least relative difference that is a drift. One of less is smaller than what rooms and charge do to phones."""
_UNKNOWN: Final = 0.2
"""The same while a device has too few earlier checks to know how much it scatters from day to day."""
_KNOWN: Final = 5
_CEILING: Final = 0.5
_SIGMAS: Final = 4.0
_TO_SIGMA: Final = 1.4826
"""From the median absolute deviation to a standard deviation (of normal figures)."""
_MEDIAN: Final = 2
"""Place of the median among the five statistics of a launch."""
_LOOP: Final = (
    "n=0; while [ $n -lt 6 ]; do b=$(date +%s%N); i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; e=$(date +%s%N); "
    """echo PyTorchObserver \\{\\"type\\": \\"NET\\", \\"metric\\": \\"latency\\", \\"unit\\": \\"us\\", """
    """\\"value\\": $(((e-b)/1000))\\}; n=$((n+1)); done"""
)
"""Twenty thousand additions of a shell, six times: what hosts and Android phones can do without any file."""
_REFERENCE: Final[JsonValue] = {
    "model": {"name": "reference", "framework": "generic", "format": "none", "files": {}},
    "tests": [{"identifier": "shell-loop", "metric": "delay", "commands": [f"sh -c '{_LOOP}'"]}],
}


class HealthCheck(Value):
    """Check of a device.

    Attributes:
        time: When it ended, Unix seconds.
        subject: Digest of the reference benchmark, and the version of the harness: others are not comparable.
        figure: Median of its launches, in the unit of the benchmark; None where it was not measured.
        spread: Standard deviation of the launches, relative.
        verdict: That of the runner against itself; empty where it was not measured.
        reason: Why the device is not healthy; empty where it is.
        accepted: Whether a person said that it is, instead of a check: what is usual begins anew with the next one.
    """

    time: float
    subject: str
    figure: float | None = None
    spread: float = 0.0
    verdict: str = ""
    reason: str = ""
    accepted: bool = False


class DeviceHealth(Value):
    """Checks of a device, oldest first."""

    checks: tuple[HealthCheck, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether the last check was good."""
        return bool(self.checks) and not self.checks[-1].reason

    @property
    def reason(self) -> str:
        """Why the device gets no jobs; empty where it gets some."""
        return self.checks[-1].reason if self.checks else "not checked yet"

    @property
    def last_good(self) -> float | None:
        """When the last good check ended, Unix seconds; None where there was none."""
        return next((check.time for check in reversed(self.checks) if not check.reason), None)

    def doubts(self, device: Device, device_class: str) -> Iterator[DeviceDoubt]:
        """Yield a doubt for each row of bad checks after a good one, oldest first.

        It is resolved where none of them measured anything, and the check after them is good.
        """
        good: HealthCheck | None = None
        bad: list[HealthCheck] = []
        for check in (*self.checks, None):
            if check is not None and check.reason:
                bad.append(check)
                continue
            if good is not None and bad:
                first = next((each for each in bad if each.figure is not None), None)
                yield DeviceDoubt(
                    identity=device.identity,
                    name=device.name,
                    device_class=device_class,
                    since=good.time,
                    until=max(each.time for each in (good, *bad)),
                    reason=(first or bad[0]).reason,
                    resolved=first is None and check is not None and not check.accepted,
                )
            good, bad = check, []

    def is_due(self, now: float, every_s: float) -> bool:
        """Return whether to check the device now.

        A check of the future was made by a clock that was wrong: it is made again, once.
        """
        if not self.checks:
            return True
        age_s = now - self.checks[-1].time
        return not 0 <= age_s < (every_s if self.is_good else min(every_s, RETRY_S))

    def accept(self, now: float) -> DeviceHealth:
        """Return the health after a person said that the device is healthy."""
        return self.with_check(HealthCheck(time=now, subject="", accepted=True))

    def with_check(self, check: HealthCheck) -> DeviceHealth:
        """Return the health after a check."""
        return DeviceHealth(checks=(*self.checks, check)[-_KEPT:])


def judge(result: Result, earlier: DeviceHealth, now: float) -> HealthCheck:
    """Return the check that a comparison of the reference with itself is.

    Args:
        result: The comparison, or why there is none.
        earlier: Earlier checks of the device.
        now: Unix seconds.
    """
    subject = f"{result.benchmark.digest} {result.harness_version}"
    comparison = result.comparison
    if not result.ok or comparison is None or not comparison.pairs:
        return HealthCheck(time=now, subject=subject, reason=f"reference: {result.reason or result.outcome}")
    launches = [side[_MEDIAN] for pair in comparison.pairs for side in (pair.control, pair.treatment)]
    figure = statistics.median(launches)
    if figure <= 0:
        return HealthCheck(time=now, subject=subject, reason="reference: it measures nothing")
    check = HealthCheck(
        time=now, subject=subject, figure=figure, spread=_sigma(launches), verdict=str(comparison.effective_verdict)
    )
    if comparison.effective_verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT}:
        reason = (
            f"it finds a difference of {in_percent(comparison.difference or 0, 1, signed=True)} "
            "of the reference with itself"
        )
        return check.model_copy(update={"reason": reason})
    return check.model_copy(update={"reason": explain_drift(check, earlier.checks, len(launches))})


def explain_drift(check: HealthCheck, earlier: Sequence[HealthCheck], launches: int) -> str:
    """Describe how far the figure of a check is from those of the good ones before; empty where it is near.

    The limit is four standard deviations of the difference, at least 5 % (20 % before five good checks) and at most
    50 %: the scatter of the earlier figures, by their median absolute deviation, and the error of this median of
    launches (π/2 of a mean's variance).
    """
    begin = max((place for place, each in enumerate(earlier) if each.accepted), default=0)
    figures = [
        each.figure
        for each in earlier[begin:]
        if each.figure is not None and not each.reason and each.subject == check.subject
    ]
    if not figures or check.figure is None:
        return ""
    usual = statistics.median(figures)
    sigma = math.hypot(_sigma(figures), check.spread * math.sqrt(math.pi / 2 / launches))
    floor = _FLOOR if len(figures) >= _KNOWN else _UNKNOWN
    limit = min(_CEILING, max(floor, _SIGMAS * sigma))
    change = math.log(check.figure / usual)
    if abs(change) <= limit:
        return ""
    return (
        f"the reference changed by {in_percent(math.expm1(change), 1, signed=True)} from its usual figure (limit "
        f"{in_percent(limit, 1)})"
    )


def read_health(file: Path) -> tuple[DeviceHealth, str]:
    """Return the health of a device, and what is wrong with its file, which is set aside then."""
    try:
        return _parse(file.read_bytes()), ""
    except FileNotFoundError:
        return DeviceHealth(), ""
    except (OSError, ValidationError):
        aside = file.with_suffix(".damaged")
        try:
            file.replace(aside)
        except OSError as error:
            return DeviceHealth(), f"{file} cannot be read: {error.strerror or error}"
        return DeviceHealth(), f"{file} is damaged, and was set aside as {aside.name}: its device is checked anew"


def peek_health(file: Path) -> DeviceHealth:
    """Return the health of a device, and leave a damaged file to its host."""
    try:
        return _parse(file.read_bytes())
    except (OSError, ValidationError):
        return DeviceHealth()


@lru_cache(maxsize=256)
def _parse(content: bytes) -> DeviceHealth:
    """Return the health that a file has; a host asks every second, and it changes once a day."""
    return DeviceHealth.model_validate_json(content)


def write_health(file: Path, health: DeviceHealth) -> None:
    """Keep the health of a device.

    Raises:
        OSError: It cannot be written.
    """
    write_atomically(file, health.model_dump_json())


def health_file(cache_dir: Path, device: Device) -> Path:
    """Return where the host keeps the health of a device."""
    name = hashlib.sha256(device.identity.encode()).hexdigest()[:16]
    return cache_dir / "lab" / "health" / f"{name}.json"


def reference_job(settings: Settings) -> LabJob:
    """Return the job of a check: the reference against itself, by few pairs."""
    document = SpecificationDocument.of_value(Path("reference.json"), _REFERENCE)
    (benchmark,) = load_benchmarks(dataclasses.replace(settings, benchmark_file=()), [document])
    pairs = PairsRequest(
        control=None,
        treatment=None,
        parameters=Parameters(seed=uuid.uuid4().int & 0xFFFF, max_pairs=PAIRS, alpha=_ALPHA),
    )
    return LabJob(
        id=f"health-{time.time_ns()}",
        benchmark=benchmark,
        pairs=pairs,
        settings=choose_settings(settings),
        versions=own_versions(),
    )


def _sigma(figures: Sequence[float]) -> float:
    """Return a robust standard deviation of the logarithms of figures."""
    logarithms = [math.log(figure) for figure in figures if figure > 0]
    centre = statistics.median(logarithms)
    return _TO_SIGMA * statistics.median(abs(value - centre) for value in logarithms)
