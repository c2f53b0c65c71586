"""Failures of go-ios as errors of the harness, decided by messages that were read in its source or recorded from it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from harness.core.errors import DeviceLost, EnvironmentProblem, HarnessError
from platforms.ios.link.errors import (
    AppNotInstalled,
    NoDeveloperServices,
    PhoneNotPaired,
    locked_error,
    lost_error,
    out_of_space_error,
    unpaired_error,
)
from platforms.ios.link.words import shorten

MISSING: Final = "afc error code: 8"
"""AFC's answer where there is no such file (`errObjectNotFound` of go-ios's ios/afc/errors.go)."""

_Judge = Callable[[str, str, str], HarnessError]
"""Error of a phone, what was being done, and go-ios's words."""


def map_failure(phone: str, doing: str, text: str) -> HarnessError:
    """Return the error for a failure of go-ios.

    Args:
        phone: UDID of the phone; empty where no single phone was asked.
        doing: What was being done, as in "an app was installed".
        text: go-ios's words.
    """
    subject = f"{phone}: " if phone else ""
    return recognise_failure(phone, doing, text) or EnvironmentProblem(
        f"{subject}go-ios failed while {doing}: {shorten(text) or 'without a word'}"
    )


def recognise_failure(phone: str, doing: str, text: str) -> HarnessError | None:
    """Return the error for a failure of go-ios whose words are known; None for others. Arguments are as above."""
    for pattern, judge in _MESSAGES:
        if pattern.search(text):
            return judge(phone, doing, shorten(text))
    return None


def _no_usbmuxd(_phone: str, _doing: str, text: str) -> HarnessError:
    return EnvironmentProblem(
        f"usbmuxd, through which iPhones are reached, does not answer: {text}",
        hint="install and start it (Debian: `apt install usbmuxd`), or name its address with --usbmuxd",
    )


def _unpaired(phone: str, _doing: str, _text: str) -> HarnessError:
    return unpaired_error(phone)


def _asking(phone: str, _doing: str, _text: str) -> HarnessError:
    return PhoneNotPaired(
        f"{phone} asks whether to trust this computer", hint='unlock it, answer "Trust", and start again'
    )


def _denied(phone: str, _doing: str, _text: str) -> HarnessError:
    return PhoneNotPaired(
        f"the owner of {phone} chose not to trust this computer", hint='plug it in again, and answer "Trust"'
    )


def _no_tunnel(phone: str, _doing: str, _text: str) -> HarnessError:
    return EnvironmentProblem(
        f"{phone} needs a tunnel (iOS 17 and later), and none is running",
        hint="`sudo ios tunnel start`, or `ios tunnel start --userspace` (later than iOS 17.4), and leave it running",
    )


def no_image_error(phone: str, _doing: str = "", _text: str = "") -> NoDeveloperServices:
    """Return the error of a phone without the services for developers."""
    return NoDeveloperServices(
        f"{phone} has no developer image mounted", hint=f"`ios image auto --udid={phone}`, with the phone unlocked"
    )


def _not_installed(phone: str, doing: str, text: str) -> HarnessError:
    return AppNotInstalled(
        f"{phone} does not have this app, or hides its files, while {doing}: {text}",
        hint="install it, signed for development (get-task-allow)",
    )


def _bad_signature(phone: str, _doing: str, text: str) -> HarnessError:
    return EnvironmentProblem(
        f"{phone} does not accept the signature of the app: {text}",
        hint="sign it with a profile that lists this phone, and trust its developer on the phone (Settings > General > "
        "VPN & Device Management)",
    )


def _stale_tunnel(phone: str, doing: str, text: str) -> HarnessError:
    return DeviceLost(
        f"lost {phone} while {doing}: its tunnel does not answer: {text}", hint=f"`ios tunnel refresh --udid={phone}`"
    )


def _absent(phone: str, doing: str, _text: str) -> HarnessError:
    return lost_error(phone, doing, "it is not connected")


def _lost(phone: str, doing: str, text: str) -> HarnessError:
    return lost_error(phone or "the connection to usbmuxd", doing, text)


def _full(phone: str, _doing: str, text: str) -> HarnessError:
    return out_of_space_error(phone, text)


def _full_here(_phone: str, doing: str, text: str) -> HarnessError:
    return EnvironmentProblem(f"no space left on this machine while {doing}: {text}", hint="make room")


_MESSAGES: Final[tuple[tuple[re.Pattern[str], _Judge], ...]] = tuple(
    (re.compile(pattern), judge)
    for pattern, judge in (
        (r"^(failed getting device list|Device not found: \S*): dial ", _no_usbmuxd),
        (r"Device '[^']*' not found\. Is it attached", _absent),
        (r"^Device not found: .*: Failed (getting devicelist|sending to usbmux)", _lost),
        (r"Please accept the PairingDialog", _asking),
        (r"\bPairingDialogResponsePending\b", _asking),
        (r"\bUserDeniedPairing\b", _denied),
        (r"\bPasswordProtected\b", locked_error),
        (r"^panic: Failed decoding pair record plist", _unpaired),
        (r"ReadPair failed with errorcode|\bInvalidHostID\b|\bInvalidPairRecord\b", _unpaired),
        (r"^could not connect to RSD", _stale_tunnel),
        (r"needs an active tunnel|missing tunnel address and RSD port|tunnel not running", _no_tunnel),
        (r"Developer Disk Image must be mounted", no_image_error),
        (r"afc error code: 18\b", _full),
        (r"isn.t enough storage|No space left on device", _full),
        (r": no space left on device", _full_here),  # in Go's words: a file of this machine
        (r"your app is not properly signed for this device|FBSOpenApplicationErrorDomain error 3\b", _bad_signature),
        (r"FBSOpenApplicationErrorDomain error 7\b", locked_error),
        (r"\b(Application|Installation)LookupFailed\b|Did not find test app for", _not_installed),
        (r"is unknown to FrontBoard|FBSOpenApplicationErrorDomain error 4\b", _not_installed),
        (r"\bEOF\b|connection reset by peer|broken pipe|connection refused|use of closed network connection", _lost),
        (r"Failed connecting to (service|Lockdown)\W", _lost),
        (r"incorrect size: \d+ expected|wrong payload length|Only \d+ bytes received", _lost),
    )
)
"""The first that fits decides."""
