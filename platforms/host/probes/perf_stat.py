"""The probe `perf-stat`: events that `perf stat` counts, of a launch and of one iteration.

Source: perf-stat(1), "CSV FORMAT": value, unit, event, time for which it was counted (ns), percent of the time; and
`<not supported>`, `<not counted>` in place of a value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.probe import ProbeRequest
from harness.core.protocols import ProbedCommand, ProbedLaunch, ProbeProblem, ProbeReading, Session
from harness.probes.counters import COUNTS, EVENTS, EventCount, parse_counting, plan_counting
from harness.probes.exit_status import keep_exit_status
from harness.probes.options import ProbeOptions, check_types
from platforms.host.probes import perf

_SEPARATOR: Final = ";"
_ABSENT: Final = re.compile(r"<(not (?:supported|counted))>")
_MODIFIERS: Final = re.compile(r":[ukhGHISDpPWe]+$")
_MILLISECONDS: Final = {"msec": "ms"}


class PerfStat:
    """Probe that counts events (`Probe` of `harness.core.protocols`).

    Args:
        events: What to count.
        pairs: Number of pairs of launches.
    """

    name = "perf-stat"
    platforms = perf.PLATFORMS

    def __init__(self, events: Sequence[str] = EVENTS, pairs: int = 3) -> None:
        self._events = tuple(events)
        self._pairs = pairs

    def find_problem(self, session: Session) -> ProbeProblem | None:
        """Return why `perf` cannot count."""
        return perf.find_problem(session)

    def plan(self, benchmark: Benchmark, iteration_s: float | None) -> Sequence[Benchmark]:  # noqa: ARG002 - see `Probe`
        """Return pairs of launches that differ in their number of iterations."""
        return plan_counting(benchmark, self._pairs)

    def wrap(self, command: Command, session: Session) -> ProbedCommand:
        """Return the command under `perf stat`, which writes into a file."""
        folder = Path(session.stage({}, {}).folder)
        file = str(folder / "counts.csv")
        words = ("perf", "stat", "-x", _SEPARATOR, "-o", file, "-e", ",".join(self._events), "--")
        argv = keep_exit_status(words, command.argv, str(folder / "status"))
        return ProbedCommand(command.replace_argv(argv), {COUNTS: file})

    def parse(self, launches: Sequence[ProbedLaunch]) -> ProbeReading:
        """Parse the counts of all launches."""
        return parse_counting(self.name, launches, parse_counts)


def create(request: ProbeRequest) -> PerfStat:
    """Entry point of the probe `perf-stat`.

    Raises:
        UsageError: An unknown type or option.
    """
    check_types(request, PerfStat.name, ("cpu",))
    options = ProbeOptions(PerfStat.name, request.options)
    probe = PerfStat(options.words("events", EVENTS), options.number("pairs", 3, 1, 100))
    options.finish()
    return probe


def parse_counts(text: str) -> Iterator[EventCount]:
    """Yield the counts of the CSV of `perf stat -x ';'`; lines that are none are skipped."""
    for line in text.splitlines():
        fields = line.split(_SEPARATOR)
        if line.startswith("#") or len(fields) < 3 or not fields[2].strip():
            continue
        event, unit = fields[2].strip(), _MILLISECONDS.get(fields[1].strip(), fields[1].strip())
        name = _MODIFIERS.sub("", event)
        absent = _ABSENT.fullmatch(fields[0].strip())
        if absent is not None:
            yield EventCount(name, None, absence=absent[1])
            continue
        value = _number(fields[0])
        if value is None:
            continue
        percent = _number(fields[4]) if len(fields) > 4 else None
        is_of_user = ":" in event[len(name) :] and "u" in event[len(name) :] and "k" not in event[len(name) :]
        yield EventCount(name, value, unit, 1.0 if percent is None else percent / 100, user_only=is_of_user)


def _number(text: str) -> float | None:
    """Return a number, which some languages write with a comma; None where it is none, or no count."""
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
