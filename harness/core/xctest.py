"""Lines that tests of Xcode write to a console, as events, and what they measured, as observations.

    Test Case '-[Tests test_forward_mv2_pte_iOS_17_2_1_iPhone15_4]' started.
    /x/Tests.mm:62: error: -[Tests test_forward_mv2_pte_iOS_17_2_1_iPhone15_4] : XCTAssertEqual failed: ...
    /x/Tests.mm:90: Test Case '-[Tests test_forward_mv2_pte_iOS_17_2_1_iPhone15_4]' measured [Clock Monotonic Time, s]
        average: 0.010, relative standard deviation: 2.1%, values: [0.010112, ...], ..., polarity: prefers smaller, ...
    Test Case '-[Tests test_forward_mv2_pte_iOS_17_2_1_iPhone15_4]' passed (0.321 seconds).

each on one line. `average` is rounded to milliseconds; `values` has six decimals, and is what counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from harness.core.metric import Direction, Observation

_NUMBER: Final = r"[-+]?\d{1,16}(?:\.\d{1,16})?(?:[eE][-+]?\d{1,2})?"
_CASE: Final = r"-\[(?P<class>[\w.]{1,200})\s+(?P<test>[\w+]{1,400})\]"
_TEST: Final = re.compile(rf"Test Case\s+'{_CASE}'\s+(?P<rest>.*)")
_MEASURED: Final = re.compile(
    rf"measured \[(?P<metric>[^\]]{{1,120}})\]\s+average:\s+(?P<average>{_NUMBER})"
    rf"(?:,\s+relative standard deviation:\s+(?P<spread>{_NUMBER})%)?"
    r"(?:,\s+values:\s+\[(?P<values>[^\]]*)\])?(?P<rest>.*)"
)
_ENDED: Final = re.compile(r"(?P<how>passed|failed|skipped) \((?P<seconds>[\d.]{1,12}) seconds\)")
_ASSERTED: Final = re.compile(rf": error: {_CASE} : (?P<message>.*)")
_STARTED: Final = re.compile(r"started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)")
_CLOCK: Final = "Clock Monotonic Time"
_BY_METHOD: Final = {
    "forward": ("NET", "latency"),
    "load": ("RUN", "load_time"),
    "generate": ("LLM", "generate_time"),
}
_KNOWN: Final = {
    "CPU Time": ("NET", "cpu_time"),
    "Memory Peak Physical": ("RUN", "peak_memory"),
    "Tokens Per Second": ("LLM", "decode_rate"),
}
_UNITS: Final = {"t/s": "tokens/s"}
_MOST_VALUES: Final = 100_000


class XCTestCase(Struct, frozen=True):
    """Name of a test: `-[class_name name]`."""

    class_name: str
    name: str


class SuiteBegan(Struct, frozen=True):
    """A suite of tests began.

    Attributes:
        line: 1-based line of the log.
        time: Unix seconds; the log names no time zone, and UTC is assumed. None where there is no such day.
    """

    line: int
    time: float | None


class CaseBegan(Struct, frozen=True):
    """A test began."""

    line: int
    case: XCTestCase


class CaseMeasured(Struct, frozen=True):
    """A test measured a metric.

    Attributes:
        line: 1-based line of the log.
        case: The test.
        metric: Name of the metric, as Xcode has it.
        unit: Its unit, as Xcode has it; `kB` are 1000 bytes.
        average: Average as printed, rounded to three decimals.
        spread_percent: Relative standard deviation in percent, if printed.
        values: Values in measured order; empty where none are printed.
        direction: Which way is better, if the line says.
    """

    line: int
    case: XCTestCase
    metric: str
    unit: str
    average: float
    spread_percent: float | None
    values: tuple[float, ...]
    direction: Direction | None


class CaseAsserted(Struct, frozen=True):
    """An assertion of a test failed, with its message."""

    line: int
    case: XCTestCase
    message: str


class CaseEnded(Struct, frozen=True):
    """A test came to its end.

    Attributes:
        line: 1-based line of the log.
        case: The test.
        how: `passed`, `failed` or `skipped`.
        seconds: How long it took, as printed.
    """

    line: int
    case: XCTestCase
    how: str
    seconds: str


class BadLine(Struct, frozen=True):
    """A line that measures something, and cannot be read."""

    line: int
    reason: str


XCTestEvent = SuiteBegan | CaseBegan | CaseMeasured | CaseAsserted | CaseEnded | BadLine


def parse_log(text: str) -> Iterator[XCTestEvent]:
    """Yield what the lines of a log say of its tests, in order. Never raises."""
    for number, line in enumerate(text.splitlines(), 1):
        if (started := _STARTED.search(line)) is not None:
            yield SuiteBegan(number, _parse_time(started[1]))
        is_measured = "measured [" in line
        if (test := _TEST.search(line)) is not None:
            event = _parse_test(number, XCTestCase(test["class"], test["test"]), test["rest"], is_measured=is_measured)
            if event is not None:
                yield event
        elif is_measured:
            yield BadLine(number, "no name of a test: `Test Case '-[...]'`")
        elif (asserted := _ASSERTED.search(line)) is not None:
            yield CaseAsserted(number, XCTestCase(asserted["class"], asserted["test"]), asserted["message"].strip())


def observe(measured: CaseMeasured, method: str = "") -> Observation | None:
    """Return what a test measured in our words; None if a figure is not finite.

    Args:
        measured: The metric.
        method: What ExecuTorch's test does: `forward`, `load` or `generate`; empty for other tests.
    """
    type_, metric = _KNOWN.get(measured.metric, ("NET", measured.metric))
    if measured.metric == _CLOCK:
        type_, metric = _BY_METHOD.get(method, ("NET", "latency"))
    elif metric == "peak_memory" and method == "load":
        metric = "peak_load_memory"
    unit = _UNITS.get(measured.unit, measured.unit)
    if measured.values:
        return Observation(type=type_, metric=metric, unit=unit, samples=measured.values)
    spread = measured.spread_percent
    summary = {"mean": measured.average}
    if spread is not None:
        summary["stdev"] = measured.average * spread / 100
    if not all(map(math.isfinite, summary.values())):
        return None
    return Observation(type=type_, metric=metric, unit=unit, summary=summary)


def _parse_test(number: int, case: XCTestCase, rest: str, *, is_measured: bool) -> XCTestEvent | None:
    if is_measured:
        return _parse_measured(number, case, rest)
    if (ended := _ENDED.match(rest)) is not None:
        return CaseEnded(number, case, ended["how"], ended["seconds"])
    return CaseBegan(number, case) if rest.startswith("started") else None


def _parse_measured(number: int, case: XCTestCase, rest: str) -> CaseMeasured | BadLine:
    match = _MEASURED.match(rest)
    if match is None:
        return BadLine(number, "not `measured [...] average: ...`")
    name, _, unit = (part.strip() for part in match["metric"].rpartition(","))
    values = list(_parse_values(match["values"] or ""))
    finite = [value for value in values if value is not None]
    if len(finite) < len(values) or len(values) > _MOST_VALUES:
        return BadLine(number, "`values` is not a list of numbers")
    return CaseMeasured(
        line=number,
        case=case,
        metric=name or unit,
        unit=unit if name else "",
        average=float(match["average"]),
        spread_percent=float(match["spread"]) if match["spread"] else None,
        values=tuple(finite),
        direction=_parse_direction(match["rest"]),
    )


def _parse_direction(text: str) -> Direction | None:
    if "prefers larger" in text:
        return Direction.HIGHER
    return Direction.LOWER if "prefers smaller" in text else None


def _parse_values(text: str) -> Iterator[float | None]:
    for part in text.split(",")[: _MOST_VALUES + 1] if text.strip() else ():
        yield float(part) if re.fullmatch(_NUMBER, part.strip()) else None


def _parse_time(text: str) -> float | None:
    """Return Unix seconds of `2025-09-18 22:36:38.395`, taken as UTC; None where there is no such day."""
    try:
        return datetime.fromisoformat(text.partition(".")[0]).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return None
