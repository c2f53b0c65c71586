"""This machine as a device."""

from __future__ import annotations

from harness.config.settings import Settings
from harness.core.errors import BenchmarkUnsupported, UsageError
from platforms.host import placement
from platforms.host.platform import Host


def create(settings: Settings) -> Host:
    """Entry point of the platform `host`.

    Raises:
        UsageError: The requested CPUs do not exist, or nothing can be pinned.
    """
    try:
        placement.check_pinnable(settings.cpus or ())
    except BenchmarkUnsupported as error:
        raise UsageError(f"--cpus: {error.message}", hint=error.hint) from error
    return Host(
        work=settings.cache_dir / "host",
        name=settings.platform_sig,
        cpus=settings.cpus,
        lock_timeout_s=settings.lock_timeout,
        keep=settings.debug,
    )
