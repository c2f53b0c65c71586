"""The probe `perfetto`: its configuration and traces by perfetto's own Python package, and stand-in phones."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from harness.core.command import Command
from harness.core.errors import BenchmarkFailed
from harness.core.probe import ProbeRequest
from harness.core.protocols import ProbedLaunch
from harness.testing.frameworks import benchmark_of
from harness.testing.probes import check_probe
from platforms.android.link.phone import Phone
from platforms.android.perfetto_trace import InvalidTrace
from platforms.android.probes.perfetto import TYPES, Perfetto, create, read_trace
from platforms.android.session import AndroidSession

_CANNED = "/services/perfetto-trace"


def trace_of(clocks: Mapping[int, Sequence[tuple[int, int]]], *, lost: bool = False, discarded: int = 0) -> bytes:
    """Return a trace with changes of clocks: nanoseconds and kHz by CPU."""
    trace = protos.Trace()
    for cpu, changes in clocks.items():
        bundle = trace.packet.add(timestamp=1).ftrace_events
        bundle.cpu, bundle.lost_events = 0, lost
        bundle.event.add(timestamp=1).sched_switch.next_pid = 7
        for at_ns, khz in changes:
            event = bundle.event.add(timestamp=at_ns).cpu_frequency
            event.cpu_id, event.state = cpu, khz
    trace.packet.add().trace_stats.buffer_stats.add(bytes_written=10, chunks_discarded=discarded)
    content: bytes = trace.SerializeToString()
    return content


@pytest.mark.parametrize("types", [(name,) for name in TYPES] + [TYPES])
def test_configurations_are_those_of_perfetto(types: tuple[str, ...]) -> None:
    config = protos.TraceConfig()
    text_format.Parse(Perfetto(types, buffer_kib=4096, battery_ms=500).configure(limit_s=2.5), config)
    assert (config.duration_ms, config.buffers[0].size_kb) == (2500, 4096)
    sources = {source.config.name: source.config for source in config.data_sources}
    expected = {
        "cpu": {"linux.ftrace", "linux.process_stats"},
        "memory": {"linux.process_stats"},
        "battery": {"android.power"},
        "gpu": {"linux.ftrace"},
    }
    assert set(sources) == set().union(*(expected[name] for name in types))
    if "battery" in types:
        assert sources["android.power"].android_power_config.battery_poll_ms == 500
    if "memory" in types:
        assert sources["linux.process_stats"].process_stats_config.proc_stats_poll_ms == 100


def test_clocks_are_means_over_time() -> None:
    clocks, lost = read_trace(trace_of({0: [(0, 1_000_000), (1000, 3_000_000), (2000, 500_000)], 4: [(5, 2_000_000)]}))
    assert clocks == {0: pytest.approx(2000.0)}  # one change of CPU 4 is no stretch of time
    assert not lost


@pytest.mark.parametrize("options", [{"lost": True}, {"discarded": 3}])
def test_lost_events_are_noticed(options: dict[str, bool | int]) -> None:
    _, lost = read_trace(trace_of({0: [(0, 1000)]}, **options))  # type: ignore[arg-type]
    assert lost


def test_traces_are_kept_with_what_was_read_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(trace_of({1: [(0, 1_000_000), (10, 2_000_000)]}, lost=True))
    reading = Perfetto().parse([ProbedLaunch({"trace": path})])
    ((observed,),) = reading.observations
    assert (observed.name, observed.unit, observed.samples) == ("RUN cpu1_frequency", "MHz", (1000.0,))
    assert [note.code for note in reading.notes] == ["perfetto_lost_events"]
    assert reading.artifacts[0].content == path.read_bytes()


@pytest.mark.parametrize("content", [b"", b"\x0a\xff", trace_of({0: [(0, 1)]})[:-1]])
def test_what_is_no_trace_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(BenchmarkFailed, match="trace cannot be read"):
        Perfetto().parse([ProbedLaunch({"trace": path})])


@given(st.binary())
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with contextlib.suppress(InvalidTrace):
        read_trace(content)


@pytest.mark.slow
def test_it_keeps_its_contract_on_a_phone(session: AndroidSession, phone: Phone) -> None:
    trace = trace_of({0: [(0, 1_000_000), (1000, 2_000_000)]})
    assert phone.sh(f"base64 -d >{_CANNED}", stdin=base64.b64encode(trace)).exit_code == 0
    try:
        reading = check_probe(create, "perfetto", session, benchmark_of("executorch", iterations=20))
    finally:
        phone.sh(f"rm -f {_CANNED}")
    assert reading.artifacts[0].content == trace
    assert [each.name for each in reading.observations[0]] == ["RUN cpu0_frequency"]


@pytest.mark.slow
def test_a_phone_that_cannot_trace_says_why_and_runs_nothing(session: AndroidSession) -> None:
    problem = create(ProbeRequest(name="perfetto")).find_problem(session)
    assert problem is not None
    assert "Could not connect to the traced socket" in problem.reason
    completed = session.run(Perfetto().wrap(Command(("sh", "-c", "echo ran")), session).command)
    assert (completed.ok, completed.stdout) == (False, "")
