"""Programs that the host starts: those of this machine, and nothing that only a shell would run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.core.command import Command
from harness.core.errors import BenchmarkFailed
from harness.testing.progress import RecordedProgress
from platforms.host.platform import Host
from platforms.host.session import HostSession

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other kernels start other programs")

_OBJECT, _EXECUTABLE = 1, 2
_X86, _X86_64, _AARCH64, _NO_MACHINE = 3, 62, 183, 0x7ABC


@pytest.fixture
def session(tmp_path: Path) -> Iterator[HostSession]:
    host = Host(tmp_path / "work", lock_path=tmp_path / "lock")
    with host.open(host.devices()[0], RecordedProgress()) as held:
        yield held


def _elf(machine: int, kind: int = _EXECUTABLE) -> bytes:
    """The header of a 64-bit little-endian ELF file."""
    return b"\x7fELF\x02\x01\x01" + bytes(9) + kind.to_bytes(2, "little") + machine.to_bytes(2, "little") + bytes(44)


def _program(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "runner"
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def test_a_text_is_not_run_as_a_shell_script(session: HostSession, tmp_path: Path) -> None:
    program = _program(tmp_path, b"touch /proc/self/cwd/it-ran\n")
    with pytest.raises(BenchmarkFailed, match=r"runner is no program: it begins neither as ELF nor with #!"):
        session.run(Command((str(program),)))


def test_a_program_for_another_machine_is_reported(session: HostSession, tmp_path: Path) -> None:
    program = _program(tmp_path, _elf(_NO_MACHINE))
    with pytest.raises(BenchmarkFailed, match=r"runner is a program for machine 31420 of the ELF format, and this"):
        session.run(Command((str(program),)))


def test_machines_have_names(session: HostSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Path(sys.executable).read_bytes()[18]
    other, name = (_AARCH64, "AArch64") if ours == _X86_64 else (_X86_64, "x86-64")
    monkeypatch.setattr("platforms.host.programs._is_emulated", lambda head, probe: False)
    with pytest.raises(BenchmarkFailed, match=rf"is a program for {name}, and this machine is "):
        session.run(Command((str(_program(tmp_path, _elf(other))),)))


def test_a_program_with_an_emulator_is_started(
    session: HostSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platforms.host.programs._is_emulated", lambda head, probe: True)
    assert session.run(Command((str(_program(tmp_path, _elf(_NO_MACHINE))),))).wall_s >= 0


def test_an_object_file_is_no_program(session: HostSession, tmp_path: Path) -> None:
    program = _program(tmp_path, Path(sys.executable).read_bytes()[:16] + _elf(_X86, _OBJECT)[16:])
    with pytest.raises(BenchmarkFailed, match="is an object file or a core dump"):
        session.run(Command((str(program),)))


def test_a_command_on_the_path_is_checked_too(session: HostSession, tmp_path: Path) -> None:
    _program(tmp_path, b"")
    with pytest.raises(BenchmarkFailed, match="is no program"):
        session.run(Command(("runner",), env={"PATH": str(tmp_path)}))


def test_an_interactive_program_is_checked_too(session: HostSession, tmp_path: Path) -> None:
    program = _program(tmp_path, b"echo ready\n")
    with pytest.raises(BenchmarkFailed, match="is no program"), session.start(Command((str(program),))):
        pass


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"#!/usr/bin/nope -x\n", r"runner cannot start: there is no /usr/bin/nope, the interpreter in its first line"),
        (b"#! /bin/sh\r\n", "its lines end with a carriage return"),
    ],
)
def test_a_script_whose_interpreter_is_missing_names_it(
    session: HostSession, tmp_path: Path, line: bytes, words: str
) -> None:
    with pytest.raises(BenchmarkFailed, match=words) as refused:
        session.run(Command((str(_program(tmp_path, line + b"echo x\n")),)))
    assert refused.value.hint


def test_scripts_with_an_interpreter_are_started(session: HostSession, tmp_path: Path) -> None:
    assert session.run(Command((str(_program(tmp_path, b"#!/bin/sh\necho here\n")),))).stdout == "here\n"
