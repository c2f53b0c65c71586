"""Contract of platforms, as checks that the tests of any platform can run against a real or a stand-in device.

    CASE = PlatformCase(create=lambda: MyPlatform(...), sh="/system/bin/sh")

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_platform_keeps_the_contract(check: Check, tmp_path: Path) -> None:
        check(CASE, tmp_path)

A check passes silently or raises `ContractBroken`. Those of capabilities, such as interactive programs, pass where
sessions do not have them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.core.command import Command, Completed
from harness.core.protocols import Interactive, Platform, Releasing, Session
from harness.testing.contract import ContractBroken, expect
from harness.testing.progress import RecordedProgress


@dataclass(frozen=True, slots=True)
class PlatformCase:
    """Platform under test, with at least one device.

    Attributes:
        create: Makes the platform.
        sh: Path of a POSIX shell on its devices; the checks start it with a script as one argument.
        variables: Environment variables that every command needs on the device.
    """

    create: Callable[[], Platform]
    sh: str = "/bin/sh"
    variables: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Open a session of the first device."""
        platform = self.create()
        with platform.open(platform.devices()[0], RecordedProgress()) as session:
            yield session

    @contextmanager
    def interactive(self) -> Iterator[Interactive | None]:
        """Open a session of the first device; yield None where it has no interactive programs."""
        with self.session() as session:
            yield session if isinstance(session, Interactive) else None

    def script(self, text: str, *arguments: str, timeout_s: float = 20.0, **env: str) -> Command:
        """Return a command that runs a shell script with arguments."""
        return Command((self.sh, "-c", text, "sh", *arguments), env={**self.variables, **env}, timeout_s=timeout_s)


Check = Callable[[PlatformCase, Path], None]

_ECHO: Final = 'echo noise; echo ready; while read word; do [ "$word" = end ] && break; echo "got $word"; done'
_GROW: Final = 'while :; do echo x >> "$1"; sleep 0.1; done'
_LIMIT_S: Final = 3.0
"""Time limit of programs that exceed it; far more than starting one takes on a busy machine."""
_KILL_S: Final = 90.0
"""Seconds within which a program that exceeded its limit must be gone, on a machine that does many other things."""
_END_S: Final = 10.0
"""Seconds within which children of a killed program must be gone: over a cable they learn of it a moment later."""

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
    """Two platform objects list the same devices, each with the same non-empty, unique identity."""
    first, second = case.create().devices(), case.create().devices()
    identities = [device.identity for device in first]
    expect(bool(identities), "there is no device to check")
    expect(identities == [device.identity for device in second], "identities differ between two listings")
    expect(len(set(identities)) == len(identities), "two devices share an identity")
    expect(all(identity not in {"", "null", "None"} for identity in identities), "an identity is empty or `null`")


def arguments_arrive_unchanged(case: PlatformCase, _folder: Path) -> None:
    """No shell in between splits or expands arguments."""
    with case.session() as session:
        completed = session.run(case.script('for word in "$@"; do printf "<%s>" "$word"; done', *ODD_ARGUMENTS))
    wanted = "".join(f"<{word}>" for word in ODD_ARGUMENTS)
    expect(completed.stdout.rstrip("\n") == wanted, f"wrote {completed.stdout!r} instead of {wanted!r}")


def exit_codes_and_streams_are_returned(case: PlatformCase, _folder: Path) -> None:
    """Exit code, standard output and standard error are returned, apart from each other."""
    with case.session() as session:
        completed = session.run(case.script("echo out; echo err >&2; exit 7"))
    expect(completed.exit_code == 7, f"exit code {completed.exit_code} instead of 7")
    expect(not completed.ok, "a failed program counts as ok")
    expect((completed.stdout.strip(), completed.stderr.strip()) == ("out", "err"), "the streams are mixed up")


def signals_are_named(case: PlatformCase, _folder: Path) -> None:
    """A program that is ended by a signal has the signal's number and no exit code."""
    with case.session() as session:
        completed = session.run(case.script("kill -SEGV $$"))
    expect(completed.signal == 11, f"signal {completed.signal} instead of 11 (exit code {completed.exit_code})")
    expect("SIGSEGV" in completed.describe(), f"{completed.describe()!r} does not name the signal")


def a_timed_out_program_is_killed_with_its_children(case: PlatformCase, _folder: Path) -> None:
    """The time limit kills the whole process group on the device; what it wrote before is kept."""
    with case.session() as session:
        staged = session.stage({}, {})
        mark = f"{staged.folder}/alive"
        started = time.monotonic()
        completed = session.run(case.script(f"echo begun; ({_GROW}) & wait", mark, timeout_s=_LIMIT_S))
        expect(completed.timed_out and not completed.ok, "it does not count as timed out")
        expect(time.monotonic() - started < _KILL_S, "it was not killed in time")
        expect("begun" in completed.stdout, "what it wrote before it was killed is lost")
        expect(_size(case, session, mark) > 0, "its child never ran: this check proves nothing")
        expect(not _grows(case, session, mark), "its child still runs")


