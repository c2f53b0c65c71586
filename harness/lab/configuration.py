"""Settings of `dask.distributed` that suit devices, and the check that it is installed."""

from __future__ import annotations

import logging
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.core.errors import EnvironmentProblem, UsageError
from harness.files.installation import install_command

if TYPE_CHECKING:
    from distributed import Security

AUTHORITY: Final = "ca.pem"
OWN: Final = "this.pem"
"""Files of a folder of certificates: that of the authority; and certificate with key of a machine."""
LOCAL: Final = "127.0.0.1"
PORT: Final = 8786
"""Port of the scheduler unless another is named."""

_LOGGED: Final = "DASK_LOGGING__DISTRIBUTED"
"""Environment variable: what the library logs at least."""

DASK_CONFIG: Final = {
    "distributed.scheduler.worker-ttl": "30s",
    "distributed.scheduler.allowed-failures": 20,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.comm.timeouts.tcp": "30s",
    "distributed.comm.timeouts.connect": "30s",
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.tick.cycle": "10s",
    "distributed.worker.daemon": True,
}
"""The ticks of the event loop woke a measuring host fifty times a second; with them two seconds apart, and without the
profiler, an idle process of a device takes 0.3 % of a CPU and wakes four times a second. Time-outs below 11 s were seen
to break connections; the time to live of a process is how long a pulled cable may stay unnoticed."""


def require_packages() -> None:
    """Check that the packages of the extra `lab` are installed.

    Raises:
        EnvironmentProblem: One is missing.
    """
    if find_spec("distributed") is None:
        raise EnvironmentProblem(
            "a lab needs `distributed`, which is not installed",
            hint=f"install what it needs: {install_command(['lab'])}",
        )


def configure(*, as_host: bool = False) -> None:
    """Apply the settings to this process. The packages are installed (`require_packages`).

    Args:
        as_host: Whether it is a host, which says in words of its own that it lost its lab: the library logs nothing
            there, and in the processes that it starts.
    """
    level = os.environ.get(_LOGGED, "critical" if as_host else "warning")
    if as_host:
        os.environ[_LOGGED] = level
    import dask  # noqa: PLC0415 - an extra
    import distributed  # noqa: F401, PLC0415 - an extra, which configures logging when it is imported

    logging.getLogger("distributed").setLevel(level.upper())  # it was imported before, where there are certificates
    dask.config.set(DASK_CONFIG)


def local_addresses(security: Security | None) -> dict[str, str]:
    """Return where a process listens: without certificates at this machine's own address only.

    Pages over plain HTTP, which the library serves in any case and here without a route, are at that address always.
    """
    pages = {"dashboard_address": f"{LOCAL}:0"}
    return pages if security is not None else {"host": LOCAL, **pages}


def load_security(folder: Path | None) -> Security | None:
    """Return the certificates of this machine; None without a folder, for a lab on one machine.

    Args:
        folder: Folder with `ca.pem` and `this.pem`, certificate and key of this machine, as `harness lab certificate`
            makes them.

    Raises:
        EnvironmentProblem: A file is missing.
    """
    if folder is None:
        return None
    require_packages()
    from distributed import Security  # noqa: PLC0415 - an extra

    authority, own = folder / AUTHORITY, folder / OWN
    missing = [file.name for file in (authority, own) if not file.is_file()]
    if missing:
        raise EnvironmentProblem(
            f"{folder} has no {' and no '.join(missing)}",
            hint="make certificates with `harness lab certificate HOST`, and copy them there",
        )
    ends = {f"tls_{role}_{part}": str(own) for role in ("client", "scheduler", "worker") for part in ("cert", "key")}
    return Security(tls_ca_file=str(authority), require_encryption=True, **ends)


def scheduler_address(text: str, *, encrypted: bool) -> str:
    """Return the address of a scheduler with scheme and port: `lab` is `tcp://lab:8786`, or `tls://` if encrypted.

    Raises:
        UsageError: It is no address, or asks for encryption and there is no certificate.
    """
    scheme, separator, rest = text.rpartition("://")
    host, colon, port = rest.rpartition(":")
    if not colon or not host or rest.endswith("]"):
        host, port = rest, str(PORT)
    if ":" in host and not host.startswith("["):
        raise UsageError(f"--lab {text}: no address of a lab", hint="write an IPv6 address in brackets: [::1]:8786")
    is_number = port.isascii() and port.isdecimal() and 0 < int(port) < 1 << 16
    if not host or not is_number or scheme not in {"", "tcp", "tls"}:
        raise UsageError(f"--lab {text}: no address of a lab", hint="give a host, or host:port: lab, lab:8786")
    if scheme == "tls" and not encrypted:
        raise UsageError(
            f"{text} needs certificates",
            hint="name the folder of this machine's by --certificates (--lab-certificates beside --lab)",
        )
    return f"{scheme if separator else 'tls' if encrypted else 'tcp'}://{host}:{port}"
