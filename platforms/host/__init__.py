"""This machine as a device."""

from __future__ import annotations

from harness.config.settings import Settings
from harness.core.errors import BenchmarkUnsupported, UsageError
from platforms.cpu_kinds import choose_kind
from platforms.host import placement
from platforms.host.platform import Host


def create(settings: Settings) -> Host:
    """Entry point of the platform `host`.

    Raises:
        UsageError: The requested CPUs do not exist, or nothing can be pinned.
        EnvironmentProblem: A kind of CPUs was requested, and the kernel does not report kinds.
    """
    try:
        remarks: list[str] = []
        cpus = settings.cpus
        if isinstance(cpus, str):
            cpus = choose_kind(placement.kinds_of_cpus(), cpus, "this machine", remarks.append)
        placement.check_pinnable(cpus or ())
    except BenchmarkUnsupported as error:
        place = f"{settings.places['cpus']}: " if "cpus" in settings.places else ""
        raise UsageError(f"{place}--cpus: {error.message}", hint=error.hint) from error
    return Host(
        work=settings.cache_dir / "host",
        name=settings.platform_sig,
        cpus=cpus,
        remarks=remarks,
        lock_timeout_s=settings.lock_timeout,
        keep=settings.debug,
    )
