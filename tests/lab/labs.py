"""Labs of a test: scheduler and hosts as processes of the command line, as users start them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from platforms.machine_lock import FOLDER as LOCKS
from tests.cli.project import Project
from tests.processes import wait_until

BEGINNING_S = 180
"""How long a test waits for a job to begin, on a machine that does many other things."""
_ADDRESS = re.compile(r"the lab is at (\S+);")


@dataclass
class Process:
    """Process that serves until it is stopped, with what it has printed so far."""

    started: subprocess.Popen[str]
    log: Path

    @property
    def text(self) -> str:
        return self.log.read_text()

    def wait_for(self, words: str, *, count: int = 1) -> None:
        wait_until(lambda: self.text.count(words) >= count or self.started.poll() is not None, BEGINNING_S)
        assert self.text.count(words) >= count, self.text

    def stop(self) -> None:
        """End it as Ctrl-C does, or by force where that takes long."""
        with contextlib.suppress(ProcessLookupError):
            self.started.send_signal(signal.SIGINT)
        try:
            self.started.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill it with everything that it started, as a power failure of its host would."""
        with contextlib.suppress(psutil.NoSuchProcess):
            own = psutil.Process(self.started.pid)
            for process in (own, *own.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self.started.wait(20)


@dataclass
class Lab:
    """A lab in a folder of its own; hosts are processes with caches of their own."""

    folder: Path
    scheduler: Process
    address: str

    @contextlib.contextmanager
    def host(self, name: str, *flags: str) -> Iterator[Process]:
        """Join this machine, under a name as its class."""
        words = ("lab", "join", self.address, "--platforms", "host", "--as-class", name)
        process = start(self.folder, name, *words, "--cache-dir", str(self.folder / name), *flags)
        try:
            process.wait_for("joined as")
            yield process
        finally:
            process.stop()


@contextlib.contextmanager
def open_lab(folder: Path, *flags: str) -> Iterator[Lab]:
    """Serve a lab on a port of its own."""
    scheduler = start(folder, "scheduler", "lab", "serve", "--port", "0", *flags)
    try:
        scheduler.wait_for("the lab is at")
        found = _ADDRESS.search(scheduler.text)
        assert found is not None
        yield Lab(folder, scheduler, found[1])
    finally:
        scheduler.stop()


@contextlib.contextmanager
def builder(lab: Lab, name: str, platform: str = "host") -> Iterator[Process]:
    """Let this machine build for others, and measure nothing."""
    words = ("lab", "join", lab.address, "--builds", platform, "--devices", "none-of-them")
    process = start(lab.folder, name, *words, "--cache-dir", str(lab.folder / name))
    try:
        process.wait_for(f"builds for {platform}")
        yield process
    finally:
        process.stop()


def start(folder: Path, name: str, *words: str) -> Process:
    """Start the command line with its output in a file.

    The locks of its devices are in the folder: jobs of a lab do not wait for what other tests measure on this machine.
    """
    log = folder / f"{name}.log"
    locks = folder / "locks"
    locks.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "HARNESS_CACHE_DIR": str(folder / "cache"),
        LOCKS: str(locks),
    }
    with log.open("w") as output:
        started = subprocess.Popen(
            [sys.executable, "-m", "harness", *words],
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
    return Process(started, log)


@contextlib.contextmanager
def client_of(
    project: Project, lab: Lab, spec: Path, *flags: str, command: str = "run"
) -> Iterator[subprocess.Popen[str]]:
    """Measure a specification in a lab, and kill the client when the test leaves it behind."""
    client = subprocess.Popen(
        [sys.executable, "-m", "harness", command, str(spec), "--lab", lab.address, *flags],
        env=project.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with client:
        try:
            yield client
        finally:
            client.kill()


def measuring_children(process: Process, needle: str) -> Sequence[psutil.Process]:
    """Return the programs that a host has started, by a word of their command lines."""
    with contextlib.suppress(psutil.NoSuchProcess):
        children = psutil.Process(process.started.pid).children(recursive=True)
        return [child for child in children if _has(child, needle)]
    return []


def _has(process: psutil.Process, needle: str) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return any(needle in word for word in process.cmdline())
    return False