def environment_variables_do_not_leak(case: PlatformCase, _folder: Path) -> None:
    """A variable of one command is not set for the next."""
    with case.session() as session:
        first = session.run(case.script('printf "%s" "$EDGE_HARNESS_LEAK"', EDGE_HARNESS_LEAK="a $b 'c'"))
        second = session.run(case.script('printf "%s" "$EDGE_HARNESS_LEAK"'))
    expect(first.stdout == "a $b 'c'", f"the variable arrived as {first.stdout!r}")
    expect(second.stdout == "", "the variable leaked into the next command")


def staged_files_arrive_and_programs_start(case: PlatformCase, folder: Path) -> None:
    """Files have their names and contents, also in sub-folders; programs without the executable bit can be started."""
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
        expect(completed.stdout.strip() == "started well", f"the program {completed.describe()}")


def every_benchmark_has_a_fresh_folder(case: PlatformCase, folder: Path) -> None:
    """Files of one benchmark are not there for the next, and everything is removed after the session."""
    with case.session() as session:
        first = session.stage({}, {})
        session.run(case.script('echo stale > "$1"', f"{first.folder}/output"))
        second = session.stage({}, {})
        expect(_size(case, session, f"{second.folder}/output") < 0, "a benchmark finds the output of another")
    with case.session() as session:
        expect(_size(case, session, f"{first.folder}/output") < 0, "a session left its files behind")
    del folder


def released_folders_are_gone_and_others_stay(case: PlatformCase, folder: Path) -> None:
    """What a session releases is removed, other files are still there, and the same file can be staged again."""
    (folder / "chunk").write_bytes(bytes(1000))
    (folder / "model").write_bytes(bytes(range(256)))
    files = {"chunk": folder / "chunk", "model": folder / "model"}
    with case.session() as session:
        if not isinstance(session, Releasing):
            return
        first, second = session.stage(files, {}), session.stage({"model": folder / "model"}, {})
        session.run(case.script('echo output > "$1"', f"{first.folder}/output"))
        session.release(first, ["chunk"])
        for path in (first.files["chunk"], first.files["model"], f"{first.folder}/output"):
            expect(_size(case, session, path) < 0, f"{path} was released and is still there")
        expect(_size(case, session, second.files["model"]) == 256, "a file of another folder went away")
        third = session.stage(files, {})
        expect(_size(case, session, third.files["chunk"]) == 1000, "a released file cannot be staged again")
        expect(_size(case, session, third.files["model"]) == 256, "a kept file cannot be staged again")


def pulling_moves_whole_files(case: PlatformCase, folder: Path) -> None:
    """A pulled file arrives complete and is removed on the device; a missing one is an error and leaves nothing."""
    with case.session() as session:
        remote = f"{session.stage({}, {}).folder}/result.bin"
        session.run(case.script('printf "1234567" > "$1"', remote))
        session.pull(remote, folder / "got" / "result.bin")
        expect((folder / "got" / "result.bin").read_bytes() == b"1234567", "the file changed on its way")
        expect(
            _size(case, session, remote) < 0,
            "the file is still on the device: a later launch could be credited with it",
        )
        try:
            session.pull(remote, folder / "missing")
        except FileNotFoundError:
            pass
        else:
            raise ContractBroken("pulling a missing file is not an error")
        expect(not (folder / "missing").exists(), "pulling a missing file left something behind")


def long_output_arrives_complete(case: PlatformCase, _folder: Path) -> None:
    """A megabyte on each output stream neither blocks nor is truncated."""
    with case.session() as session:
        script = 'i=0; while [ $i -lt 8192 ]; do echo "$1"; echo "$1" >&2; i=$((i+1)); done'
        completed = session.run(case.script(script, "x" * 127, timeout_s=60.0))
    expect(len(completed.stdout) == len(completed.stderr) == 8192 * 128, "output was lost")


def device_state_is_read(case: PlatformCase, _folder: Path) -> None:
    """The state has a time, and its load is a share of 1."""
    with case.session() as session:
        first, second = session.state(), session.state()
    expect(0 <= second.time - first.time < 60, "the clock of the states does not run")
    expect(second.busy is None or 0 <= second.busy <= 1, f"busy is {second.busy}, not a share")


def interactive_programs_answer_line_by_line(case: PlatformCase, _folder: Path) -> None:
    """Lines arrive complete, in order and at once, in both directions; the whole output is in the result."""
    with case.interactive() as session:
        if session is None:
            return
        with session.start(case.script(f"{_ECHO}; echo over >&2; exit 3")) as process:
            expect(process.wait_for_line("ready"), "a line that the program wrote did not arrive")
            for word in ("one", "two"):
                process.write_line(word)
                expect(process.wait_for_line(f"got {word}"), f"the program did not answer to {word!r}")
            process.write_line("end")
            completed = process.finish()
    expect(completed.exit_code == 3, f"exit code {completed.exit_code} instead of 3")
    lines = completed.stdout.split("\n")
    expect(lines == ["noise", "ready", "got one", "got two", ""], f"standard output is not complete: {lines}")
    expect(completed.stderr.strip() == "over", f"standard error is {completed.stderr!r}")


