"""Apps of stand-in iPhones that run tests of Xcode: programs that write what such tests write to the console."""

from __future__ import annotations

import plistlib
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.testing.phones.ios.apps.packages import make_package

BENCHMARK_BUNDLE: Final = "org.pytorch.executorch.Benchmark"
"""Bundle identifier of ExecuTorch's Benchmark app."""
_METRIC: Final = "Clock Monotonic Time, s"
_CONSTRAINTS: Final = (
    'performanceMetricID:com.apple.dt.XCTMetric_Clock.time.monotonic, baselineName: "", polarity: prefers smaller'
)
_DATE: Final = "2026-01-01 00:00:00.000"


@dataclass(frozen=True, slots=True)
class XCTestScript:
    """A test, and what happens in it.

    Attributes:
        name: Name of its method.
        values_s: Seconds that it measures; nothing is measured without any.
        failure: Message of an assertion that fails.
        then: Command of a shell that it runs before it ends, as in `kill -SEGV $$` or `sleep 600`.
    """

    name: str
    values_s: Sequence[float] = ()
    failure: str = ""
    then: str = ""


def xctest_app(
    folder: Path,
    tests: Sequence[XCTestScript],
    *,
    bundle: str = BENCHMARK_BUNDLE,
    name: str = "Benchmark",
    class_name: str = "GenericTests",
    test_bundle: str = "Tests.xctest",
    files: Mapping[str, Path] | None = None,
) -> Path:
    """Write the package of an app that hosts a bundle of tests, and runs all of them when it is started.

    Args:
        folder: Where it is written.
        tests: Its tests, in order.
        bundle: Bundle identifier.
        name: Name of the app.
        class_name: Class of the tests.
        test_bundle: Bundle of the tests, in `PlugIns`.
        files: Further files of the app's bundle.
    """
    with tempfile.TemporaryDirectory() as parts:
        program, info = Path(parts) / "program", Path(parts) / "Info.plist"
        program.write_text("\n".join(_write_program(tests, class_name, test_bundle)))
        info.write_bytes(plistlib.dumps({"CFBundleIdentifier": f"{bundle}.Tests"}, fmt=plistlib.FMT_BINARY))
        contents = {f"PlugIns/{test_bundle}/Info.plist": info, **(files or {})}
        return make_package(folder, program, bundle=bundle, name=name, files=contents)


def _write_program(tests: Sequence[XCTestScript], class_name: str, test_bundle: str) -> Iterator[str]:
    yield "#!/bin/sh"
    yield "ulimit -c 0"
    suites = ("All tests", test_bundle, class_name)
    for suite in suites:
        yield _print(f"Test Suite '{suite}' started at {_DATE}")
    for test in tests:
        yield from _write_test(test, f"-[{class_name} {test.name}]")
    failures = sum(bool(test.failure) for test in tests)
    for suite in reversed(suites):
        yield _print(f"Test Suite '{suite}' {'failed' if failures else 'passed'} at {_DATE}")
        yield _print(
            f"\t Executed {len(tests)} tests, with {failures} failures (0 unexpected) in 0.001 (0.001) seconds"
        )
    yield ""


def _write_test(test: XCTestScript, name: str) -> Iterator[str]:
    yield _print(f"Test Case '{name}' started.")
    if test.values_s:
        average = sum(test.values_s) / len(test.values_s)
        values = ", ".join(f"{value:.6f}" for value in test.values_s)
        measured = f"measured [{_METRIC}] average: {average:.3f}, relative standard deviation: 0.000%"
        yield _print(f"/Tests.mm:90: Test Case '{name}' {measured}, values: [{values}], {_CONSTRAINTS}")
    if test.failure:
        yield _print(f"/Tests.mm:62: error: {name} : {test.failure}")
    if test.then:
        yield test.then
    yield _print(f"Test Case '{name}' {'failed' if test.failure else 'passed'} (0.001 seconds).")


def _print(line: str) -> str:
    return f"printf '%s\\n' {shlex.quote(line)}"
