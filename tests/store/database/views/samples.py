"""Small stores with results whose figures are known exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import count

import pytest

from harness.core.build import BuildInfo
from harness.core.comparison import Comparison, Parameters
from harness.core.device import Device
from harness.core.metric import Direction, LaunchInterval, Metric
from harness.core.origin import Origin
from harness.core.outcome import Outcome
from harness.core.result import Result
from harness.core.verdict import Verdict
from harness.store.database.engine import Database
from harness.store.database.writing import NewResult, store_results
from harness.store.history import Page, Period, Selection, compute_cell_key
from harness.testing.results import DEVICE, failed_result, ok_result

START = 1_760_000_000.0
DAY = 86_400.0
ALL, ALWAYS, FIRST = Selection(), Period(), Page()
PHONE = DEVICE.model_copy(update={"identity": "phone-1", "name": "Pixel 8", "platform": "android"})
OTHER_PHONE = DEVICE.model_copy(update={"identity": "phone-2", "name": "Galaxy S24", "platform": "android"})
_numbers = count()


def sha(day: int) -> str:
    """Return the id of the commit of a day."""
    return f"{day:08x}" * 5


def build(day: int, **changes: object) -> BuildInfo:
    """Return the build of the commit of a day."""
    commit = BuildInfo(source="git:/src/x", commit=sha(day), commit_time=int(START + day * DAY), recipe="native")
    return commit.model_copy(update=changes)


def metric(
    name: str = "NET latency",
    median: float = 10.0,
    *,
    unit: str = "ms",
    interval: tuple[float, float] | None = None,
    direction: Direction = Direction.LOWER,
) -> Metric:
    """Return a metric of one sample, with an interval where one is given."""
    kind, _, what = name.partition(" ")
    return Metric(
        name=name,
        type=kind,
        metric=what,
        unit=unit,
        direction=direction,
        samples=(median,),
        launches=(0,),
        summary={"n": 1.0, "p50": median},
        interval=None
        if interval is None
        else LaunchInterval(low=interval[0], high=interval[1], confidence=0.95, launches=5),
    )


def good(
    day: int,
    *metrics: Metric,
    device: Device | None = DEVICE,
    backend: str = "xnnpack",
    model: str = "mv2",
    digest: str = "",
    started: float | None = None,
    origin: Origin | None = None,
    comparison: Comparison | None = None,
    **changes: object,
) -> Result:
    """Return a good result of the commit of a day, measured a minute later."""
    moment = START + day * DAY + 60 if started is None else started
    result = ok_result(model=model, identifier=f"{model}-{backend}", build=build(day), device=device, started=moment)
    return _adapt(
        result,
        backend,
        digest,
        {"metrics": metrics or (metric(),), "origin": origin, "comparison": comparison, **changes},
    )


def bad(
    day: int,
    outcome: Outcome = Outcome.CRASHED,
    reason: str = "SIGSEGV",
    *,
    device: Device | None = DEVICE,
    backend: str = "xnnpack",
    model: str = "mv2",
    digest: str = "",
    started: float | None = None,
) -> Result:
    """Return a result without numbers of the commit of a day."""
    moment = START + day * DAY + 60 if started is None else started
    result = failed_result(
        outcome,
        model=model,
        identifier=f"{model}-{backend}",
        reason=reason,
        device=device,
        build=build(day),
        started=moment,
    )
    return _adapt(result, backend, digest, {})


def against(day: int, change: float, verdict: Verdict = Verdict.REGRESSION, *, half: float = 0.005) -> Comparison:
    """Return a comparison with the commit of a day; `change` is a log ratio."""
    return Comparison(
        control=build(day),
        metric="NET latency",
        unit="ms",
        parameters=Parameters(seed=1),
        verdict=verdict,
        difference=math.expm1(change),
        low=math.expm1(change - half),
        high=math.expm1(change + half),
    )


def foreign(count_: int = 3) -> Origin:
    """Return the origin of a figure that another tool measured."""
    return Origin(format="llama-bench", file="bench.json", digest="e" * 64, count=count_)


def keep(database: Database, *results: Result, category: str = "") -> list[str]:
    """Store results in their order; return their uids."""
    now = max(result.finished for result in results) + 60
    store_results(database, [NewResult(result, category=category) for result in results], now=now)
    return [result.uid for result in results]


def key_of(result: Result) -> str:
    """Return the key of a result's cell."""
    return compute_cell_key(result.benchmark.digest, result.device.identity if result.device else "")


def near(value: float | None) -> object:
    """Return what equals a number up to rounding."""
    return pytest.approx(value, rel=1e-9)


def uids(rows: Iterable[object]) -> list[str]:
    """Return the uids of rows."""
    return [str(getattr(row, "uid", "")) for row in rows]


def _adapt(result: Result, backend: str, digest: str, changes: dict[str, object]) -> Result:
    title = f"{result.benchmark.model}-{backend}-{digest}"
    benchmark = result.benchmark.model_copy(
        update={"digest": title.encode().hex().ljust(64, "0")[:64], "axes": {"backend": backend}}
    )
    uid = f"uid-{next(_numbers):06d}"
    return result.model_copy(update={"uid": uid, "benchmark": benchmark, **changes})
