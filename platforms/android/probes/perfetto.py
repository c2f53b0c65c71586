"""The probe `perfetto`: a trace of the whole phone while a program runs, for https://ui.perfetto.dev.

Of the trace the harness reads the clock of each CPU, and whether events were lost. Fields are those of
`perfetto_trace.proto` (perfetto 0.59): `TracePacket.ftrace_events`, `FtraceEventBundle`, `CpuFrequencyFtraceEvent`,
`TraceStats.BufferStats`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.probe import ProbeRequest
from harness.core.protocols import ProbedCommand, ProbedLaunch, ProbeProblem, ProbeReading, Session
from harness.probes.options import ProbeOptions, check_types
from harness.probes.sampling import ARTIFACT_BYTES, keep_file, plan_sampling
from platforms.android.perfetto_trace import InvalidTrace, read_fields, read_integer, read_submessages

TYPES: Final = ("cpu", "memory", "battery", "gpu")

_TRACE: Final = "trace"
_BUFFER_KIB: Final = 32_768
_BATTERY_MS: Final = 250
_TRIAL_S: Final = 30.0
_LONGEST_MS: Final = 3_600_000
_NOT_FOUND: Final = 127
_HINT: Final = (
    "perfetto traces on Android 10 and later; where its service is off, `adb shell setprop persist.traced.enable 1` "
    "starts it"
)

_FTRACE: Final = {
    "cpu": ("sched/sched_switch", "sched/sched_waking", "power/cpu_frequency", "power/cpu_idle"),
    "gpu": ("power/gpu_frequency", "gpu_mem/gpu_mem_total"),
}

_RECORDING: Final = """\
config=$1 trace=$2; shift 2
printf %s "$config" | sh -c 'echo $$ >"$0.pid"; exec perfetto --txt -c - -o -' "$trace" 2>"$trace.log" | cat >"$trace" &
recorder=$!
sleep 1
kill -0 "$(cat "$trace.pid")" 2>/dev/null || { cat "$trace.log" >&2; exit 1; }
"$@"
code=$?
sleep 0.5
kill -TERM "$(cat "$trace.pid")" 2>/dev/null
wait "$recorder"
[ "$code" -le 128 ] || kill -"$((code - 128))" $$
exit "$code"
"""
"""The trace passes through a pipe, because Android lets `perfetto` open files in its own folder only (SELinux)."""


class Perfetto:
    """Probe that traces a phone (`Probe` of `harness.core.protocols`).

    Args:
        types: What to trace, of `TYPES`.
        buffer_kib: Size of the buffer; events that do not fit are lost.
        battery_ms: Pause between two readings of the battery.
    """

    name = "perfetto"
    platforms = ("android",)

    def __init__(
        self, types: Sequence[str] = ("cpu",), buffer_kib: int = _BUFFER_KIB, battery_ms: int = _BATTERY_MS
    ) -> None:
        self._types = tuple(types)
        self._buffer_kib = buffer_kib
        self._battery_ms = battery_ms

    def find_problem(self, session: Session) -> ProbeProblem | None:
        """Return why perfetto cannot trace, by a trace of a tenth of a second."""
        config = self.configure(limit_s=0.1)
        line = 'printf %s "$1" | perfetto --txt -c - -o - | cat >/dev/null; command -v perfetto >/dev/null || exit 127'
        trial = session.run(Command(("sh", "-c", line, "sh", config), timeout_s=_TRIAL_S, cpus=()))
        if trial.exit_code == _NOT_FOUND:
            return ProbeProblem("`perfetto` is not on this phone", _HINT)
        if not trial.ok or "ould not connect" in trial.stderr or "ermission denied" in trial.stderr:
            lines = [line.strip() for line in trial.stderr.splitlines() if line.strip()]
            said = f": {lines[-1][:300]}" if lines else ""
            return ProbeProblem(f"`perfetto` cannot trace this phone{said}", _HINT)
        return None

    def plan(self, benchmark: Benchmark, iteration_s: float | None) -> Sequence[Benchmark]:
        """Return one launch that is long enough for a picture."""
        return plan_sampling(benchmark, iteration_s)

    def wrap(self, command: Command, session: Session) -> ProbedCommand:
        """Return the command beside a recording that begins a second before it."""
        trace = f"{session.stage({}, {}).folder}/trace"
        config = self.configure(limit_s=command.timeout_s + 60)
        words = ("sh", "-c", _RECORDING, "sh", config, trace, *command.argv)
        return ProbedCommand(command.replace_argv(words), {_TRACE: trace})

    def parse(self, launches: Sequence[ProbedLaunch]) -> ProbeReading:
        """Keep the trace, and read the clocks of CPUs from it."""
        (launch,) = launches
        path = launch.files[_TRACE]
        artifact, note = keep_file("perfetto.perfetto-trace", path)
        if artifact is None:
            return ProbeReading(((),), tuple(filter(None, (note,))))
        try:
            clocks, lost = read_trace(artifact.content)
        except InvalidTrace as error:
            raise BenchmarkFailed(f"its trace cannot be read: {error}") from error
        observed = tuple(
            Observation(type="RUN", metric=f"cpu{cpu}_frequency", unit="MHz", samples=(mhz,))
            for cpu, mhz in clocks.items()
        )
        return ProbeReading((observed,), (_LOST,) if lost else (), (artifact,))

    def configure(self, limit_s: float) -> str:
        """Return the configuration for `perfetto --txt`.

        Args:
            limit_s: Duration after which it ends by itself.
        """
        lines = [
            f"duration_ms: {min(_LONGEST_MS, round(limit_s * 1000))}",
            f"buffers {{ size_kb: {self._buffer_kib} fill_policy: DISCARD }}",
            *self._sources(),
        ]
        return "\n".join(lines) + "\n"

    def _sources(self) -> Iterator[str]:
        events = [event for name in self._types for event in _FTRACE.get(name, ())]
        if events:
            words = " ".join(f'ftrace_events: "{event}"' for event in events)
            yield f'data_sources {{ config {{ name: "linux.ftrace" ftrace_config {{ {words} }} }} }}'
        if {"cpu", "memory"} & set(self._types):
            polling = " proc_stats_poll_ms: 100" if "memory" in self._types else ""
            yield (
                'data_sources { config { name: "linux.process_stats" '
                f"process_stats_config {{ scan_all_processes_on_start: true{polling} }} }} }}"
            )
        if "battery" in self._types:
            counters = ("CAPACITY_PERCENT", "CHARGE", "CURRENT")
            words = " ".join(f"battery_counters: BATTERY_COUNTER_{name}" for name in counters)
            yield (
                'data_sources { config { name: "android.power" android_power_config { '
                f"battery_poll_ms: {self._battery_ms} collect_power_rails: true {words} }} }} }}"
            )


_LOST: Final = Note(
    code="perfetto_lost_events",
    message="perfetto lost events: its buffer was full, and the trace has gaps",
    hint="trace fewer `types`, or raise `buffer_size_kb`",
)


def create(request: ProbeRequest) -> Perfetto:
    """Entry point of the probe `perfetto`.

    Raises:
        UsageError: An unknown type or option.
    """
    types = check_types(request, Perfetto.name, TYPES) or ("cpu",)
    options = ProbeOptions(Perfetto.name, request.options)
    probe = Perfetto(
        types,
        options.number("buffer_size_kb", _BUFFER_KIB, 256, ARTIFACT_BYTES >> 10),
        options.number("battery_poll_ms", _BATTERY_MS, 100, 60_000),
    )
    options.finish()
    return probe


_PACKET: Final = 1
_PACKET_FTRACE: Final = 1
_PACKET_STATS: Final = 35
_BUNDLE_EVENT: Final = 2
_BUNDLE_LOST: Final = 3
_EVENT_TIME: Final = 1
_EVENT_CPU_FREQUENCY: Final = 11
_FREQUENCY_KHZ: Final = 1
_FREQUENCY_CPU: Final = 2
_STATS_BUFFER: Final = 1
_BUFFER_LOSSES: Final = (3, 18, 19)
"""Numbers of fields; the last are `chunks_overwritten`, `chunks_discarded` and `trace_writer_packet_loss`."""
_MOST_CPU: Final = 4096


def read_trace(trace: bytes) -> tuple[Mapping[int, float], bool]:
    """Read a trace.

    Args:
        trace: Output of `perfetto`.

    Returns:
        Mean clock of each CPU whose clock changed, in MHz, from its first change to its last; and whether events were
        lost.

    Raises:
        InvalidTrace: It is no trace, is empty, or was cut off.
    """
    changes: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    packets, lost = 0, False
    for packet in read_submessages(trace, _PACKET):
        packets += 1
        for bundle in read_submessages(packet, _PACKET_FTRACE):
            lost = lost or bool(read_integer(dict(read_fields(bundle)), _BUNDLE_LOST))
            for cpu, change in _read_changes(bundle):
                changes[cpu].append(change)
        for stats in read_submessages(packet, _PACKET_STATS):
            for buffer in read_submessages(stats, _STATS_BUFFER):
                numbers = dict(read_fields(buffer))
                lost = lost or any(read_integer(numbers, field) for field in _BUFFER_LOSSES)
    if not packets:
        raise InvalidTrace("it is empty")
    means = {cpu: _mean_mhz(sorted(times)) for cpu, times in sorted(changes.items())}
    return {cpu: mean for cpu, mean in means.items() if mean is not None}, lost


def _read_changes(bundle: bytes) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the CPU, the time in nanoseconds and the new clock in kHz of each change."""
    for event in read_submessages(bundle, _BUNDLE_EVENT):
        fields = dict(read_fields(event))
        change = fields.get(_EVENT_CPU_FREQUENCY)
        if isinstance(change, bytes):
            numbers = dict(read_fields(change))
            cpu, khz = read_integer(numbers, _FREQUENCY_CPU), read_integer(numbers, _FREQUENCY_KHZ)
            if cpu < _MOST_CPU and khz > 0:
                yield cpu, (read_integer(fields, _EVENT_TIME), khz)


def _mean_mhz(changes: Sequence[tuple[int, int]]) -> float | None:
    """Return the mean over time; None where there is no time between changes."""
    whole_ns = changes[-1][0] - changes[0][0]
    if whole_ns <= 0:
        return None
    pairs = pairwise(changes)
    return sum(khz * (after_ns - at_ns) for (at_ns, khz), (after_ns, _) in pairs) / whole_ns / 1000
