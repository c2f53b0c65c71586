"""Probes by simpleperf: its output by its source, and on stand-in phones a program that behaves as it does."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.command import Command
from harness.core.probe import ProbeRequest
from harness.core.protocols import Probe
from harness.testing.frameworks import benchmark_of
from harness.testing.probes import check_probe
from platforms.android.link.phone import Phone
from platforms.android.probes import simpleperf, simpleperf_record, simpleperf_stat
from platforms.android.probes.simpleperf_record import parse_samples
from platforms.android.probes.simpleperf_stat import parse_counts
from platforms.android.session import AndroidSession

STAND_IN = Path(__file__).with_name("simpleperf_stand_in.sh")
TEXT = STAND_IN.read_text()
SAMPLES = TEXT[TEXT.index("sample:\n") : TEXT.index("\nEND")]

COUNTS = """Performance counter statistics,
count,event,no count
98765432,cpu-cycles,2.841207,GHz,(52%),
12.345600(ms),task-clock,0.900000,CPUs utilized,(100%),
321,page-faults:u,26.001,K/sec,(100%),
0,context-switches,0,/sec,(100%),
Total test time,0.013717,seconds,
"""


def test_counts_are_read_with_units_and_shares() -> None:
    counts = {count.event: count for count in parse_counts(COUNTS)}
    assert set(counts) == {"cpu-cycles", "task-clock", "page-faults", "context-switches"}
    assert (counts["cpu-cycles"].value, counts["cpu-cycles"].running) == (98765432.0, 0.52)
    assert (counts["task-clock"].value, counts["task-clock"].unit) == (12.3456, "ms")
    assert (counts["page-faults"].value, counts["page-faults"].user_only) == (321.0, True)
    assert counts["context-switches"].value == 0.0


def test_samples_are_read_from_the_innermost_function_outwards() -> None:
    profile = parse_samples(SAMPLES.splitlines(keepends=True))
    assert profile.samples == 2
    assert profile.fold().splitlines() == ["runner;__libc_init;conv(float*) 1", "runner;finish_task_switch 1"]
    assert {each.module for each in profile.list_functions()} == {"/data/local/tmp/runner", "[kernel.kallsyms]"}


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    list(parse_counts(text))
    parse_samples(text.splitlines(keepends=True))


@pytest.fixture
def program(session: AndroidSession) -> str:
    """The stand-in for simpleperf, on the phone."""
    return session.stage({}, {"simpleperf": STAND_IN}).programs["simpleperf"]


def _with_program(program: str, name: str) -> Probe:
    return _create(ProbeRequest(name=name), program)


def _create(request: ProbeRequest, program: str) -> Probe:
    create = simpleperf_stat.create if request.name == "simpleperf-stat" else simpleperf_record.create
    return create(request.model_copy(update={"options": {"program": program, **request.options}}))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["simpleperf-stat", "simpleperf"])
def test_probes_keep_their_contract_on_a_phone(session: AndroidSession, program: str, name: str) -> None:
    reading = check_probe(
        lambda request: _create(request, program), name, session, benchmark_of("executorch", iterations=20)
    )
    if name == "simpleperf":
        assert (reading.samples, len(reading.functions)) == (2, 2)
        return
    assert {each.name for each in reading.observations[1]} >= {"RUN task_clock", "NET page_faults"}
    codes = [note.code for note in reading.notes]
    assert codes == ["counters_absent", "counters_shared", "counters_hidden"], (
        "the stand-in counts the same in any launch"
    )


@pytest.mark.slow
def test_a_crash_is_a_crash_and_the_phone_stays_as_it_was(session: AndroidSession, program: str, phone: Phone) -> None:
    phone.sh("setprop security.perf_harden 1")
    probe = _with_program(program, "simpleperf-stat")
    assert probe.find_problem(session) is None
    crash = Command(("sh", "-c", 'kill -SEGV $$; echo "$A"'), env={"A": "b c"})
    completed = session.run(probe.wrap(crash, session).command)
    assert completed.signal == signal.SIGSEGV
    echo = Command(("sh", "-c", 'echo "$A"'), env={"A": "b c"})
    assert session.run(probe.wrap(echo, session).command).stdout.strip() == "b c"
    assert phone.sh("getprop security.perf_harden").stdout.strip() == "1"


@pytest.mark.slow
def test_missing_tools_and_permissions_are_said_in_words(session: AndroidSession, tmp_path: Path) -> None:
    missing = simpleperf.find_problem(session, "simpleperf")
    assert missing is not None
    assert missing.reason == "`simpleperf` is not on this phone"
    forbidding = tmp_path / "forbidding"
    forbidding.write_text("#!/system/bin/sh\necho 'open_perf_event_file failed: Permission denied' >&2\nexit 1\n")
    program = session.stage({}, {"simpleperf": forbidding}).programs["simpleperf"]
    refused = simpleperf.find_problem(session, program)
    assert refused is not None
    assert "Permission denied" in refused.reason
    assert "security.perf_harden" in refused.hint
