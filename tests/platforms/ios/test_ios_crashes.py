from __future__ import annotations

import json
import signal

import pytest

from platforms.ios.apps.crashes import parse_crash

HEADER = json.dumps({"app_name": "EdgeRunner", "bug_type": "309", "os_version": "iPhone OS 18.5 (22F76)"})


def report(**members: object) -> str:
    return f"{HEADER}\n{json.dumps(members)}"


def test_a_crash_has_its_signal_and_its_first_frames() -> None:
    frames = [{"symbol": f"frame_{number}"} for number in range(9)]
    crash = parse_crash(
        report(
            exception={"type": "EXC_BAD_ACCESS", "signal": "SIGSEGV", "subtype": "KERN_INVALID_ADDRESS at 0x10"},
            termination={"namespace": "SIGNAL", "code": 11, "indicator": "Segmentation fault: 11"},
            faultingThread=1,
            threads=[{"frames": [{"symbol": "other"}]}, {"frames": frames}],
        )
    )
    assert crash.signal == signal.SIGSEGV
    assert crash.text.splitlines()[0] == "EXC_BAD_ACCESS SIGSEGV KERN_INVALID_ADDRESS at 0x10"
    assert "Segmentation fault" in crash.text
    assert "  in frame_0" in crash.text
    assert "other" not in crash.text
    assert "frame_8" not in crash.text


def test_what_a_library_said_at_the_end_is_told() -> None:
    crash = parse_crash(
        report(exception={"signal": "SIGABRT"}, asi={"libsystem_c.dylib": ["abort() called", "no\nmodel"]})
    )
    assert crash.signal == signal.SIGABRT
    assert "abort() called" in crash.text
    assert "no model" in crash.text


@pytest.mark.parametrize("namespace", ["JETSAM", "MEMORY"])
def test_an_app_that_used_too_much_memory_is_said_to_have(namespace: str) -> None:
    crash = parse_crash(report(termination={"namespace": namespace, "code": 2147483648}))
    assert crash.signal == signal.SIGKILL
    assert "too much memory" in crash.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEADER,
        f"{HEADER}\n",
        f"{HEADER}\n[]",
        f"{HEADER}\n" + "[" * 100_000,
        report(exception=7, termination=[], threads={}, faultingThread="x", asi=3),
        report(faultingThread=7, threads=[1]),
        report(faultingThread=0, threads=["x"]),
        report(faultingThread=0, threads=[{"frames": [1, {"symbol": 5}]}]),
        report(exception={"signal": "SIG_DFL"}),
        report(exception={"signal": "SIG" + "X" * 1000}),
        "Incident Identifier: 1234\nHardware Model: iPhone",
    ],
)
def test_a_report_of_an_unknown_form_is_no_error(text: str) -> None:
    crash = parse_crash(text)
    assert crash.signal is None
    assert crash.text


def test_a_report_without_an_exception_is_told_by_its_first_line() -> None:
    """As that of memory that became short, in which no process is named as the one that crashed."""
    crash = parse_crash(f'{{"bug_type": "298"}}\n{json.dumps({"largestProcess": "EdgeRunner", "processes": []})}')
    assert crash.text == 'a crash report of an unknown form: {"bug_type": "298"}'
