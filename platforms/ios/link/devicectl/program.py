"""The program devicectl: running it with a time limit, and the envelope of the JSON that it writes."""

from __future__ import annotations

import math
import re
import tempfile
from pathlib import Path
from typing import Final

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from harness import shell
from harness.core.command import Command, Completed
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Finding
from platforms.ios.link.devicectl.documents import AnyDevicectlDocument, DeviceListResult, parse_result
from platforms.ios.link.devicectl.failures import DevicectlFailure, map_failure, read_failure
from platforms.ios.link.errors import unresponsive_error
from platforms.ios.link.words import check_udid, shorten

ANSWER_S: Final = 60.0
"""Limit of a call that asks for a few values: devicectl connects through a tunnel first."""
_SHORTEST_S: Final = 5
"""devicectl refuses a shorter `--timeout`."""
_GRACE_S: Final = 20.0
"""Time after its own limit in which it may end by itself: it is known to hang."""
_MOST_BYTES: Final = 64 << 20
_NEWEST: Final = 5
"""jsonVersion of Xcode 27, the newest whose answers were recorded."""
_ERROR_CODE: Final = re.compile(r"(\w) error (-?\d+) \(0x[0-9A-Fa-f]+\)\)")
_XCODE: Final = "install Xcode 15 or later, on a Mac; on other machines use go-ios (--ios-client go-ios)"


class _Info(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)
    outcome: str
    json_version: int | None = None  # missing before Xcode 16
    version: str = ""


class _Envelope(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)
    info: _Info
    result: object = None
    error: object = None


class DevicectlAnswer(Struct, frozen=True):
    """What devicectl answered.

    Attributes:
        result: Its result, still to be parsed.
        failure: Why it failed; None if it did not.
        version: Version of devicectl, if it says so.
        json_version: Version of its JSON, if it says so.
    """

    result: object = None
    failure: DevicectlFailure | None = None
    version: str = ""
    json_version: int | None = None

    def parse(self, kind: type[AnyDevicectlDocument], doing: str) -> AnyDevicectlDocument:
        """Return its result as a value.

        Raises:
            EnvironmentProblem: A member is missing, or is something else; it is named.
        """
        try:
            return parse_result(kind, self.result, doing)
        except EnvironmentProblem as error:
            if self.json_version is None or self.json_version <= _NEWEST:
                raise
            hint = f"its jsonVersion is {self.json_version}, and {_NEWEST} is the newest that is known: use go-ios"
            raise EnvironmentProblem(error.message, hint=hint) from error


class DevicectlProgram:
    """The program devicectl. Any thread may use it.

    Args:
        xcrun: Path of `xcrun`; None for that in PATH.
    """

    def __init__(self, xcrun: Path | None = None) -> None:
        self._xcrun = xcrun

    def locate(self) -> Path:
        """Return the path of `xcrun`.

        Raises:
            EnvironmentProblem: There is none.
        """
        path = shell.which(str(self._xcrun or "xcrun"))
        if path is None:
            raise EnvironmentProblem("xcrun is not installed, by which devicectl is called", hint=_XCODE)
        return path

    def diagnose(self) -> tuple[Finding, ...]:
        """Check that devicectl answers. Never raises."""
        doing = "phones were listed"
        try:
            answer = self.call("list", "devices", doing=doing)
            if answer.failure is not None:
                raise map_failure("", doing, answer.failure)
            devices = answer.parse(DeviceListResult, doing).devices
        except EnvironmentProblem as error:
            return (Finding("devicectl", False, error.message, error.hint or ""),)
        count = sum(device.is_connected_phone for device in devices)
        phones = f"lists {count} phone{'s' if count != 1 else ''}"
        return (Finding("devicectl", True, f"{answer.version or 'of unknown version'}; {phones}"),)

    def call(
        self, *words: str, udid: str | None = None, last: tuple[str, ...] = (), doing: str, timeout_s: float = ANSWER_S
    ) -> DevicectlAnswer:
        """Run a command, and return its answer even if it failed.

        Args:
            words: Words of the command.
            udid: Phone that it asks; None if it concerns no single phone.
            last: Words after its options.
            doing: What is being done, for messages.
            timeout_s: Time limit.

        Raises:
            DeviceLost: It did not end in time; nothing of it runs any more.
            EnvironmentProblem: It cannot be started, or its answer cannot be read.
            Interrupted: The harness is being stopped.
        """
        limit_s = max(_SHORTEST_S, math.ceil(timeout_s))
        device = () if udid is None else ("--device", check_udid(udid))
        with tempfile.TemporaryDirectory(prefix="devicectl-") as folder:
            file = Path(folder) / "answer.json"
            options = ("--timeout", str(limit_s), "--json-output", str(file))
            argv = (str(self.locate()), "devicectl", *words, *device, *options, *last)
            completed = shell.run(Command(argv, timeout_s=limit_s + _GRACE_S))
            if completed.timed_out:
                raise unresponsive_error(udid or "CoreDevice", doing)
            return _read_answer(file, completed, doing)


def _read_answer(file: Path, completed: Completed, doing: str) -> DevicectlAnswer:
    """Return the answer in a file; where devicectl left none, what it wrote says why it failed."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise EnvironmentProblem(f"the answer of devicectl is too long while {doing}")
        text = file.read_bytes()
    except FileNotFoundError:
        text = b""
    if not text.strip():
        return DevicectlAnswer(failure=read_output(completed))
    try:
        envelope = _Envelope.model_validate_json(text)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False, include_context=False)[0]
        member = ".".join(map(str, details["loc"]))
        raise EnvironmentProblem(
            f"the answer of devicectl cannot be read while {doing}: {f'{member}: ' if member else ''}{details['msg']}",
            hint="is it a version of Xcode that is supported (15 to 27)?",
        ) from error
    return DevicectlAnswer(
        envelope.result, _judge(envelope, completed), shorten(envelope.info.version), envelope.info.json_version
    )


def _judge(envelope: _Envelope, completed: Completed) -> DevicectlFailure | None:
    outcome = envelope.info.outcome
    if outcome == "timeout":
        return DevicectlFailure("Exceeded command timeout", "its time was over", timed_out=True)
    if outcome == "success" and completed.ok and envelope.error is None:
        return None
    if envelope.error is not None:
        return read_failure(envelope.error)
    if outcome == "success":
        reason = f"it reports success, and {completed.describe()}"
    else:
        reason = f"its outcome is {shorten(repr(outcome))}, without an error"
    return DevicectlFailure(reason, shorten(reason))


def read_output(completed: Completed) -> DevicectlFailure:
    """Return why a program of Xcode failed that left only what it wrote: the lines that name an error, or the last."""
    lines = [line.strip() for line in f"{completed.stdout}\n{completed.stderr}".splitlines() if line.strip()]
    named = [index for index, line in enumerate(lines) if "error:" in line.lower()]
    text = _ERROR_CODE.sub(r"\1 \2)", "\n".join(lines[named[0] :][:40] if named else lines[-3:]))
    text = text or f"{completed.describe()}, and left no answer"
    return DevicectlFailure(text, shorten(text))
