"""The contract of platforms, as checks that any platform's tests can run against a real or stand-in device.

    CASE = PlatformCase(create=lambda: MyPlatform(...), sh="/system/bin/sh")

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_platform_keeps_the_contract(check: Check, tmp_path: Path) -> None:
        check(CASE, tmp_path)

A check passes silently or raises `ContractBroken`. Those of live programs concern only sessions that are `Interactive`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.core.command import Command, Completed
from harness.core.protocols import Interactive, Platform, Session
from harness.testing.contract import ContractBroken, expect
from harness.testing.interactive import (
    expect_company,
    expect_conversation,
    expect_end_to_be_told,
    expect_no_survivors,
    expect_patience,
)
from harness.testing.progress import RecordedProgress


@dataclass(frozen=True, slots=True)
class PlatformCase:
    """A platform under test, with at least one device.

    Attributes:
        create: Makes the platform.
        sh: A POSIX shell on its devices; the checks start it with a script as one argument.
        variables: Environment that every command needs on the device.
    """

    create: Callable[[], Platform]
    sh: str = "/bin/sh"
    variables: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """The first device, held."""
        platform = self.create()
        with platform.open(platform.devices()[0], RecordedProgress()) as session:
            yield session

    @contextmanager
    def live(self) -> Iterator[Interactive | None]:
        """The same, where it holds programs that live at the same time."""
        with self.session() as session:
            yield session if isinstance(session, Interactive) else None

    def script(self, text: str, *arguments: str, timeout_s: float = 20.0, **env: str) -> Command:
        """A command that runs a shell script with arguments."""
        return Command((self.sh, "-c", text, "sh", *arguments), env={**self.variables, **env}, timeout_s=timeout_s)


Check = Callable[[PlatformCase, Path], None]

ODD_ARGUMENTS: Final = (
    "a b",
    "",
    "'",
    '"',
    "$(echo no)",
    "`echo no`",
    ";echo no",
    "a\nb",
    "*",
    "\\",
    "ü",
    "-n",
    "&& no",
)


def devices_have_stable_identities(case: PlatformCase, _folder: Path) -> None:
    """Asked twice, by two platform objects, the same devices answer by the same non-empty, unique identities."""
    first, second = case.create().devices(), case.create().devices()
    identities = [device.identity for device in first]
    expect(bool(identities), "there is no device to check")
    expect(identities == [device.identity for device in second], "identities changed from one look to the next")
    expect(len(set(identities)) == len(identities), "two devices share an identity")
    expect(all(identity not in {"", "null", "None"} for identity in identities), "an identity is empty or `null`")


def arguments_arrive_as_they_are(case: PlatformCase, _folder: Path) -> None:
    """No shell in between takes arguments apart."""
    with case.session() as session:
        completed = session.run(case.script('for word in "$@"; do printf "<%s>" "$word"; done', *ODD_ARGUMENTS))
    wanted = "".join(f"<{word}>" for word in ODD_ARGUMENTS)
    expect(completed.stdout.rstrip("\n") == wanted, f"wrote {completed.stdout!r} instead of {wanted!r}")


def exit_codes_and_streams_arrive(case: PlatformCase, _folder: Path) -> None:
    """Exit status, standard output and standard error come back, apart from each other."""
    with case.session() as session:
        completed = session.run(case.script("echo out; echo err >&2; exit 7"))
    expect(completed.exit_code == 7, f"exit code {completed.exit_code} instead of 7")
    expect(not completed.ok, "a failed program counts as ok")
    expect((completed.stdout.strip(), completed.stderr.strip()) == ("out", "err"), "the streams are mixed up")


def signals_are_named(case: PlatformCase, _folder: Path) -> None:
    """A program that a signal ends has no exit code, and the signal's number."""
    with case.session() as session:
        completed = session.run(case.script("kill -SEGV $$"))
    expect(completed.signal == 11, f"signal {completed.signal} instead of 11 (exit code {completed.exit_code})")
    expect("SIGSEGV" in completed.describe(), f"{completed.describe()!r} does not name the signal")


def a_program_that_does_not_end_is_killed_with_its_children(case: PlatformCase, _folder: Path) -> None:
    """Its wall clock ends the whole process group on the device, and what it wrote before is kept."""
    with case.session() as session:
        staged = session.stage({}, {})
        mark = f"{staged.folder}/alive"
        loop = 'echo begun; (while :; do echo x >> "$1"; sleep 0.1; done) & wait'
        started = time.monotonic()
        completed = session.run(case.script(loop, mark, timeout_s=3.0))
        expect(completed.timed_out and not completed.ok, "it did not count as timed out")
        expect(time.monotonic() - started < 30, "it was not ended in time")
        expect("begun" in completed.stdout, "what it wrote before it was ended is lost")
        expect(_size(case, session, mark) > 0, "its child never ran: this check proves nothing")
        before = _size(case, session, mark)
        time.sleep(0.5)
        expect(_size(case, session, mark) == before, "its child still runs")


def the_environment_of_one_command_stays_there(case: PlatformCase, _folder: Path) -> None:
    """A variable of one command is not seen by the next."""
    with case.session() as session:
        first = session.run(case.script('printf "%s" "$EDGE_HARNESS_LEAK"', EDGE_HARNESS_LEAK="a $b 'c'"))
        second = session.run(case.script('printf "%s" "$EDGE_HARNESS_LEAK"'))
    expect(first.stdout == "a $b 'c'", f"the variable arrived as {first.stdout!r}")
    expect(second.stdout == "", "the variable leaked into the next command")


