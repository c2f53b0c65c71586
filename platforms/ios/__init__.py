"""iPhones and iPads, through go-ios or Apple's own tools.

platform    lists phones, opens one          session     a phone while it is locked: what flows see
options     flags of this platform           devices     identity and parts of a phone
link/       reaching a phone: the protocol of clients, go-ios, devicectl
apps/       packages, the protocol of our runner app, XCTest
files/      content-addressed store in an app's container: nothing is transferred twice
state/      heat, battery, low power mode, readiness
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.config.settings import Settings
    from platforms.ios.platform import Ios


def create(settings: Settings) -> Ios:
    """Entry point of the platform `ios`.

    Raises:
        UsageError: An invalid option.
    """
    from platforms.ios.platform import Ios  # noqa: PLC0415 - loaded when phones are asked for

    return Ios(settings)
