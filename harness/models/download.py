"""Downloads over http(s): streamed, retried, and continued where an earlier attempt or an earlier run stopped.

Proxies and `.netrc` work as `requests` defines them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

import requests
import stamina

from harness import __version__
from harness.core.benchmark import ModelFile
from harness.core.protocols import Task
from harness.models.failures import unavailable
from harness.models.layout import Place
from harness.models.sources import Download
from harness.models.transfer import MayPass, Wanted, transfer

_LONGEST_ASKED_PAUSE_S = 60.0

# Retries are told as progress; this keeps logging's last resort from writing them between the lines as well.
logging.getLogger("stamina").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to bear with a server.

    Attributes:
        attempts: In all.
        pause_s: Seconds before the second attempt; doubled for each further one.
        longest_pause_s: Most seconds between two attempts.
        connect_s: Seconds to wait for a connection.
        read_s: Seconds to wait for the next bytes.
    """

    attempts: int = 5
    pause_s: float = 0.5
    longest_pause_s: float = 20.0
    connect_s: float = 10.0
    read_s: float = 60.0


PATIENT: Final = Patience()


def download(file: ModelFile, source: Download, place: Place, task: Task, patience: Patience = PATIENT) -> bool:
    """Bring the content behind a URL to the place's part.

    Returns:
        Whether the part was put together from more than one answer.

    Raises:
        FileUnavailable: It cannot be had. What arrived is kept, and continued next time.
    """
    wanted = Wanted(file, source, place, patience.connect_s, patience.read_s)
    try:
        return _persist(wanted, task, patience)
    except MayPass as trouble:
        raise unavailable(
            file, f"{source.shown} cannot be downloaded: {trouble}", "check the network, then run again to go on"
        ) from trouble


def _persist(wanted: Wanted, task: Task, patience: Patience) -> bool:
    pieced = False
    with requests.Session() as session:
        session.headers["User-Agent"] = f"edge-harness/{__version__}"
        for attempt in stamina.retry_context(
            on=_pause_after,
            attempts=patience.attempts,
            timeout=None,
            wait_initial=patience.pause_s,
            wait_max=patience.longest_pause_s,
            wait_jitter=patience.pause_s,
        ):
            if attempt.num > 1:
                task.update(text=f"downloading {wanted.file.filename}, attempt {attempt.num}")
            with attempt:
                pieced = transfer(session, wanted, task)
    return pieced


def _pause_after(error: Exception) -> bool | float:
    if not isinstance(error, MayPass):
        return False
    return True if error.pause_s is None else min(error.pause_s, _LONGEST_ASKED_PAUSE_S)