def staged_files_arrive_and_programs_start(case: PlatformCase, folder: Path) -> None:
    """Files have their names and content, also in sub-folders; programs can be started though they lacked the bit."""
    data, program = folder / "data file", folder / "program"
    data.write_bytes(bytes(range(256)))
    program.write_text(f'#!{case.sh}\necho "started $1"\n')
    program.chmod(0o644)
    with case.session() as session:
        staged = session.stage({"sub/data file": data}, {"program": program})
        size = _size(case, session, staged.files["sub/data file"])
        expect(size == 256, f"256 bytes became {size}")
        expect(staged.files["sub/data file"].startswith(staged.folder), "a file is outside of the benchmark's folder")
        completed = session.run(Command((staged.programs["program"], "well"), env=case.variables))
        expect(completed.stdout.strip() == "started well", f"the program said {completed.describe()}")


def every_benchmark_has_a_fresh_folder(case: PlatformCase, folder: Path) -> None:
    """What one benchmark wrote is not there for the next, and everything is gone after the session."""
    with case.session() as session:
        first = session.stage({}, {})
        session.run(case.script('echo stale > "$1"', f"{first.folder}/output"))
        second = session.stage({}, {})
        expect(_size(case, session, f"{second.folder}/output") < 0, "a benchmark finds another's output")
    with case.session() as session:
        expect(_size(case, session, f"{first.folder}/output") < 0, "a session left its files behind")
    del folder


def pulling_moves_whole_files(case: PlatformCase, folder: Path) -> None:
    """A pulled file arrives whole and is gone on the device; a missing one is an error and leaves nothing."""
    with case.session() as session:
        remote = f"{session.stage({}, {}).folder}/result.bin"
        session.run(case.script('printf "1234567" > "$1"', remote))
        session.pull(remote, folder / "got" / "result.bin")
        expect((folder / "got" / "result.bin").read_bytes() == b"1234567", "the file changed on its way")
        expect(_size(case, session, remote) < 0, "the file is still on the device: a later launch could be credited")
        try:
            session.pull(remote, folder / "missing")
        except FileNotFoundError:
            pass
        else:
            raise ContractBroken("pulling a missing file is not an error")
        expect(not (folder / "missing").exists(), "pulling a missing file left something behind")


def long_output_arrives_whole(case: PlatformCase, _folder: Path) -> None:
    """A megabyte of output on both streams neither blocks nor is cut."""
    with case.session() as session:
        script = 'i=0; while [ $i -lt 8192 ]; do echo "$1"; echo "$1" >&2; i=$((i+1)); done'
        completed = session.run(case.script(script, "x" * 127, timeout_s=60.0))
    expect(len(completed.stdout) == len(completed.stderr) == 8192 * 128, "output was lost")


def the_state_of_the_device_is_read(case: PlatformCase, _folder: Path) -> None:
    """The state has a time, and whatever shares it gives are shares."""
    with case.session() as session:
        first, second = session.state(), session.state()
    expect(0 <= second.time - first.time < 60, "the clock of the states does not run")
    expect(second.busy is None or 0 <= second.busy <= 1, f"busy is {second.busy}, not a share")


def live_programs_are_talked_with(case: PlatformCase, _folder: Path) -> None:
    """Line by line, in both directions, and their end comes back like that of any program."""
    with case.live() as session:
        if session is not None:
            expect_conversation(session, case.script)


def live_programs_live_at_the_same_time(case: PlatformCase, _folder: Path) -> None:
    """Two of them answer in turns: what comparisons with `--interleave process` need."""
    with case.live() as session:
        if session is not None:
            expect_company(session, case.script)


def the_end_of_a_live_program_is_told(case: PlatformCase, _folder: Path) -> None:
    """Nobody waits for what cannot come."""
    with case.live() as session:
        if session is not None:
            expect_end_to_be_told(session, case.script)


def a_live_program_may_idle(case: PlatformCase, _folder: Path) -> None:
    """Only the time in which somebody waits for it counts; then its limit holds."""
    with case.live() as session:
        if session is not None:
            expect_patience(session, case.script)


def no_live_program_survives_its_context(case: PlatformCase, _folder: Path) -> None:
    """Nor do its children."""
    with case.live() as session:
        if session is not None:
            expect_no_survivors(session, case.script, lambda path: _size(case, session, path))


def _size(case: PlatformCase, session: Session, path: str) -> int:
    """Bytes of a file on the device, -1 when there is none."""
    completed: Completed = session.run(case.script('[ -e "$1" ] && wc -c < "$1" || echo -1', path))
    return int(completed.stdout.strip() or "-1")


CHECKS: Final[tuple[Check, ...]] = (
    devices_have_stable_identities,
    arguments_arrive_as_they_are,
    exit_codes_and_streams_arrive,
    signals_are_named,
    a_program_that_does_not_end_is_killed_with_its_children,
    the_environment_of_one_command_stays_there,
    staged_files_arrive_and_programs_start,
    every_benchmark_has_a_fresh_folder,
    pulling_moves_whole_files,
    long_output_arrives_whole,
    the_state_of_the_device_is_read,
    live_programs_are_talked_with,
    live_programs_live_at_the_same_time,
    the_end_of_a_live_program_is_told,
    a_live_program_may_idle,
    no_live_program_survives_its_context,
)
