"""Contract of probes: a plug-in calls `check_probe` with its factory, and a session on a device that it can observe."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, UsageError
from harness.core.probe import ProbeRequest
from harness.core.protocols import Probe, ProbedCommand, ProbedLaunch, ProbeReading, Session
from harness.testing.contract import expect, process_unchanged

_LIMIT_S = 120.0


def check_probe(
    create: Callable[[ProbeRequest], Probe],
    name: str,
    session: Session,
    benchmark: Benchmark,
    program: Sequence[str] = ("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"),
) -> ProbeReading:
    """Check that a probe keeps its promises on a device that it can observe.

    Args:
        create: Its factory.
        name: Name of its entry point.
        session: Session on the device.
        benchmark: A typed test, with iterations.
        program: A program that takes a moment on the device.

    Returns:
        What it found, to look at.

    Raises:
        ContractBroken: A promise is broken; the message says which.
    """
    probe = create(ProbeRequest(name=name))
    expect(probe.name == name, "it has the name of its entry point")
    expect(session.device.platform in probe.platforms, "it names the platform of the device")
    for request in (
        ProbeRequest(name=name, options={"no such option": 1}),
        ProbeRequest(name=name, types=("no such type",)),
    ):
        expect(_is_refused(create, request), "it refuses options and types that it does not know")
    with process_unchanged():
        problem = probe.find_problem(session)
    expect(problem is None, f"it can observe this device: {problem}")
    planned = probe.plan(benchmark, 0.01)
    expect(bool(planned), "it plans a launch at least")
    expect(planned[-1].iterations >= benchmark.iterations, "its last launch has all iterations")
    for words, status in ((("sh", "-c", "exit 7"), 7), (("sh", "-c", "kill -SEGV $$"), None)):
        completed = session.run(_wrap(probe, words, session).command)
        expect(not completed.ok, f"a program that fails is no success under it: {words}")
        expect(completed.exit_code == status or status is None, "it ends with the exit status of the program")
    with tempfile.TemporaryDirectory() as folder:
        launches = []
        for number, each in enumerate(planned):
            probed = _wrap(probe, program, session)
            completed = session.run(probed.command)
            expect(completed.ok, f"the program runs under it: {completed.describe()}")
            files = _fetch(probed, session, Path(folder, str(number)))
            launches.append(ProbedLaunch(files, each.iterations))
        reading = probe.parse(launches)
        expect(len(reading.observations) == len(planned), "it has observations for each launch")
        _check_damage(probe, launches, Path(folder))
    return reading


def _is_refused(create: Callable[[ProbeRequest], Probe], request: ProbeRequest) -> bool:
    try:
        create(request)
    except UsageError:
        return True
    return False


def _wrap(probe: Probe, words: Sequence[str], session: Session) -> ProbedCommand:
    return probe.wrap(Command(tuple(words), timeout_s=_LIMIT_S, cpus=()), session)


def _fetch(probed: ProbedCommand, session: Session, folder: Path) -> dict[str, Path]:
    for command in probed.after:
        completed = session.run(command)
        expect(completed.ok, f"what follows the program runs: {completed.describe()}")
    files = {}
    for name, remote in probed.files.items():
        session.pull(remote, folder / name)
        files[name] = folder / name
    return files


def _check_damage(probe: Probe, launches: Sequence[ProbedLaunch], folder: Path) -> None:
    """Check that files which hold anything are refused in words, or read as far as they go."""
    for number, damage in enumerate((b"", b"\0" * 1000, b"\xff\xfe" * 500, b"1;2;3\n" * 100, b"sample:\n" * 10)):
        damaged = folder / f"damaged-{number}"
        damaged.write_bytes(damage)
        broken = [ProbedLaunch(dict.fromkeys(launch.files, damaged), launch.iterations) for launch in launches]
        try:
            probe.parse(broken)
        except BenchmarkFailed as error:
            expect(bool(error.message), "what it cannot read it refuses in words")
