"""Choice of the client: go-ios on every host where it is installed, else Apple's own tools on a Mac."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Finding
from platforms.ios.link.client import PhoneClient
from platforms.ios.link.devicectl.client import Devicectl
from platforms.ios.link.go_ios.client import GoIos
from platforms.ios.options import IosOptions

_REMEDY: Final = (
    "npm install -g go-ios (or --go-ios PROGRAM); on a Mac, Xcode 15 or newer will do (--ios-client devicectl)"
)


def choose_client(options: IosOptions) -> PhoneClient | None:
    """Return the client that a user asked for, or that is installed; None where none is."""
    if options.ios_client == "devicectl":
        return Devicectl()
    go_ios = GoIos(
        None if options.go_ios is None else Path(options.go_ios), usbmuxd=options.usbmuxd, tunnel=options.ios_tunnel
    )
    if options.ios_client == "go-ios" or options.go_ios is not None:
        return go_ios
    if all(finding.ok for finding in go_ios.diagnose()[:1]):
        return go_ios
    is_mac = platform.system() == "Darwin"
    return Devicectl() if is_mac and shell.which("xcrun") is not None else None


def missing_client() -> EnvironmentProblem:
    """Return the error of a machine that cannot reach iPhones."""
    return EnvironmentProblem("no program on this machine reaches iPhones", hint=_REMEDY)


def diagnose_missing() -> Sequence[Finding]:
    """Return what a machine without a client misses; it may well have no iPhones."""
    return (Finding("go-ios", None, f"none ({sys.platform})", _REMEDY),)
