"""What tests measured, from the result bundle of xcodebuild (`xcresulttool get test-results metrics`, Xcode 16.3)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from harness import shell
from harness.core.command import Command
from harness.core.xctest import CaseMeasured, parse_log
from platforms.ios.link.devicectl.documents import DevicectlDocument, LenientText

_EXPORT_S: Final = 120.0
_TEST: Final = re.compile(r"(?P<class>[\w.]{1,200})/(?P<test>[\w+]{1,400})(?:\(\))?")
_NAME: Final = re.compile(r"[^\]\n\r,]{1,100}")
_LARGEST: Final = 1e15
"""Beyond what a log prints in full."""


class MeasuredMetric(DevicectlDocument):
    """A metric of a test, with its values in measured order."""

    display_name: LenientText = ""
    unit_of_measurement: LenientText = ""
    identifier: LenientText = ""
    polarity: LenientText = ""
    measurements: tuple[float, ...] = ()


class MeasuredRun(DevicectlDocument):
    """A test on one device."""

    metrics: tuple[MeasuredMetric, ...] = ()


class MeasuredTest(DevicectlDocument):
    """A test that measured something."""

    test_identifier: LenientText = ""
    test_runs: tuple[MeasuredRun, ...] = ()


_TESTS: Final = TypeAdapter(tuple[MeasuredTest, ...])


def read_metrics(xcrun: Path, bundle: Path) -> str:
    """Return what a result bundle holds; empty where this Xcode cannot tell, or nothing was measured."""
    argv = (str(xcrun), "xcresulttool", "get", "test-results", "metrics", "--path", str(bundle), "--compact")
    completed = shell.run(Command(argv, timeout_s=_EXPORT_S))
    return completed.stdout if completed.ok else ""


def add_metrics(log: str, metrics: str) -> str:
    """Return a log with lines for what tests measured, and the log does not say.

    Args:
        log: What xcodebuild wrote; newer versions leave out what tests measured.
        metrics: What the result bundle holds.
    """
    try:
        tests = _TESTS.validate_json(metrics)
    except ValidationError:
        return log
    known = {
        (event.case.class_name, event.case.name, event.metric)
        for event in parse_log(log)
        if isinstance(event, CaseMeasured)
    }
    lines = [line for test in tests for line in _format_test(test, known)]
    separator = "" if not log or log.endswith("\n") else "\n"
    return "".join((log, separator, *(f"{line}\n" for line in lines))) if lines else log


def _format_test(test: MeasuredTest, known: set[tuple[str, str, str]]) -> Iterator[str]:
    name = _TEST.fullmatch(test.test_identifier)
    if name is None:
        return
    for metric in (metric for run in test.test_runs for metric in run.metrics):
        is_named = _NAME.fullmatch(metric.display_name) and _NAME.fullmatch(metric.unit_of_measurement)
        if is_named and (name["class"], name["test"], metric.display_name) not in known and _is_printable(metric):
            yield _format_metric(f"-[{name['class']} {name['test']}]", metric)


def _is_printable(metric: MeasuredMetric) -> bool:
    values = metric.measurements
    return bool(values) and all(math.isfinite(value) and abs(value) < _LARGEST for value in values)


def _format_metric(case: str, metric: MeasuredMetric) -> str:
    """Return the line that Xcode writes to a console for it."""
    average = math.fsum(metric.measurements) / len(metric.measurements)
    values = ", ".join(f"{value:.9f}" for value in metric.measurements)
    polarity = f", polarity: {metric.polarity}" if _NAME.fullmatch(metric.polarity) else ""
    measured = f"measured [{metric.display_name}, {metric.unit_of_measurement}] average: {average:.3f}"
    return f"Test Case '{case}' {measured}, values: [{values}]{polarity}"
