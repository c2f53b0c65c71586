"""The checks of interactive programs catch sessions that break the contract, and pass where there are none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.core.command import Command, Completed
from harness.core.device import Device, DeviceState
from harness.core.protocols import Interactive, InteractiveProcess, Progress, Session, Staged
from harness.testing import platforms as contract
from harness.testing.contract import ContractBroken
from harness.testing.platforms import Check, PlatformCase
from platforms.host.platform import Host

pytestmark = pytest.mark.slow  # waits for programs that do not answer

INTERACTIVE_CHECKS = (
    contract.interactive_programs_answer_line_by_line,
    contract.interactive_programs_run_side_by_side,
    contract.the_exit_of_an_interactive_program_is_noticed,
    contract.idle_time_does_not_count,
    contract.no_interactive_program_survives_its_context,
)


class Program:
    """Interactive program that keeps the contract."""

    def __init__(self, process: InteractiveProcess) -> None:
        self.process = process

    def write_line(self, line: str) -> None:
        self.process.write_line(line)

    def wait_for_line(self, line: str) -> bool:
        return self.process.wait_for_line(line)

    def finish(self) -> Completed:
        return self.process.finish()


class Deaf(Program):
    """Never finds a line."""

    def wait_for_line(self, line: str) -> bool:
        return False


class Hopeful(Program):
    """Finds every line."""

    def wait_for_line(self, line: str) -> bool:
        self.process.wait_for_line(line)
        return True


class Careless(Program):
    """Throws away the output."""

    def finish(self) -> Completed:
        return replace(super().finish(), stdout="")


class Forgiving(Program):
    """Reports success for every program."""

    def finish(self) -> Completed:
        return replace(super().finish(), exit_code=0, timed_out=False)


class Plain:
    """Session of the host without interactive programs."""

    def __init__(self, held: Interactive) -> None:
        self.held = held
        self.device = held.device

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        return self.held.stage(files, programs)

    def run(self, command: Command) -> Completed:
        return self.held.run(command)

    def pull(self, remote: str, local: Path) -> None:
        self.held.pull(remote, local)

    def state(self) -> DeviceState:
        return self.held.state()


class Interacting(Plain):
    """Session with interactive programs."""

    program: type[Program] = Program

    @contextlib.contextmanager
    def start(self, command: Command) -> Iterator[Program]:
        with self.held.start(command) as process:
            yield self.program(process)


class Impatient(Interacting):
    """Counts idle time."""

    @contextlib.contextmanager
    def start(self, command: Command) -> Iterator[Program]:
        limited = ("timeout", "-s", "KILL", str(command.timeout_s), *command.argv)
        with super().start(command.replace_argv(limited)) as process:
            yield process


class Lingering(Interacting):
    """Ends programs with the session, not with their context."""

    def __init__(self, held: Interactive) -> None:
        super().__init__(held)
        self.stack = contextlib.ExitStack()

    @contextlib.contextmanager
    def start(self, command: Command) -> Iterator[Program]:
        yield self.stack.enter_context(super().start(command))


def session_of(program: type[Program]) -> type[Plain]:
    return type(f"{program.__name__}Session", (Interacting,), {"program": program})


class Wrapping:
    """Host platform with another kind of session."""

    name = "host"

    def __init__(self, host: Host, session: Callable[[Interactive], Plain]) -> None:
        self.host = host
        self.session = session

    def devices(self) -> Sequence[Device]:
        return self.host.devices()

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[Session]:
        with self.host.open(device, progress) as held, contextlib.ExitStack() as stack:
            session = self.session(held)
            if isinstance(session, Lingering):
                stack.enter_context(session.stack)
            yield session


def case_of(folder: Path, session: Callable[[Interactive], Plain]) -> PlatformCase:
    return PlatformCase(lambda: Wrapping(Host(folder / "work", lock_path=folder / "lock"), session))


@pytest.mark.parametrize("check", INTERACTIVE_CHECKS[:3])
def test_a_session_that_keeps_the_contract_passes(check: Check, tmp_path: Path) -> None:
    check(case_of(tmp_path, Interacting), tmp_path)


@pytest.mark.parametrize(
    ("session", "check"),
    [
        (session_of(Deaf), contract.interactive_programs_answer_line_by_line),
        (session_of(Careless), contract.interactive_programs_answer_line_by_line),
        (session_of(Forgiving), contract.interactive_programs_answer_line_by_line),
        (session_of(Deaf), contract.interactive_programs_run_side_by_side),
        (session_of(Hopeful), contract.the_exit_of_an_interactive_program_is_noticed),
        (session_of(Forgiving), contract.the_exit_of_an_interactive_program_is_noticed),
        (Impatient, contract.idle_time_does_not_count),
        (Lingering, contract.no_interactive_program_survives_its_context),
    ],
)
def test_a_session_that_breaks_the_contract_is_caught(session: type[Plain], check: Check, tmp_path: Path) -> None:
    with pytest.raises(ContractBroken):
        check(case_of(tmp_path, session), tmp_path)


@pytest.mark.parametrize("check", INTERACTIVE_CHECKS)
def test_a_session_without_interactive_programs_passes(check: Check, tmp_path: Path) -> None:
    check(case_of(tmp_path, Plain), tmp_path)
