"""What is said to a phone's shell, and what of its answer is ours. No phone is needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.command import Command
from harness.core.errors import BenchmarkFailed
from platforms.android.launch import script
from platforms.android.launch.logcat import chosen
from platforms.android.launch.script import Around

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


def around(cpus: tuple[int, ...] = ()) -> Around:
    return Around(own="/o", folder="/o/f", began="/o/f/began", watched="/o/w", cpus=cpus)


def test_an_answer_is_taken_apart() -> None:
    ending = script.ending((ANSWER % "out").encode(), MARK)
    assert ending is not None
    assert (ending.code, ending.pid, ending.out) == (139, 1234, b"out")
    assert ending.wall_s == 2.5
    assert ending.cpu_s == pytest.approx(61.4)
    assert ending.began == "11-20 10:07:10.000"
    assert ending.state.startswith("[battery]")
    assert ending.files == "0123abcd"


@given(st.text())
def test_whatever_a_program_writes_stays_its_own(text: str) -> None:
    ending = script.ending(ANSWER.replace("%s", text).encode("utf-8", "surrogatepass"), MARK)
    assert ending is not None
    assert ending.out == text.encode("utf-8", "surrogatepass")


@given(st.integers(0, len(ANSWER) - 1))
def test_half_an_answer_is_none(length: int) -> None:
    assert script.ending((ANSWER % "out")[:length].encode(), MARK) is None
    assert b"ended" not in script.written((ANSWER % "out")[:60].encode(), MARK)


@given(st.binary())
def test_no_answer_breaks_anything(answer: bytes) -> None:
    assert script.ending(answer, MARK) is None
    assert script.written(answer, MARK) == b""


def test_a_shell_without_microseconds_tells_no_time() -> None:
    without = (ANSWER % "out").replace("1700000000.250000", "").replace("1700000002.750000", "")
    ending = script.ending(without.encode(), MARK)
    assert ending is not None
    assert ending.wall_s is None


@pytest.mark.parametrize(
    ("clock", "since_boot", "seconds"),
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
def test_a_clock_that_is_set_meanwhile_is_not_believed(
    clock: tuple[str, str], since_boot: tuple[str, str], seconds: float | None
) -> None:
    assert script.elapsed_s(clock, since_boot) == seconds


def test_masks_come_from_the_cores_that_are_asked_for() -> None:
    assert around((0, 4, 7)).prefix == ("taskset", "91")
    assert around().prefix == ()


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A=B", "A B", "A;B"])
def test_variables_have_names_that_shells_take(name: str) -> None:
    with pytest.raises(BenchmarkFailed, match="no name"):
        script.line(Command(("true",), env={name: "x"}), around(), MARK)


def test_of_the_log_only_what_is_about_the_program_is_taken() -> None:
    log = [
        "--------- beginning of main",
        "11-20 10:26:00.123  1234  1240 I runner  : mine",
        "11-20 10:26:00.124   555   555 I other   : not mine",
        "11-20 10:26:00.125   556   556 F DEBUG   : signal 11 (SIGSEGV)",
        "11-20 10:26:00.126   557   557 I lowmemorykiller: Kill 'runner' (1234), uid 2000",
        "11-20 10:26:00.127   558   558 E AndroidRuntime: FATAL EXCEPTION: main",
        "nonsense",
    ]
    assert list(chosen(log, 1234)) == [log[1], log[3], log[4], log[5]]
