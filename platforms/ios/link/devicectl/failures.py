"""Failures of devicectl as errors of the harness, decided by codes and messages that were recorded from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from harness.core.errors import EnvironmentProblem, HarnessError
from platforms.ios.link.errors import (
    AppNotInstalled,
    NoDeveloperServices,
    locked_error,
    lost_error,
    out_of_space_error,
    unpaired_error,
    unresponsive_error,
)
from platforms.ios.link.words import shorten

_CORE_DEVICE: Final = "com.apple.dt.CoreDeviceError"
_DEEPEST: Final = 12
_DESCRIPTIONS: Final = (
    "NSLocalizedDescription",
    "NSLocalizedFailureReason",
    "NSLocalizedFailure",
    "NSDebugDescription",
    "BSErrorCodeDescription",
)

_ErrorMaker = Callable[[str, str, str], HarnessError]
"""Error of a phone, what was being done, and devicectl's words."""


class DevicectlFailure(Struct, frozen=True):
    """Why devicectl failed.

    Attributes:
        text: Each error and those beneath it: `words (domain code)`, or what it wrote if it left no answer.
        reason: Its words for people, without what is beneath.
        timed_out: Whether it gave up because its time was over.
    """

    text: str
    reason: str
    timed_out: bool = False

    @property
    def says_missing(self) -> bool:
        """Whether there is no such file on the phone, or no such folder."""
        return bool(_MISSING.search(self.text)) and not _REFUSED.search(self.text)

    @property
    def says_unknown_process(self) -> bool:
        """Whether an app was started, and its process identifier remained unknown."""
        return f"({_CORE_DEVICE} 10004)" in self.text


_MISSING: Final = re.compile(
    r"Failed to retrieve the file node|NSPOSIXErrorDomain 2\)|NSCocoaErrorDomain (4|260)\)|No such file or directory"
)
_REFUSED: Final = re.compile(r"(?i)permission denied|not permitted|NSPOSIXErrorDomain (1|13)\)")


def read_failure(error: object) -> DevicectlFailure:
    """Return the failure that the member `error` of an answer describes.

    It is a serialised NSError: `code`, `domain`, and `userInfo` with `{"string": ...}` and `{"error": {...}}`.
    """
    parts = list(_describe(error, 0))
    words = [text for _, text in parts if text]
    return DevicectlFailure(
        text="; ".join(f"{text} {code}".strip() for code, text in parts),
        reason=shorten("; ".join(dict.fromkeys(words)) or "; ".join(code for code, _ in parts) or "without a word"),
    )


def map_failure(phone: str, doing: str, failure: DevicectlFailure) -> HarnessError:
    """Return the error for a failure of devicectl.

    Args:
        phone: UDID of the phone; empty where no single phone was asked.
        doing: What was being done, as in "an app was installed".
        failure: Why it failed.
    """
    if failure.timed_out:
        return unresponsive_error(phone or "CoreDevice", doing)
    for pattern, make in _MESSAGES:
        if pattern.search(failure.text):
            return make(phone, doing, failure.reason)
    subject = f"{phone}: " if phone else ""
    return EnvironmentProblem(f"{subject}devicectl failed while {doing}: {failure.reason}")


def _describe(error: object, depth: int) -> Iterator[tuple[str, str]]:
    """Yield `(domain code)` and words of an error and of those beneath it."""
    if not isinstance(error, Mapping) or depth == _DEEPEST:
        return
    domain, code, info = error.get("domain"), error.get("code"), error.get("userInfo")
    values = info if isinstance(info, Mapping) else {}
    words = [_text_of(values.get(name)) for name in _DESCRIPTIONS]
    yield (f"({domain} {code})" if isinstance(domain, str) else "", ". ".join(word for word in words if word))
    beneath = values.get("NSUnderlyingError")
    yield from _describe(beneath.get("error") if isinstance(beneath, Mapping) else None, depth + 1)
    several = values.get("NSMultipleUnderlyingErrorsKey")
    for item in several[:_DEEPEST] if isinstance(several, list) else ():
        yield from _describe(item.get("error", item) if isinstance(item, Mapping) else None, depth + 1)


def _text_of(value: object) -> str:
    text = value.get("string") if isinstance(value, Mapping) else value
    return text if isinstance(text, str) else ""


