"""The probe `perf-record`: where the time of a program goes, by stacks that `perf record` samples.

Source: perf-record(1), perf-script(1). A sample of `perf script -F comm,ip,sym,dso` is a line with the name of the
thread, a line `address symbol (module)` for each function from the innermost outwards, and an empty line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.note import Note
from harness.core.probe import ProbeRequest
from harness.core.protocols import ProbedCommand, ProbedLaunch, ProbeProblem, ProbeReading, Session
from harness.probes.exit_status import keep_exit_status
from harness.probes.options import ProbeOptions, check_types
from harness.probes.sampling import make_reading, plan_sampling
from harness.probes.stacks import UNKNOWN, Frame, StackProfile
from platforms.host.probes import perf

FREQUENCY: Final = 499
"""Samples per second of each CPU. It is prime, so that it beats with no period of the program."""

_DATA: Final = "data"
_SAMPLES: Final = "samples"
_SCRIPT: Final = 'exec perf script -i "$0" -F comm,ip,sym,dso --no-inline >"$1"'
_SCRIPT_S: Final = 600.0
"""Stacks that were copied are unwound then, a few thousand in a minute."""
_LONGEST_LINE: Final = 4096
_FRAME: Final = re.compile(r"\s+[0-9a-f]+ (.*) \((.*)\)\s*")
_KERNEL: Final = "[kernel"


class PerfRecord:
    """Probe that samples stacks (`Probe` of `harness.core.protocols`).

    Args:
        frequency: Samples per second.
        call_graph: How stacks are unwound: `dwarf` from copies of them, `fp` by frame pointers, `lbr` by the processor.
        event: Event after whose occurrences a sample is taken; None leaves it to `perf`.
    """

    name = "perf-record"
    platforms = perf.PLATFORMS

    def __init__(self, frequency: int = FREQUENCY, call_graph: str = "dwarf", event: str | None = None) -> None:
        self._frequency = frequency
        self._call_graph = call_graph
        self._event = event

    def find_problem(self, session: Session) -> ProbeProblem | None:
        """Return why `perf` cannot sample."""
        return perf.find_problem(session)

    def plan(self, benchmark: Benchmark, iteration_s: float | None) -> Sequence[Benchmark]:
        """Return one launch that is long enough for samples."""
        return plan_sampling(benchmark, iteration_s)

    def wrap(self, command: Command, session: Session) -> ProbedCommand:
        """Return the command under `perf record`; afterwards `perf script` lists its samples."""
        folder = Path(session.stage({}, {}).folder)
        data, samples = str(folder / "perf.data"), str(folder / "samples.txt")
        words = ("perf", "record", "--quiet", "--no-buildid-cache", "-F", str(self._frequency))
        event = ("-e", self._event) if self._event is not None else ()
        graph = ("--call-graph", self._call_graph)
        tool = (*words, *event, *graph, "-o", data, "--")
        return ProbedCommand(
            command.replace_argv(keep_exit_status(tool, command.argv, str(folder / "status"))),
            {_DATA: data, _SAMPLES: samples},
            after=(Command(("sh", "-c", _SCRIPT, data, samples), timeout_s=_SCRIPT_S, cpus=(), env={"LC_ALL": "C"}),),
        )

    def parse(self, launches: Sequence[ProbedLaunch]) -> ProbeReading:
        """Parse the samples of the launch."""
        (launch,) = launches
        with launch.files[_SAMPLES].open(errors="replace") as file:
            profile, is_hidden = parse_samples(_iterate_lines(file))
        notes = [_HIDDEN_KERNEL] if is_hidden else []
        return make_reading(profile, self.name, [("data", launch.files[_DATA])], notes)


def create(request: ProbeRequest) -> PerfRecord:
    """Entry point of the probe `perf-record`.

    Raises:
        UsageError: An unknown type or option.
    """
    check_types(request, PerfRecord.name, ("cpu",))
    options = ProbeOptions(PerfRecord.name, request.options)
    probe = PerfRecord(
        options.number("frequency", FREQUENCY, 1, 20_000),
        options.choice("call_graph", "dwarf", ("dwarf", "fp", "lbr")),
        options.text("event"),
    )
    options.finish()
    return probe


def parse_samples(lines: Iterable[str]) -> tuple[StackProfile, bool]:
    """Return the profile of the output of `perf script`, and whether functions of the kernel have no names."""
    profile, is_hidden = StackProfile(), False
    thread, frames = "", list[Frame]()
    for line in lines:
        if not line.strip():
            if frames:
                profile.add(frames, thread)
            thread, frames = "", []
        elif (match := _FRAME.fullmatch(line)) is not None:
            symbol, module = match[1], match[2]
            is_hidden = is_hidden or (symbol == UNKNOWN and module.startswith(_KERNEL))
            frames.append(Frame(_name_unknown(symbol, module), module))
        elif not line[0].isspace():
            thread = line.strip()
    if frames:
        profile.add(frames, thread)
    return profile, is_hidden


_HIDDEN_KERNEL: Final = Note(
    code="kernel_symbols_hidden",
    message="functions of the kernel have no names: this user may not read their addresses (kernel.kptr_restrict)",
    hint="`sudo sysctl kernel.kptr_restrict=0` shows them until the next start",
)


def _name_unknown(symbol: str, module: str) -> str:
    """Return the symbol; for a function without a name that of its module, which says more than nothing."""
    return f"[{Path(module).name}]" if symbol == UNKNOWN and module.startswith("/") else symbol


def _iterate_lines(file: Iterable[str]) -> Iterable[str]:
    return (line[:_LONGEST_LINE] for line in file)
