"""Stand-in phones on a desk, a project that measures on them, and a program that writes down when it ran."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from harness import shell
from harness.core.command import Command
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from platforms import machine_lock
from platforms.android.link.adb import AdbServer
from platforms.android.link.phone import Phone
from tests.cli.project import Outcome, Project, command
from tests.processes import wait_until

WITNESS = "/data/local/tmp/witness"
NEIGHBOUR = "/data/local/tmp/neighbour/notes.txt"
OWN = "/data/local/tmp/edge-harness"
AS_BOUGHT = {"window_animation_scale": "1.0", "transition_animation_scale": "1.0", "animator_duration_scale": "1.0"}
"""Settings of a stand-in phone that the harness changes while it measures."""
_LATEST_S = 100.0
"""That a phone hangs is noticed within 15 s; the rest is for busy machines."""


class ProgramStart(NamedTuple):
    """One start of the witness, by the phone's clock; no end when it was killed."""

    name: str
    began: float
    ended: float | None


class Running:
    """Running harness command.

    Args:
        process: The process of the command.
        stderr_path: File that receives standard error.
        results: Folder of its results.
    """

    def __init__(self, process: subprocess.Popen[str], stderr_path: Path, results: Path) -> None:
        self._process = process
        self._stderr_path = stderr_path
        self._results = results

    def says(self, words: str) -> None:
        """Wait until the command has written this to standard error."""
        wait_until(lambda: words in self._stderr_path.read_text(), _LATEST_S)

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def outcome(self, timeout_s: float = 120.0) -> Outcome:
        """Wait for its end."""
        stdout, _ = self._process.communicate(timeout=timeout_s)
        return Outcome(self._process.returncode, stdout, self._stderr_path.read_text(), self._results)


@dataclass(frozen=True)
class Desk:
    """Phones, and a project that measures on them."""

    lab: PhoneLab
    project: Project

    @property
    def phones(self) -> tuple[StandInPhone, ...]:
        return self.lab.phones

    def harness(self, *arguments: str | Path, on: str = "all", timeout_s: float = 120.0) -> Outcome:
        """The command, on phones, to its end."""
        complete = (*arguments, "-p", "android", "-d", on)
        return self.project.harness(*complete, timeout_s=timeout_s, HARNESS_ADB_SERVER=self.lab.server)

    @contextlib.contextmanager
    def running(self, *arguments: str | Path, on: str = "all") -> Iterator[Running]:
        """The command, on phones, while something happens to them. It is ended with the context."""
        stderr_path = self.project.folder / f"stderr-{len(list(self.project.folder.glob('stderr-*')))}"
        with stderr_path.open("w") as stderr:
            process = subprocess.Popen(
                command(*arguments, "-p", "android", "-d", on),
                cwd=self.project.folder,
                env=self.project.environment | self.lab.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        with process:
            try:
                yield Running(process, stderr_path, self.project.folder / "results")
            finally:
                process.kill()

    def tidy(self) -> None:
        """Put every phone back as it was bought."""
        for phone in self.phones:
            restore(phone)
            phone.wait_until_ready()
            sh(self.lab, phone, "for app in $(pm list packages); do pm uninstall ${app#package:}; done")
            sh(self.lab, phone, f"rm -rf {OWN} {WITNESS} {NEIGHBOUR.rpartition('/')[0]} /data/app-hooks/* /data/data/*")


def restore(phone: StandInPhone) -> None:
    """Undo what tests do to phones."""
    phone.plug()
    phone.thaw()
    phone.limit_rate(None)
    phone.set_latency(0.0)
    phone.set_battery(level=85, temperature_c=27.0, plugged=True)
    phone.set_thermal(status=0, skin_c=30.5, cpu_c=38.0)
    for name, value in AS_BOUGHT.items():
        phone.write(f"/services/settings/global/{name}", value)


def forget_locks(lab: PhoneLab) -> None:
    """Remove the lock files of phones that will never be seen again."""
    for phone in lab.phones:
        machine_lock.lock_path(f"android-{identity(phone)}").unlink(missing_ok=True)


def sh(lab: PhoneLab, phone: StandInPhone, script: str) -> str:
    """What a script on a phone prints."""
    return Phone(AdbServer(lab.server), phone.serial).sh(script).stdout


def identity(phone: StandInPhone) -> str:
    """What results call it."""
    return phone.read("/services/properties/ro.serialno").strip()


def compile_witness(folder: Path, name: str = "witness", **macros: int | str) -> Path:
    """A build of the witness, linked dynamically like any program."""
    source = Path(__file__).with_name("witness.cpp")
    defined = [f"-D{key}={value}" if isinstance(value, int) else f'-D{key}="{value}"' for key, value in macros.items()]
    program = folder / name
    done = shell.run(Command(("g++", "-O1", *defined, str(source), "-o", str(program)), timeout_s=120))
    assert done.ok, done.stderr
    return program


def program_starts(phone: StandInPhone) -> list[ProgramStart]:
    """Every start of the witness on this phone, in order of their beginning."""
    lines = [line.split() for line in phone.read(WITNESS).splitlines()] if phone.exists(WITNESS) else []
    starts: list[ProgramStart] = []
    for event, name, moment in lines:
        if event == "began":
            starts.append(ProgramStart(name, float(moment), None))
        else:
            place = max(index for index, start in enumerate(starts) if start.name == name and start.ended is None)
            starts[place] = starts[place]._replace(ended=float(moment))
    return starts


def has_begun(phone: StandInPhone, name: str, times: int = 1) -> None:
    """Wait until the witness has begun on this phone under this name."""
    wait_until(lambda: sum(start.name == name for start in program_starts(phone)) >= times, _LATEST_S)


def settings_of(phone: StandInPhone) -> dict[str, str]:
    """The settings in `AS_BOUGHT`, as they are now."""
    return {name: phone.read(f"/services/settings/global/{name}").strip() for name in AS_BOUGHT}


def outcomes_by_phone(results: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """How each benchmark ended, by the phone's address."""
    outcomes: dict[str, dict[str, str]] = {}
    for result in results:
        outcomes.setdefault(result["device"]["name"], {})[result["benchmark"]["identifier"]] = result["outcome"]
    return outcomes


def codes(result: dict[str, Any]) -> list[str]:
    """The notes of a result."""
    return [note["code"] for note in result["notes"]]