def interactive_programs_run_side_by_side(case: PlatformCase, _folder: Path) -> None:
    """Two programs answer alternately, as comparisons with `--interleave process` need it."""
    with case.interactive() as session:
        if session is None:
            return
        with session.start(case.script(_ECHO)) as first, session.start(case.script(_ECHO)) as second:
            expect(first.wait_for_line("ready") and second.wait_for_line("ready"), "one of two programs did not start")
            for word in ("one", "two"):
                for process in (second, first):
                    process.write_line(word)
                    expect(process.wait_for_line(f"got {word}"), "one of two programs did not answer beside the other")
            both = (first.finish(), second.finish())
    expect(all(completed.ok for completed in both), f"they ended: {[completed.describe() for completed in both]}")


def the_exit_of_an_interactive_program_is_noticed(case: PlatformCase, _folder: Path) -> None:
    """Waiting for a line ends with the program, and writing to a program that has exited is no error."""
    with case.interactive() as session:
        if session is None:
            return
        with session.start(case.script("echo other; exit 4")) as process:
            expect(not process.wait_for_line("never"), "a line arrived that the program did not write")
            process.write_line("are you there")
            completed = process.finish()
    expect(completed.exit_code == 4, f"exit code {completed.exit_code} instead of 4")
    expect(completed.stdout.strip() == "other", "what it wrote before its exit is lost")


def idle_time_does_not_count(case: PlatformCase, _folder: Path) -> None:
    """Only time in which somebody waits for a program counts towards its limit, which then holds."""
    with case.interactive() as session:
        if session is None:
            return
        with session.start(case.script(_ECHO, timeout_s=_LIMIT_S)) as process:
            expect(process.wait_for_line("ready"), "the program did not start")
            time.sleep(_LIMIT_S + 0.2)
            process.write_line("one")
            expect(process.wait_for_line("got one"), "it was killed for idling")
            expect(not process.finish().timed_out, "it counts as timed out although it only idled")
        with session.start(case.script("echo begun; sleep 60", timeout_s=_LIMIT_S)) as process:
            started = time.monotonic()
            expect(not process.wait_for_line("never"), "a line arrived that the program did not write")
            completed = process.finish()
    expect(completed.timed_out and not completed.ok, "it does not count as timed out")
    expect("begun" in completed.stdout, "what it wrote before it was killed is lost")
    expect(time.monotonic() - started < _KILL_S, "it was not killed in time")


def no_interactive_program_survives_its_context(case: PlatformCase, _folder: Path) -> None:
    """A program that was not finished is killed with its context, and its children with it."""
    with case.interactive() as session:
        if session is None:
            return
        mark = f"{session.stage({}, {}).folder}/alive"
        with session.start(case.script(f"({_GROW}) & echo ready; wait", mark)) as process:
            expect(process.wait_for_line("ready"), "the program did not start")
            deadline = time.monotonic() + _KILL_S
            while _size(case, session, mark) <= 0 and time.monotonic() < deadline:
                time.sleep(0.05)
            expect(_size(case, session, mark) > 0, "its child never ran: this check proves nothing")
        deadline = time.monotonic() + _END_S
        while (alive := _grows(case, session, mark)) and time.monotonic() < deadline:
            pass
        expect(not alive, "its child still runs")


def _size(case: PlatformCase, session: Session, path: str) -> int:
    """Return the size of a file on the device in bytes; -1 when there is none."""
    completed: Completed = session.run(case.script('[ -e "$1" ] && wc -c < "$1" || echo -1', path))
    return int(completed.stdout.strip() or "-1")


def _grows(case: PlatformCase, session: Session, path: str) -> bool:
    before = _size(case, session, path)
    time.sleep(0.5)
    return _size(case, session, path) != before


CHECKS: Final[tuple[Check, ...]] = (
    devices_have_stable_identities,
    arguments_arrive_unchanged,
    exit_codes_and_streams_are_returned,
    signals_are_named,
    a_timed_out_program_is_killed_with_its_children,
    environment_variables_do_not_leak,
    staged_files_arrive_and_programs_start,
    every_benchmark_has_a_fresh_folder,
    released_folders_are_gone_and_others_stay,
    pulling_moves_whole_files,
    long_output_arrives_complete,
    device_state_is_read,
    interactive_programs_answer_line_by_line,
    interactive_programs_run_side_by_side,
    the_exit_of_an_interactive_program_is_noticed,
    idle_time_does_not_count,
    no_interactive_program_survives_its_context,
)
