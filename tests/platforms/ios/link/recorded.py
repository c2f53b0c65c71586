"""A program in place of go-ios that prints what go-ios 1.2.0 was recorded to print, or what its source prints."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

NO_AGENT = {
    "time": "2026-11-23T04:51:25.145865181Z",
    "level": "WARN",
    "msg": "go-ios agent is not running. You might need to start it with 'ios tunnel start' for ios17+.",
}
"""First line of every log."""


@dataclass(frozen=True)
class Answer:
    """What a command prints, and how it ends."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    sleep_s: float = 0.0


def log_line(level: str, msg: str, **fields: object) -> str:
    return json.dumps({"time": "2026-11-23T04:51:25.6Z", "level": level, "msg": msg, **fields})


def failed(msg: str, err: str | None = None, *, exit_code: int = 1) -> Answer:
    """A command of go-ios that ended at its first error."""
    record = log_line("ERROR", msg, **({} if err is None else {"err": err}))
    return Answer(stderr=f"{json.dumps(NO_AGENT)}\n{record}\n", exit_code=exit_code)


def panicked(reason: str) -> Answer:
    trace = f"panic: {reason}\n\ngoroutine 1 [running]:\ngithub.com/danielpaulus/go-ios/ios.PairRecordfromBytes(...)\n"
    return Answer(stderr=f"{json.dumps(NO_AGENT)}\n{trace}", exit_code=2)


@dataclass(frozen=True)
class RecordedProgram:
    """The program, and what it was called with."""

    path: Path
    calls_file: Path

    @property
    def calls(self) -> list[list[str]]:
        """Arguments of all calls but those of `version`."""
        if not self.calls_file.exists():
            return []
        calls = [call.split("\x1f")[:-1] for call in self.calls_file.read_text().split("\x1e")[:-1]]
        return [call for call in calls if call != ["version"]]


def write_program(folder: Path, answers: dict[str, Answer], *, version: str = '{"version":"1.2.0"}') -> RecordedProgram:
    """Write a program that answers by the first words of its arguments; the longest that fit decide."""
    folder.mkdir(parents=True, exist_ok=True)
    calls = folder / "calls"
    lines = ["#!/bin/sh", f"printf '%s\\037' \"$@\" >>{shlex.quote(str(calls))}"]
    lines += [f"printf '\\036' >>{shlex.quote(str(calls))}", 'case "$*" in']
    everything = {"version": Answer(version + "\n"), **answers}
    for number, words in enumerate(sorted(everything, key=len, reverse=True)):
        answer = everything[words]
        for suffix, text in (("out", answer.stdout), ("err", answer.stderr)):
            (folder / f"{number}.{suffix}").write_text(text)
        place = shlex.quote(str(folder / str(number)))
        commands = f"cat {place}.out; cat {place}.err >&2; sleep {answer.sleep_s}; exit {answer.exit_code}"
        lines.append(f"{shlex.quote(words)}*) {commands} ;;")
    lines += ["esac", "exit 64"]
    path = folder / "ios"
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)
    return RecordedProgram(path, calls)
