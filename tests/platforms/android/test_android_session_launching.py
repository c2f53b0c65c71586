"""Launch lines and reports of programs. No phone is needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.command import Command
from harness.core.errors import BenchmarkFailed
from platforms.android.launch.logcat import select_lines
from platforms.android.launch.script import LaunchContext, elapsed_s, launch_line, parse_report, partial_output

MARK = "5ec0de"
ANSWER = """
5ec0de began 11-20 10:07:10.000
0m00.01s 0m00.02s
0m00.10s 0m00.20s

5ec0de 1700000000.250000
%s
5ec0de ended 139 1234 1700000002.750000
0m00.01s 0m00.03s
0m01.30s 1m00.40s

5ec0de after
[battery]
[end]

5ec0de files
0123abcd  -

5ec0de done
"""


def context(cpus: tuple[int, ...] = ()) -> LaunchContext:
    return LaunchContext(workdir="/o", folder="/o/f", began="/o/f/began", watched="/o/w", cpus=cpus)


def test_a_report_is_parsed() -> None:
    report = parse_report((ANSWER % "out").encode(), MARK)
    assert report is not None
    assert (report.code, report.pid, report.out) == (139, 1234, b"out")
    assert report.wall_s == 2.5
    assert report.cpu_s == pytest.approx(61.4)
    assert report.began == "11-20 10:07:10.000"
    assert report.state.startswith("[battery]")
    assert report.files == "0123abcd"


@given(st.text())
def test_whatever_a_program_writes_stays_its_own(text: str) -> None:
    report = parse_report(ANSWER.replace("%s", text).encode("utf-8", "surrogatepass"), MARK)
    assert report is not None
    assert report.out == text.encode("utf-8", "surrogatepass")


@given(st.integers(0, len(ANSWER) - 1))
def test_an_incomplete_report_is_none(length: int) -> None:
    assert parse_report((ANSWER % "out")[:length].encode(), MARK) is None
    assert b"ended" not in partial_output((ANSWER % "out")[:60].encode(), MARK)


@given(st.binary())
def test_any_bytes_are_no_report(answer: bytes) -> None:
    assert parse_report(answer, MARK) is None
    assert partial_output(answer, MARK) == b""


def test_a_shell_without_microseconds_gives_no_time() -> None:
    without = (ANSWER % "out").replace("1700000000.250000", "").replace("1700000002.750000", "")
    report = parse_report(without.encode(), MARK)
    assert report is not None
    assert report.wall_s is None


@pytest.mark.parametrize(
    ("clock", "uptime", "seconds"),
    [
        pytest.param(("100.25", "102.75"), ("7.10", "9.62"), 2.5, id="fine"),
        pytest.param(("100.25", "100.75"), ("7.10", "9.60"), 2.5, id="set back meanwhile"),
        pytest.param(("100.25", "100.15"), ("7.10", "9.60"), 2.5, id="set back before its start"),
        pytest.param(("100.25", "3700.25"), ("7.10", "9.60"), 2.5, id="set forward"),
        pytest.param(("", ""), ("7.10", "9.60"), 2.5, id="no microseconds"),
        pytest.param(("100.25", "102.75"), ("", ""), 2.5, id="no time since boot"),
        pytest.param(("", ""), ("", ""), None, id="no clock"),
    ],
)
def test_a_clock_that_is_set_meanwhile_is_ignored(
    clock: tuple[str, str], uptime: tuple[str, str], seconds: float | None
) -> None:
    assert elapsed_s(clock, uptime) == seconds


def test_masks_contain_the_requested_cpus() -> None:
    assert context((0, 4, 7)).pin_prefix == ("taskset", "91")
    assert context().pin_prefix == ()


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A=B", "A B", "A;B"])
def test_invalid_variable_names_are_refused(name: str) -> None:
    with pytest.raises(BenchmarkFailed, match="no name"):
        launch_line(Command(("true",), env={name: "x"}), context(), MARK)


def test_only_log_lines_about_the_program_are_selected() -> None:
    log = [
        "--------- beginning of main",
        "11-20 10:26:00.123  1234  1240 I runner  : mine",
        "11-20 10:26:00.124   555   555 I other   : not mine",
        "11-20 10:26:00.125   556   556 F DEBUG   : signal 11 (SIGSEGV)",
        "11-20 10:26:00.126   557   557 I lowmemorykiller: Kill 'runner' (1234), uid 2000",
        "11-20 10:26:00.127   558   558 E AndroidRuntime: FATAL EXCEPTION: main",
        "nonsense",
    ]
    assert list(select_lines(log, 1234)) == [log[1], log[3], log[4], log[5]]
