"""One host, several devices: what is measured on the host itself runs alone there.

Programs that serve phones (adb, transfers, this harness) disturb what the host measures of itself. So a job on the host
waits for jobs of its phones, and they wait for it; jobs of phones disturb one another no more than without a lab.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.core.errors import EnvironmentProblem
from harness.files.locks import FileLock
from harness.shell import poll_until

_TURN: Final = Path("lab", "turn.lock")
_USE: Final = Path("lab", "use.lock")


@contextlib.contextmanager
def use_host(cache_dir: Path, *, alone: bool) -> Iterator[None]:
    """Use a host together with others, or alone. Whoever waits to be alone lets no others begin.

    Args:
        cache_dir: Cache of the host, which its devices share.
        alone: Whether nothing else may be measured there meanwhile.

    Raises:
        EnvironmentProblem: The cache cannot be written.
        Interrupted: The process is being stopped.
    """
    turn, use = FileLock(cache_dir / _TURN), FileLock(cache_dir / _USE, shared=not alone)
    with contextlib.ExitStack() as held:
        try:
            poll_until(turn.acquire)
            poll_until(use.acquire)
        except OSError as error:
            reason = error.strerror or str(error)
            raise EnvironmentProblem(f"{cache_dir} cannot be written: {reason}", hint="make room there") from error
        finally:
            turn.release()
        held.callback(use.release)
        yield
