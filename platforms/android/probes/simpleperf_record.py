"""The probe `simpleperf`: where the time of a program on a phone goes, by stacks that `simpleperf record` samples.

Source: system/extras/simpleperf/cmd_report_sample.cpp. A sample of `simpleperf report-sample --show-callchain` is a
line `sample:` with indented lines `name: value` below it: `thread_name`, then `file` and `symbol` of the innermost
function, and after `callchain:` those of its callers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.probe import ProbeRequest
from harness.core.protocols import ProbedCommand, ProbedLaunch, ProbeProblem, ProbeReading, Session
from harness.probes.options import ProbeOptions, check_types
from harness.probes.sampling import make_reading, plan_sampling
from harness.probes.stacks import UNKNOWN, Frame, StackProfile
from platforms.android.probes import simpleperf

FREQUENCY: Final = 499
"""Samples per second of each thread. It is prime, so that it beats with no period of the program."""

_DATA: Final = "data"
_SAMPLES: Final = "samples"
_REPORT_S: Final = 600.0
_LONGEST_LINE: Final = 4096


class Simpleperf:
    """Probe that samples stacks on a phone (`Probe` of `harness.core.protocols`).

    Args:
        frequency: Samples per second.
        call_graph: How stacks are unwound: `dwarf` from copies of them, `fp` by frame pointers.
        event: Event after whose occurrences a sample is taken; None leaves it to simpleperf.
        program: simpleperf on the phone.
    """

    name = "simpleperf"
    platforms = simpleperf.PLATFORMS

    def __init__(
        self,
        frequency: int = FREQUENCY,
        call_graph: str = "dwarf",
        event: str | None = None,
        program: str = simpleperf.PROGRAM,
    ) -> None:
        self._frequency = frequency
        self._call_graph = call_graph
        self._event = event
        self._program = program

    def find_problem(self, session: Session) -> ProbeProblem | None:
        """Return why simpleperf cannot sample."""
        return simpleperf.find_problem(session, self._program)

    def plan(self, benchmark: Benchmark, iteration_s: float | None) -> Sequence[Benchmark]:
        """Return one launch that is long enough for samples."""
        return plan_sampling(benchmark, iteration_s)

    def wrap(self, command: Command, session: Session) -> ProbedCommand:
        """Return the command under `simpleperf record`; afterwards `simpleperf report-sample` lists its samples."""
        folder = session.stage({}, {}).folder
        data, samples = f"{folder}/perf.data", f"{folder}/samples.txt"
        event = ("-e", self._event) if self._event is not None else ()
        rate = ("-f", str(self._frequency), "--call-graph", self._call_graph)
        tool = (self._program, "record", *event, *rate, "-o", data)
        report = (self._program, "report-sample", "-i", data, "--show-callchain", "-o", samples)
        return ProbedCommand(
            simpleperf.put_around(tool, command, f"{folder}/status"),
            {_DATA: data, _SAMPLES: samples},
            after=(Command(report, timeout_s=_REPORT_S, cpus=()),),
        )

    def parse(self, launches: Sequence[ProbedLaunch]) -> ProbeReading:
        """Parse the samples of the launch."""
        (launch,) = launches
        with launch.files[_SAMPLES].open(errors="replace") as file:
            profile = parse_samples(line[:_LONGEST_LINE] for line in file)
        return make_reading(profile, self.name, [("data", launch.files[_DATA])])


def create(request: ProbeRequest) -> Simpleperf:
    """Entry point of the probe `simpleperf`.

    Raises:
        UsageError: An unknown type or option.
    """
    check_types(request, Simpleperf.name, ("cpu",))
    options = ProbeOptions(Simpleperf.name, request.options)
    probe = Simpleperf(
        options.number("frequency", FREQUENCY, 1, 20_000),
        options.choice("call_graph", "dwarf", ("dwarf", "fp")),
        options.text("event"),
        options.text("program") or simpleperf.PROGRAM,
    )
    options.finish()
    return probe


def parse_samples(lines: Iterable[str]) -> StackProfile:
    """Return the profile of the text of `simpleperf report-sample`; what is no sample is skipped."""
    profile = StackProfile()
    thread, module, frames, is_open = "", UNKNOWN, list[Frame](), False
    for line in lines:
        name, colon, value = line.strip().partition(":")
        value = value.strip()
        if not colon:
            continue
        if not line[0].isspace():
            if is_open:
                profile.add(frames, thread)
            thread, module, frames, is_open = "", UNKNOWN, [], name == "sample"
        elif name == "thread_name":
            thread = value
        elif name == "file":
            module = value
        elif name == "symbol":
            frames.append(Frame(value, module))
    if is_open:
        profile.add(frames, thread)
    return profile
