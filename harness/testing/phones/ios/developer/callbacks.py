"""What an app under test tells the one who started its tests: the lines that it writes, as calls of XCTest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from harness.core.xctest import CaseAsserted, CaseBegan, CaseEnded, XCTestCase, parse_log
from harness.testing.phones.ios.developer.archives import ArchivedObject, ArchiveValue

_SUITE: Final = re.compile(r"Test Suite '(?P<name>[^']{1,200})' (?P<how>started|passed|failed)\b")
_PLACE: Final = re.compile(r"(?P<file>/[^:]{1,500}):(?P<line>\d{1,7}): error: ")
_OF_CASE, _OF_CLASS = 2, 3
"""Options of identifiers of tests (`o`)."""


@dataclass(frozen=True, slots=True)
class Callback:
    """A call of the client.

    Attributes:
        selector: Name of the method.
        arguments: Its arguments.
    """

    selector: str
    arguments: Sequence[ArchiveValue] = ()


@dataclass(slots=True)
class _Suite:
    name: str
    tests: int = 0
    failures: int = 0
    skips: int = 0
    duration_s: float = 0.0


@dataclass(slots=True)
class ConsoleReader:
    """Turns lines of a console into callbacks, one line after the other.

    Suites are nested: all tests, those of a bundle, those of a class. Each counts what happens while it is open.
    """

    _open: list[_Suite] = field(default_factory=list)

    def read_line(self, line: str) -> Iterator[Callback]:
        """Yield the callbacks of a line; none for one that says nothing of a test."""
        suite = _SUITE.match(line)
        if suite is not None:
            yield from self._begin(suite["name"]) if suite["how"] == "started" else self._end(suite["name"])
        for event in parse_log(line):
            if isinstance(event, CaseBegan):
                identifier = _identify(event.case)
                run = ArchivedObject("XCTTestCaseRunConfiguration", {"iteration": 1})
                yield Callback("_XCT_testCaseDidStartWithIdentifier:testCaseRunConfiguration:", (identifier, run))
            elif isinstance(event, CaseAsserted):
                issue = _describe_issue(event.message, line)
                yield Callback("_XCT_testCaseWithIdentifier:didRecordIssue:", (_identify(event.case), issue))
            elif isinstance(event, CaseEnded):
                yield self._end_case(event)

    def _begin(self, name: str) -> Iterator[Callback]:
        self._open.append(_Suite(name))
        yield Callback("_XCT_testSuiteWithIdentifier:didStartAt:", (_identify_suite(name), _now()))

    def _end(self, name: str) -> Iterator[Callback]:
        if not self._open or self._open[-1].name != name:
            return
        suite = self._open.pop()
        counts = (suite.tests, suite.skips, suite.failures, 0, 0)
        yield Callback(
            "_XCT_testSuiteWithIdentifier:didFinishAt:runCount:skipCount:failureCount:expectedFailureCount:"
            "uncaughtExceptionCount:testDuration:totalDuration:",
            (_identify_suite(name), _now(), *counts, suite.duration_s, suite.duration_s),
        )

    def _end_case(self, ended: CaseEnded) -> Callback:
        duration_s = _parse_seconds(ended.seconds)
        for suite in self._open:
            suite.tests += 1
            suite.failures += ended.how == "failed"
            suite.skips += ended.how == "skipped"
            suite.duration_s += duration_s
        arguments = (_identify(ended.case), ended.how, duration_s)
        return Callback("_XCT_testCaseWithIdentifier:didFinishWithStatus:duration:", arguments)


def _identify(case: XCTestCase) -> ArchivedObject:
    return ArchivedObject("XCTTestIdentifier", {"c": [case.class_name, case.name], "o": _OF_CASE})


def _identify_suite(name: str) -> ArchivedObject:
    return ArchivedObject("XCTTestIdentifier", {"c": [name], "o": _OF_CLASS})


def _describe_issue(message: str, line: str) -> ArchivedObject:
    place = _PLACE.match(line)
    url = ArchivedObject("NSURL", {"NS.base": None, "NS.relative": f"file://{place['file'] if place else '/'}"})
    number = int(place["line"]) if place else 0
    location = ArchivedObject("XCTSourceCodeLocation", {"file-url": url, "line-number": number})
    return ArchivedObject(
        "XCTIssue",
        {
            "runtimeIssueSeverity": 0,
            "compact-description": message,
            "detailed-description": message,
            "source-code-context": ArchivedObject("XCTSourceCodeContext", {"location": location}),
        },
    )


def _parse_seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # more than one point
        return 0.0


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} +0000"