def unsupported_system_error(phone: str, _doing: str = "", _text: str = "") -> EnvironmentProblem:
    """Return the error of a phone that devicectl lists, and cannot use."""
    return EnvironmentProblem(
        f"devicectl cannot use {phone}: its system is older than iOS 17, or newer than Xcode",
        hint="use go-ios (--ios-client go-ios), or another version of Xcode",
    )


def developer_mode_error(phone: str, _doing: str = "", _text: str = "") -> NoDeveloperServices:
    """Return the error of a phone whose developer mode is off."""
    return NoDeveloperServices(
        f"developer mode of {phone} is off",
        hint="turn it on (Settings > Privacy & Security > Developer Mode), and restart the phone",
    )


def _unpaired(phone: str, _doing: str, _text: str) -> HarnessError:
    return unpaired_error(phone)


def _no_image(phone: str, doing: str, text: str) -> HarnessError:
    return NoDeveloperServices(
        f"the developer disk image of {phone} is not mounted while {doing}: {text}",
        hint="open Xcode once with the phone plugged in and unlocked: it downloads and mounts the image",
    )


def _not_installed(phone: str, doing: str, text: str) -> HarnessError:
    return AppNotInstalled(
        f"{phone} does not have this app, or hides its files, while {doing}: {text}",
        hint="install it, signed for development (get-task-allow)",
    )


def _untrusted_developer(phone: str, _doing: str, text: str) -> HarnessError:
    return EnvironmentProblem(
        f"{phone} does not accept the signature of the app: {text}",
        hint="sign it with a profile that lists this phone; trust its developer in Settings > General > "
        "VPN & Device Management",
    )


def _too_many_apps(phone: str, _doing: str, text: str) -> HarnessError:
    return EnvironmentProblem(f"{phone}: {text}", hint="remove an app that was signed with a free account")


def _lost(phone: str, doing: str, text: str) -> HarnessError:
    return lost_error(phone or "the phone", doing, text)


def _unresponsive(phone: str, doing: str, _text: str) -> HarnessError:
    return unresponsive_error(phone or "the phone", doing)


def _full(phone: str, _doing: str, text: str) -> HarnessError:
    return out_of_space_error(phone, text)


def _no_devicectl(_phone: str, _doing: str, text: str) -> HarnessError:
    return EnvironmentProblem(
        f"xcrun finds no devicectl: {text}",
        hint="install Xcode 15 or later, and choose it: `sudo xcode-select -s /Applications/Xcode.app`",
    )


def _no_licence(_phone: str, _doing: str, text: str) -> HarnessError:
    return EnvironmentProblem(f"Xcode is not set up: {text}", hint="`sudo xcodebuild -license accept -runFirstLaunch`")


_MESSAGES: Final[tuple[tuple[re.Pattern[str], _ErrorMaker], ...]] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (r"unable to find utility|active developer (path|directory)|requires Xcode", _no_devicectl),
        (r"(?i)license agree|-runFirstLaunch", _no_licence),
        (
            r"could not be, unlocked|FBSOpenApplicationErrorDomain 7\)|\. Locked\b|(?i:the device is locked)",
            locked_error,
        ),
        (r"(?i)Developer Mode is (disabled|not enabled|off)", developer_mode_error),
        (r"(?i)maximum number of installed apps", _too_many_apps),
        (
            r"(?i)not paired|must be paired|pairing is required|RemotePairingError 2\)|not trust this computer",
            _unpaired,
        ),
        (r"is not installed|NSOSStatusErrorDomain -10814\)|ContainerLookupErrorDomain", _not_installed),
        (r"(?i)developer disk image|CoreDeviceError 12040\)|ddiServices", _no_image),
        (r"(?i)not enough storage|insufficient (storage|space)|no space left|NSPOSIXErrorDomain 28\)", _full),
        (r"NSCocoaErrorDomain 640\)", _full),
        (
            r"(?i)code signature|ApplicationVerificationFailed|provisioning profile|not been explicitly trusted",
            _untrusted_developer,
        ),
        (r"FBSOpenApplicationErrorDomain 3\)", _untrusted_developer),
        (r"is not supported by this device", unsupported_system_error),
        (r"device was not found|CoreDeviceError 1000\)", _lost),
        (r"(?i)not connected|disconnected|connection was (lost|interrupted)", _lost),
        (r"(?i)tunnel connection failed|network socket closed|connection reset|no longer available", _lost),
        (r"(?i)timed out|Exceeded command timeout", _unresponsive),
    )
)
"""The first that fits decides."""
