"""This machine as a device."""

from __future__ import annotations

from harness.settings import Settings
from platforms.host.platform import Host


def create(settings: Settings) -> Host:
    """Entry point of the platform `host`."""
    return Host(
        work=settings.cache_dir / "host",
        name=settings.platform_sig,
        cpus=settings.cpus,
        lock_timeout_s=settings.lock_timeout,
        keep=settings.debug,
    )
