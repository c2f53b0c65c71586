"""Stand-ins for runners that take turns, and for the framework that starts them: each build behaves as its commit says.

`good` takes its turns; `old` does not know the flag; `deaf` ignores it; `hangs` and `crashes` never get ready; `dies`,
`leaves`, `silent` and `mute` fail in their third turn: by a signal, with status 0, by saying nothing, and at the end by
having nothing to tell; `waits` answers only when the other one was asked too.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from frameworks.observations.observer import parse_lines
from harness.core.benchmark import Benchmark, Model, SpecificationPlace
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Progress

PROGRAM = """
import json, os, sys, time
how, journal, flags = sys.argv[1], sys.argv[2], sys.argv[3:]
note = lambda text: print(how, os.getpid(), text, file=open(journal, "a"), flush=True)
note("starts")
pauses = 1 if "--own-time" in flags else 2
if how == "old" and flags:
    sys.exit("unknown argument --turns")
if how == "crashes" and flags:
    os.kill(os.getpid(), 11)
if how == "hangs" and flags:
    time.sleep(600)
count = 10
if flags and how != "deaf":
    print("ready", flush=True)
    count = turn = 0
    for line in sys.stdin:
        turn += 1
        if line == "end\\n":
            break
        if turn == 3 and how == "dies":
            os.kill(os.getpid(), 9)
        if turn == 3 and how == "leaves":
            sys.exit(0)
        if turn == 3 and how == "silent":
            time.sleep(600)
        for _ in range(pauses if "by" in line else 0):
            note("pauses")
            print("paused", flush=True)
            assert next(sys.stdin) == "go on\\n"
        count += int(line.split()[1])
        note(line.strip())
        while how == "waits" and open(journal).read().count(line) < 2 * turn:
            time.sleep(0.01)
        print("done", line.split()[1], flush=True)
for index in range(0 if how == "mute" else count):
    value = json.dumps(dict(type="NET", metric="latency", unit="ms", value=str(0.1 + 0.001 * index)))
    print("PyTorchObserver " + value)
note("ends")
"""


class Players:
    """A framework whose runners are stand-ins. Nothing of it takes turns."""

    name = "players"

    def __init__(self, journal: Path) -> None:
        self._journal = journal

    def build(self, device: Device, progress: Progress) -> Build:
        return player("good")

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        return Command((sys.executable, "-c", PROGRAM, build.commit, str(self._journal)), threads=1)

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        return parse_lines("\n".join(output.stdout for output in completed))


class InterleavablePlayers(Players):
    """The same, and its runners take turns."""

    def interleaved_command(self, command: Command) -> Command:
        return command.replace_argv((*command.argv, "--turns"))


class DuetPlayers(InterleavablePlayers):
    """The same, and its runners play duets."""

    def duet_command(self, command: Command) -> Command:
        return command.replace_argv((*command.argv, "--own-time", "--turns"))


def player(behaviour: str) -> Build:
    """A build that behaves so."""
    return Build(source="none", commit=behaviour, digest=behaviour)


def benchmark(**fields: object) -> Benchmark:
    """A benchmark whose commands the framework composes."""
    given = {
        "id": 0,
        "model": Model(name="model", format="none"),
        "identifier": "test",
        "metric": "delay",
        "framework": "players",
        "origin": SpecificationPlace(file=Path("spec.json")),
        "digest": "0",
        "iterations": 20,
        "timeout_s": 60.0,
    }
    return Benchmark.model_validate({**given, **fields})


def read_journal(journal: Path) -> list[tuple[str, int, str]]:
    """Who did what, in order: behaviour, process, words."""
    lines = [line.split(maxsplit=2) for line in journal.read_text().splitlines()]
    return [(how, int(process), words) for how, process, words in lines]
