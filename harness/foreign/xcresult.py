"""`xcresult`: measured blocks of a result bundle of Xcode, as `xcresulttool` prints them. Two shapes are read.

Xcode 16 and later, `xcrun xcresulttool get test-results metrics --path BUNDLE`: a list of tests

    {"testIdentifier": "GenericTests/test_forward_mv2_pte_iOS_17_2_1_iPhone15_4()", "testRuns": [
        {"device": {"deviceId": ..., "deviceName": ...}, "metrics": [{"displayName": "Clock Monotonic Time",
         "identifier": ..., "measurements": [0.0019, ...], "unitOfMeasurement": "s", "polarity": ...}]}]}

Before, `xcrun xcresulttool get --format json --id ID` (later with `--legacy`): an `ActionTestSummary`, whose
`performanceMetrics` are `ActionTestPerformanceMetricSummary` with the same names, each value wrapped as
`{"_value": ...}` or `{"_values": [...]}`. ID is the `summaryRef` of a test. Both shapes were read in public programs
that parse them, and in what `xcresulttool formatDescription` prints; no Mac was here to make one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final

from pydantic import Field

from harness.core.foreign import ForeignContent, ForeignProblem, ForeignRecord
from harness.core.metric import Direction
from harness.core.xctest import CaseMeasured, XCTestCase
from harness.foreign.xctest_runs import XCTestRun, build_record, observe_case
from harness.formats.json_entries import ForeignEntry, Number, Placed, Text, parse_entry, read_entries

_IDENTIFIER: Final = re.compile(r"(?P<class>[\w.]{1,200})/(?P<test>[\w+]{1,400})(?:\(\))?")
_DIRECTIONS: Final = {"prefers larger": Direction.HIGHER, "prefers smaller": Direction.LOWER}
_DEEPEST: Final = 40
_Numbers = Annotated[tuple[Number, ...], Field(max_length=100_000)]


class _Metric(ForeignEntry):
    displayName: Text  # noqa: N815 - the name of the format
    unitOfMeasurement: Text = ""  # noqa: N815
    measurements: _Numbers
    polarity: Text = ""


class _RunDevice(ForeignEntry):
    deviceName: Text = ""  # noqa: N815


class _Run(ForeignEntry):
    device: _RunDevice = _RunDevice()
    metrics: Annotated[tuple[_Metric, ...], Field(max_length=1000)]


class _TestedCase(ForeignEntry):
    testIdentifier: Text  # noqa: N815
    testRuns: Annotated[tuple[_Run, ...], Field(max_length=1000)]  # noqa: N815


class _Summary(ForeignEntry):
    identifier: Text
    testStatus: Text = ""  # noqa: N815
    performanceMetrics: Annotated[tuple[_Metric, ...], Field(max_length=1000)]  # noqa: N815


class XCResultFormat:
    """The format."""

    name = "xcresult"
    marks = "JSON of `xcresulttool` with `testRuns` or `performanceMetrics`, and their `measurements`"

    def recognises(self, text: str, name: str) -> bool:  # noqa: ARG002 - part of the protocol
        """Return whether names are there that no other format has."""
        return '"measurements"' in text and ('"testRuns"' in text or '"performanceMetrics"' in text)

    def read(self, text: str, name: str) -> ForeignContent:  # noqa: ARG002
        """Read the file: one record for each run of a test that measured something."""
        entries, found = read_entries(text)
        problems = list(found)
        records: list[ForeignRecord] = []
        for placed in entries:
            for record in _read_entry(placed):
                if isinstance(record, ForeignProblem):
                    problems.append(record)
                else:
                    records.append(record)
        return ForeignContent(records=tuple(records), problems=tuple(problems))


def create() -> XCResultFormat:
    """Create the format."""
    return XCResultFormat()


def _read_entry(placed: Placed) -> Iterator[ForeignRecord | ForeignProblem]:
    """Yield the runs of a test, at least one of them or a problem."""
    value = placed.value
    if isinstance(value, dict) and "performanceMetrics" in value:
        summary = parse_entry(_Summary, Placed(placed.line, _unwrap(value)))
        if isinstance(summary, ForeignProblem):
            yield summary
            return
        yield _build(placed, summary.identifier, summary.performanceMetrics, "", summary.testStatus)
        return
    entry = parse_entry(_TestedCase, placed)
    if isinstance(entry, ForeignProblem):
        yield entry
    elif not entry.testRuns:
        yield ForeignProblem(place=placed.place, reason="the test has no run")
    else:
        for run in entry.testRuns:
            yield _build(placed, entry.testIdentifier, run.metrics, run.device.deviceName, "")


def _unwrap(value: object, depth: int = 0) -> object:
    """Return a value without its types: `{"_value": x}` is x, `{"_values": [...]}` a list; numbers are texts there."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        return [_unwrap(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    if "_values" in value:
        return _unwrap(value["_values"], depth + 1)
    if "_value" in value:
        return _parse_typed(value)
    return {str(key): _unwrap(item, depth + 1) for key, item in value.items() if key != "_type"}


def _parse_typed(value: Mapping[str, object]) -> object:
    plain, kind = value["_value"], value.get("_type")
    name = kind.get("_name") if isinstance(kind, dict) else None
    if name in {"Double", "Int"} and isinstance(plain, str):
        try:
            return float(plain)
        except ValueError:
            return plain
    return plain


def _build(
    placed: Placed, identifier: str, metrics: Sequence[_Metric], device: str, status: str
) -> ForeignRecord | ForeignProblem:
    match = _IDENTIFIER.fullmatch(identifier)
    if match is None:
        return ForeignProblem(place=placed.place, reason="the identifier of the test is not `CLASS/TEST()`")
    run = XCTestRun(XCTestCase(match["class"], match["test"]), placed.line, placed.line, None)
    for metric in metrics:
        if not metric.measurements:
            continue
        mean = math.fsum(metric.measurements) / len(metric.measurements)
        direction = _DIRECTIONS.get(metric.polarity)
        name, unit = metric.displayName, metric.unitOfMeasurement
        measured = CaseMeasured(placed.line, run.case, name, unit, mean, None, metric.measurements, direction)
        observation = observe_case(measured)
        if observation is not None:
            run.add(observation, measured)
    if status == "Failure":
        run.failed = "the result bundle calls the test failed"
    run.entries = 1
    record = build_record(run)
    named = record.device.model_copy(update={"name": device}) if device else record.device
    return record.model_copy(
        update={
            "device": named,
            "published": None,
            "published_as": "",
            "rounding": 0.0,
            "time_note": "which names none",
        }
    )
