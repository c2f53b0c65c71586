"""Causes of failures that go-ios does not name: they take another question to the phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from harness.core.errors import DeviceLost, EnvironmentProblem, HarnessError
from platforms.ios.link.errors import (
    NoDeveloperServices,
    PhoneNotPaired,
    locked_error,
    unpaired_error,
    unresponsive_error,
)
from platforms.ios.link.go_ios.documents import SWITCH, LockdownValues, parse_answer, parse_document
from platforms.ios.link.go_ios.program import GoIosProgram, ProgramOutput
from platforms.ios.link.go_ios.refusals import map_failure, no_image_error

_NEEDS_TUNNEL: Final = "needs an active tunnel"
"""What go-ios says of every phone with iOS 17 that has no developer services, through a tunnel or not."""
_NO_TUNNEL: Final = "failed to get tunnel info"
"""Warning of commands that looked for a tunnel, and did not find one."""
_NO_ANSWER: Final = "Timed out waiting for response"
_DEVELOPER: Final = ("launch app command failed", "processcontrol failed", "kill process failed")
"""Failures of developer services. Where there are none at the far end of a tunnel, go-ios talks to nobody: then its
connection ends, or it waits in vain."""
_NIL: Final = "panic: runtime error: invalid memory address or nil pointer dereference"
"""`ios apps` and `ios kill` ignore that they were refused a connection, and then use it."""


def ask(
    program: GoIosProgram,
    udid: str,
    *words: str,
    doing: str,
    timeout_s: float | None = None,
    progress: Callable[[], object] | None = None,
) -> ProgramOutput:
    """Run a command that asks one phone, and must not fail. Arguments are those of `GoIosProgram.call`.

    Raises:
        HarnessError: As `GoIosProgram.call`; or it failed, in our words.
    """
    output = program.call(udid, *words, doing=doing, timeout_s=timeout_s, progress=progress)
    if output.failure:
        raise find_cause(program, udid, doing, output)
    return output


def find_cause(program: GoIosProgram, udid: str, doing: str, output: ProgramOutput) -> HarnessError:
    """Return the error for a failure of go-ios, after asking the phone what go-ios left open.

    Args:
        program: go-ios.
        udid: The phone.
        doing: What was being done.
        output: What go-ios wrote.
    """
    error = map_failure(udid, doing, output.failure)
    try:
        if output.failure.startswith(_NIL):
            return locked_error(udid, doing) if read_values(program, udid, doing).PasswordProtected else error
        if _NEEDS_TUNNEL in output.failure and not any(record.msg == _NO_TUNNEL for record in output.log):
            error = no_image_error(udid)
        if _NO_ANSWER in output.failure:
            error = unresponsive_error(udid, doing)
        if isinstance(error, DeviceLost) and output.failure.startswith(_DEVELOPER):
            error = error if _has_image(program, udid, doing) else no_image_error(udid)
        if isinstance(error, NoDeveloperServices) and read_developer_mode(program, udid, doing) is False:
            return NoDeveloperServices(
                f"developer mode of {udid} is off",
                hint="turn it on (Settings > Privacy & Security > Developer Mode), and restart the phone",
            )
    except (DeviceLost, PhoneNotPaired) as cause:
        return cause
    except EnvironmentProblem:
        return error  # the phone does not say more
    return error


def _has_image(program: GoIosProgram, udid: str, doing: str) -> bool:
    """Return whether a developer image is mounted, as far as the phone says."""
    output = program.call(udid, "image", "list", doing=doing)
    if output.failure:
        raise map_failure(udid, doing, output.failure)
    return not any(record.msg == "none" for record in output.log)


def read_values(program: GoIosProgram, udid: str, doing: str) -> LockdownValues:
    """Return what a phone says of itself.

    Raises:
        HarnessError: It cannot be asked; go-ios names the cause here.
    """
    output = program.call(udid, "lockdown", "get", doing=doing)
    if output.failure:
        raise map_failure(udid, doing, output.failure)
    return parse_document(LockdownValues, output.stdout, doing)


def read_developer_mode(program: GoIosProgram, udid: str, doing: str) -> bool | None:
    """Return whether developer mode is on; None where the phone has none, or does not say.

    lockdown is asked: `ios devmode get` says that it is off wherever the phone does not answer.

    Raises:
        HarnessError: It cannot be asked.
    """
    words = ("lockdown", "get", "DeveloperModeStatus", "--domain=com.apple.security.mac.amfi")
    output = program.call(udid, *words, doing=doing)
    if output.failure:
        raise map_failure(udid, doing, output.failure)
    return parse_answer(SWITCH, output.stdout, doing)


def ask_to_trust(program: GoIosProgram, udid: str) -> None:
    """Pair with a phone, which asks its owner; returns if it trusts this computer now.

    Raises:
        PhoneNotPaired: Its owner has not answered yet, or not with yes; or it is locked.
        HarnessError: It cannot be asked.
    """
    doing = "it was asked to trust this computer"
    output = program.call(udid, "pair", doing=doing)
    if output.failure:
        error = map_failure(udid, doing, output.failure)
        # a phone that is locked hides what go-ios needs for pairing, which makes it panic
        raise unpaired_error(udid) if output.failure.startswith("panic: ") else error
