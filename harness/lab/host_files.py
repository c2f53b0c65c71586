"""Files that clients send, as a host keeps them: by their content. Runs in the processes of a host."""

from __future__ import annotations

import hashlib
import socket

from harness.core.errors import EnvironmentProblem
from harness.files.atomic import write_atomically
from harness.lab.jobs import FILES
from harness.lab.processes import host_cache_dir


def missing_files(digests: tuple[str, ...]) -> tuple[str, ...]:
    """Return which files this host does not have."""
    folder = host_cache_dir() / FILES
    return tuple(digest for digest in digests if not (folder / digest / "content").is_file())


def store_file(sha256: str, content: bytes) -> str:
    """Keep a file, whose content has to have the digest, which is returned.

    Raises:
        EnvironmentProblem: It has another, or cannot be written.
    """
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise EnvironmentProblem(f"a file arrived as {found[:12]} instead of {sha256[:12]}", hint="send it again")
    try:
        write_atomically(host_cache_dir() / FILES / sha256 / "content", content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise EnvironmentProblem(f"{socket.gethostname()} cannot keep a file: {reason}", hint="make room") from error
    return sha256
