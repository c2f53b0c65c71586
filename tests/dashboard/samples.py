"""Values by hand that pages are rendered from: histories of any length, with failures, changes and hostile names."""

from __future__ import annotations

import math

from harness.core.effect import Effect
from harness.core.metric import MetricInfo
from harness.core.origin import Origin
from harness.core.outcome import Outcome
from harness.core.verdict import Verdict
from harness.dashboard.links import LiveLinks, Site
from harness.store.history import (
    Band,
    Cell,
    CellHistory,
    ChangeRow,
    CommitInfo,
    DeviceInfo,
    FilterValues,
    HistoryPoint,
    ProofKind,
)

HOSTILE = "a:b \"><script>alert(1)</script> ../.. %41 #x \u202e\x1b[31m\n\x00 é '><img src=x onerror=alert(2)>"
LATENCY = MetricInfo(name="NET latency", unit="us")
START = 1_760_000_000.0
HOUR = 3600.0


def make_site(*, live: bool = True, person: str = "") -> Site:
    """Return a site whose newest result is a day after the first."""
    options = FilterValues(results=5, first=START, last=START + 24 * HOUR)
    return Site(LiveLinks(), options, live=live, person=person, form_token="secret" if person else "")


def make_cell(name: str = "mv2", device: str = "Pixel 8") -> Cell:
    """Return a cell with this model and device."""
    info = DeviceInfo(identity=f"serial of {device}", name=device, platform="android", kind="Tensor G3")
    return Cell(
        key="0123456789abcdef",
        model=name,
        identifier="q8",
        framework="executorch",
        backend="xnnpack",
        threads=4,
        digest="d" * 64,
        device=info,
    )


def make_commit(number: int, subject: str = "Use a slower loop") -> CommitInfo:
    """Return the commit of an hour."""
    return CommitInfo(id=f"{number:040x}", source="git:here", time=START + number * HOUR, subject=subject, author="Ada")


def make_points(count: int, step: int | None = None) -> tuple[HistoryPoint, ...]:
    """Return points of 12 ms with a little noise, 10 % more from `step` on, of which every ninth failed."""
    points = []
    for number in range(count):
        level = 12_000.0 * (1.1 if step is not None and number >= step else 1.0) * (1 + 0.004 * ((number * 7) % 5 - 2))
        failed = number % 9 == 8
        points.append(
            HistoryPoint(
                uid=f"{number:032x}",
                commit=make_commit(number),
                time=START + number * HOUR,
                median=None if failed else level,
                low=None if failed else level * 0.99,
                high=None if failed else level * 1.01,
                outcome=Outcome.CRASHED if failed else Outcome.OK,
                reason="was ended by SIGSEGV" if failed else "",
                verdict=Verdict.REGRESSION if number == step else None if failed or number % 3 else Verdict.NO_CHANGE,
                trusted=number % 11 != 10,
            )
        )
    return tuple(points)


def make_change(number: int, **values: object) -> ChangeRow:
    """Return a verified regression of 10 % with its culprit."""
    change = ChangeRow(
        cell=make_cell(),
        metric=LATENCY,
        proof=ProofKind.ALARM,
        verdict=Verdict.REGRESSION,
        effect=Effect(log_ratio=0.0953, low_log_ratio=0.09, high_log_ratio=0.1),
        before=make_commit(number - 1),
        after=make_commit(number),
        culprit=True,
        time=START + number * HOUR,
        alarm="step:0123",
        reproduce="harness compare -b mv2.json --control a --treatment b",
    )
    return change.model_copy(update=values)


def make_history(points: tuple[HistoryPoint, ...], *changes: ChangeRow, cell: Cell | None = None) -> CellHistory:
    """Return a history of these points with one band."""
    known = sorted(point.median for point in points if point.median is not None and math.isfinite(point.median))
    bands: tuple[Band, ...] = ()
    if known:
        band = Band(
            start=points[0].time,
            end=points[-1].time,
            low=known[0],
            middle=known[len(known) // 2],
            high=known[-1],
            count=len(known),
        )
        bands = (band,)
    return CellHistory(
        cell=cell or make_cell(),
        metric=LATENCY if points else None,
        metrics=(LATENCY, MetricInfo(name="RUN peak_memory", unit="bytes")) if points else (),
        points=points,
        bands=bands,
        changes=changes,
        total=len(points),
        reproduce="harness -b mv2.json --commit 'a b'",
    )


def make_origin() -> Origin:
    """Return an origin of figures from elsewhere."""
    return Origin(format="minibench", file="phone.json", digest="e" * 64, count=12)
