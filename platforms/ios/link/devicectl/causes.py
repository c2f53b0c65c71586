"""Causes of failures that devicectl does not name: they take another question to the phone."""

from __future__ import annotations

from harness.core.errors import EnvironmentProblem, HarnessError
from platforms.ios.link.devicectl.documents import AnyDevicectlDocument, DeviceRecord, LockResult
from platforms.ios.link.devicectl.failures import (
    DevicectlFailure,
    developer_mode_error,
    map_failure,
    unsupported_system_error,
)
from platforms.ios.link.devicectl.program import ANSWER_S, DevicectlProgram
from platforms.ios.link.errors import NoDeveloperServices, locked_error, unpaired_error


def ask(
    program: DevicectlProgram,
    kind: type[AnyDevicectlDocument],
    udid: str,
    *words: str,
    last: tuple[str, ...] = (),
    doing: str,
    timeout_s: float = ANSWER_S,
) -> AnyDevicectlDocument:
    """Run a command that asks one phone, and must not fail; return its result.

    Raises:
        HarnessError: As `DevicectlProgram.call`; or it failed, in our words.
    """
    answer = program.call(*words, udid=udid, last=last, doing=doing, timeout_s=timeout_s)
    if answer.failure is not None:
        raise find_cause(program, udid, doing, answer.failure)
    return answer.parse(kind, doing)


def read_details(program: DevicectlProgram, udid: str, doing: str) -> DeviceRecord:
    """Return what a phone says of itself.

    Raises:
        PhoneNotPaired: It does not trust this Mac.
        HarnessError: It cannot be asked.
    """
    answer = program.call("device", "info", "details", udid=udid, doing=doing)
    if answer.failure is not None:
        raise map_failure(udid, doing, answer.failure)
    record = answer.parse(DeviceRecord, doing)
    if record.pairing == "unpaired":
        raise unpaired_error(udid)
    if record.pairing == "unsupported":
        raise unsupported_system_error(udid)
    return record


def find_cause(program: DevicectlProgram, udid: str, doing: str, failure: DevicectlFailure) -> HarnessError:
    """Return the error for a failure of devicectl, after asking the phone what devicectl left open.

    A developer image that cannot be mounted is what it says of phones that are locked, and of those whose developer
    mode is off.
    """
    error = map_failure(udid, doing, failure)
    if type(error) is not EnvironmentProblem and not isinstance(error, NoDeveloperServices):
        return error
    try:
        if read_details(program, udid, doing).developer_mode is False:
            return developer_mode_error(udid)
        answer = program.call("device", "info", "lockState", udid=udid, doing=doing)
        if answer.failure is None and answer.parse(LockResult, doing).passcode_required:
            return locked_error(udid, doing)
    except EnvironmentProblem as cause:
        return error if type(cause) is EnvironmentProblem else cause
    return error
