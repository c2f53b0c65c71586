"""The checks of live programs catch sessions that break a promise, and leave alone those that promise nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.command import Command, Completed
from harness.core.device import Device, DeviceState
from harness.core.protocols import Interactive, InteractiveProcess, Progress, Session, Staged
from harness.testing import platforms as contract
from harness.testing.contract import ContractBroken
from harness.testing.platforms import Check, PlatformCase
from platforms.host.platform import Host

pytestmark = pytest.mark.slow  # waits for programs that do not answer

CHECKS_OF_LIVE = (
    contract.live_programs_are_talked_with,
    contract.live_programs_live_at_the_same_time,
    contract.the_end_of_a_live_program_is_told,
    contract.a_live_program_may_idle,
    contract.no_live_program_survives_its_context,
)


class Program:
    """A live program that does everything as it should."""

    def __init__(self, live: InteractiveProcess) -> None:
        self.live = live

    def write_line(self, line: str) -> None:
        self.live.write_line(line)

    def wait_for_line(self, line: str) -> bool:
        return self.live.wait_for_line(line)

    def finish(self) -> Completed:
        return self.live.finish()


class Deaf(Program):
    """Hears nothing."""

    def wait_for_line(self, line: str) -> bool:
        return False


class Hopeful(Program):
    """Takes every line for heard."""

    def wait_for_line(self, line: str) -> bool:
        self.live.wait_for_line(line)
        return True


class Careless(Program):
    """Throws away what was heard."""

    def finish(self) -> Completed:
        return replace(super().finish(), stdout="")


class Forgiving(Program):
    """Every program ended well."""

    def finish(self) -> Completed:
        return replace(super().finish(), exit_code=0, timed_out=False)


class Plain:
    """A session of the host that holds one program at a time."""

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


class Talking(Plain):
    """One whose programs live at the same time."""

    program: type[Program] = Program

    @contextlib.contextmanager
    def start(self, command: Command) -> Iterator[Program]:
        with self.held.start(command) as live:
            yield self.program(live)


class Impatient(Talking):
    """Counts the time in which a program idles."""

    @contextlib.contextmanager
    def start(self, command: Command) -> Iterator[Program]:
        limited = ("timeout", "-s", "KILL", str(command.timeout_s), *command.argv)
        with super().start(command.replace_argv(limited)) as live:
            yield live


class Lingering(Talking):
    """Ends a program with the session, and not with its context."""

    def __init__(self, held: Interactive) -> None:
        super().__init__(held)
        self.stack = contextlib.ExitStack()

    @contextlib.contextmanager
    def start(self, command: Command) -> Iterator[Program]:
        yield self.stack.enter_context(super().start(command))


def talking(program: type[Program]) -> type[Plain]:
    return type(f"{program.__name__}Session", (Talking,), {"program": program})


class Wrapping:
    """The host with another kind of session."""

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


@pytest.mark.parametrize("check", CHECKS_OF_LIVE[:3])
def test_a_session_that_keeps_the_contract_passes(check: Check, tmp_path: Path) -> None:
    check(case_of(tmp_path, Talking), tmp_path)


@pytest.mark.parametrize(
    ("session", "check"),
    [
        (talking(Deaf), contract.live_programs_are_talked_with),
        (talking(Careless), contract.live_programs_are_talked_with),
        (talking(Forgiving), contract.live_programs_are_talked_with),
        (talking(Deaf), contract.live_programs_live_at_the_same_time),
        (talking(Hopeful), contract.the_end_of_a_live_program_is_told),
        (talking(Forgiving), contract.the_end_of_a_live_program_is_told),
        (Impatient, contract.a_live_program_may_idle),
        (Lingering, contract.no_live_program_survives_its_context),
    ],
)
def test_a_session_that_breaks_a_promise_is_caught(session: type[Plain], check: Check, tmp_path: Path) -> None:
    with pytest.raises(ContractBroken):
        check(case_of(tmp_path, session), tmp_path)


@pytest.mark.parametrize("check", CHECKS_OF_LIVE)
def test_a_session_that_is_not_live_is_not_asked(check: Check, tmp_path: Path) -> None:
    check(case_of(tmp_path, Plain), tmp_path)
