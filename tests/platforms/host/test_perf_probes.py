"""Probes by `perf`: the real tool where it is, and its output line by line."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.command import Command, Completed
from harness.core.errors import EnvironmentProblem
from harness.testing.frameworks import benchmark_of
from harness.testing.probes import check_probe
from harness.testing.progress import RecordedProgress
from platforms.host.platform import Host
from platforms.host.probes import perf, perf_record, perf_stat
from platforms.host.probes.perf_record import parse_samples
from platforms.host.probes.perf_stat import parse_counts
from platforms.host.session import HostSession

COUNTS = """# started on Mon Nov 23 13:48:40 2026

<not supported>;;instructions;0;100.00;;
0.72;msec;task-clock;717246;100.00;0.078;CPUs utilized
1,5;msec;cpu-clock:u;717246;100.00;;
59;;page-faults;717246;100.00;82.260;K/sec
4242;;cycles;358000;49.91;;
<not counted>;;branch-misses;0;0.00;;
"""
"""Of `perf stat -x ';'` 6.1 on a virtual machine; the line with a comma is of a German locale."""

SAMPLES = """runner
\t    7f1c0a2b3c4d xnn_gemm (/opt/lib/libxnnpack.so)
\t    7f1c0a2b3c00 [unknown] (/opt/lib/libxnnpack.so)
\t    55d0c0ffee00 operator new(unsigned long) (/opt/bin/runner)

runner
\tffffffff81000000 [unknown] ([kernel.kallsyms])

"""
"""Of `perf script -F comm,ip,sym,dso --no-inline`."""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[HostSession]:
    host = Host(tmp_path / "work", lock_path=tmp_path / "lock")
    with host.open(host.devices()[0], RecordedProgress()) as opened:
        assert isinstance(opened, HostSession)
        yield opened


@pytest.fixture
def observed(session: HostSession) -> HostSession:
    """A session on a machine whose `perf` may observe programs."""
    if shutil.which("perf") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("no perf: apt install linux-perf")
    problem = perf.find_problem(session)
    if problem is not None:  # a container may forbid it
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(problem.reason)
    return session


@pytest.mark.slow
def test_events_of_real_programs_are_counted(observed: HostSession) -> None:
    reading = check_probe(perf_stat.create, "perf-stat", observed, benchmark_of("executorch", iterations=20))
    names = {each.name for launch in reading.observations for each in launch}
    assert {"RUN task_clock", "RUN page_faults"} <= names
    assert [artifact.name for artifact in reading.artifacts] == ["perf-stat.csv"]


@pytest.mark.slow
def test_stacks_of_real_programs_are_sampled(observed: HostSession) -> None:
    busy = (sys.executable, "-c", "sum(sorted(range(n % 1000, -1, -1))[0] for n in range(30_000))")
    reading = check_probe(perf_record.create, "perf-record", observed, benchmark_of("executorch", iterations=1), busy)
    assert reading.samples is not None
    assert reading.samples > 20
    assert any(frame.symbol.startswith("python") for frame in reading.stacks if frame.depth == 0)
    assert sum(function.share for function in reading.functions) == pytest.approx(1.0, abs=0.2)
    assert {artifact.name for artifact in reading.artifacts} == {"perf-record.folded.txt", "perf-record.data"}


@pytest.mark.slow
def test_a_crash_is_a_crash_under_perf_stat_which_ends_well(observed: HostSession) -> None:
    probed = perf_stat.PerfStat().wrap(Command(("sh", "-c", "kill -SEGV $$"), cpus=()), observed)
    assert observed.run(probed.command).signal == signal.SIGSEGV


def test_counts_are_read_with_units_shares_and_absences() -> None:
    counts = {count.event: count for count in parse_counts(COUNTS)}
    assert (counts["instructions"].value, counts["instructions"].absence) == (None, "not supported")
    assert (counts["task-clock"].value, counts["task-clock"].unit) == (0.72, "ms")
    assert (counts["cpu-clock"].value, counts["cpu-clock"].user_only) == (1.5, True)
    assert (counts["page-faults"].value, counts["page-faults"].unit) == (59.0, "")
    assert counts["cycles"].running == pytest.approx(0.4991)
    assert counts["branch-misses"].absence == "not counted"


def test_stacks_are_read_with_modules_for_unknown_names() -> None:
    profile, is_hidden = parse_samples(SAMPLES.splitlines(keepends=True))
    assert is_hidden
    assert profile.samples == 2
    assert profile.fold().splitlines() == [
        "runner;[unknown] 1",
        "runner;operator new(unsigned long);[libxnnpack.so];xnn_gemm 1",
    ]


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    list(parse_counts(text))
    parse_samples(text.splitlines(keepends=True))


class _Answering:
    """A session whose machine answers as given."""

    def __init__(self, *answers: Completed | EnvironmentProblem) -> None:
        self._answers = list(answers)

    def run(self, command: Command) -> Completed:
        answer = self._answers.pop(0)
        if isinstance(answer, EnvironmentProblem):
            raise answer
        return answer


def answer(exit_code: int, stdout: str = "", stderr: str = "") -> Completed:
    return Completed(Command(("perf",)), exit_code, stdout=stdout, stderr=stderr)


def test_other_systems_are_told_that_perf_is_of_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    problem = perf.find_problem(_Answering())  # type: ignore[arg-type]
    assert problem is not None
    assert problem.reason == "`perf` is a tool of Linux"


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ((EnvironmentProblem("no such program"),), "`perf` is not installed"),
        ((answer(2, stderr="WARNING: perf not found for kernel 6.1"),), "does not work"),
        ((answer(0), answer(255), answer(0, "4\n")), "kernel.perf_event_paranoid is 4"),
        ((answer(0), answer(255, stderr="Operation not permitted"), answer(0, "2\n")), "Operation not permitted"),
        ((answer(0), answer(255), answer(1)), "may not observe programs here"),
        ((answer(0), answer(255), answer(0, "x" * 100)), "may not observe programs here"),
    ],
)
def test_missing_tools_and_permissions_are_said_in_words(
    answers: tuple[Completed | EnvironmentProblem, ...], reason: str
) -> None:
    problem = perf.find_problem(_Answering(*answers))  # type: ignore[arg-type]
    assert problem is not None
    assert reason in problem.reason
    assert problem.hint
