"""Failures between this machine and an iPhone as errors of the harness."""

from __future__ import annotations

from harness.core.errors import DeviceLost, EnvironmentProblem, OutOfSpace


class PhoneNotPaired(EnvironmentProblem):
    """The phone does not trust this computer, or is locked, until somebody does something with it."""


class PhoneLocked(PhoneNotPaired):
    """The phone is locked with a passcode."""


class NoDeveloperServices(EnvironmentProblem):
    """The phone offers no services for developers: developer mode is off, or no developer image is mounted."""


class AppNotInstalled(EnvironmentProblem):
    """The phone does not have this app, or does not let computers see its container."""


def lost_error(phone: str, doing: str, reason: str = "the connection ended") -> DeviceLost:
    """Return the error of a phone that went away.

    Args:
        phone: Its name in messages.
        doing: What was being done, as in "lost iPhone 15 while an app was installed".
        reason: The client's own words.
    """
    return DeviceLost(f"lost {phone} while {doing}: {reason}", hint="check the cable; `harness devices` lists phones")


def unresponsive_error(phone: str, doing: str) -> DeviceLost:
    """Return the error of a phone that did not answer in time."""
    return DeviceLost(f"{phone} did not answer in time while {doing}", hint="plug it in again, or restart it")


def unpaired_error(phone: str) -> PhoneNotPaired:
    """Return the error of a phone that does not trust this computer."""
    return PhoneNotPaired(
        f"{phone} does not trust this computer", hint='unlock it, and answer "Trust This Computer?" with Trust'
    )


def out_of_space_error(phone: str, reason: str) -> OutOfSpace:
    """Return the error of a phone whose storage is full."""
    return OutOfSpace(f"no space left on {phone}: {reason}", hint="delete something there")


def locked_error(phone: str, doing: str, _text: str = "") -> PhoneLocked:
    """Return the error of a phone that is locked with a passcode."""
    return PhoneLocked(
        f"{phone} is locked, and refused while {doing}", hint="unlock it, and set Auto-Lock to Never while it is used"
    )
