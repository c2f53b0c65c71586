"""What a client is told when it no longer reaches the scheduler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from harness.lab.client import LabClient, LabLost


class BrokenClient:
    """Client whose connection breaks with an error of the library."""

    scheduler = "there"

    def __init__(self, error: Exception) -> None:
        self._error = error

    def run(self, *_: object, **__: object) -> object:
        raise self._error

    run_on_scheduler = run


@pytest.mark.parametrize(
    "error", [OSError("gone"), TimeoutError(), ValueError("IOStream is not idle; cannot convert to SSL")]
)
@pytest.mark.parametrize(
    "ask",
    [
        LabClient.places,
        LabClient.count_devices,
        LabClient.list_tasks,
        lambda client: client.find_processes("class-pixel"),
    ],
)
def test_a_connection_that_breaks_is_a_lost_lab_however_the_library_says_it(
    error: Exception, ask: Callable[[LabClient], object]
) -> None:
    client = LabClient(cast("Any", BrokenClient(error)), "tls://lab:8786")
    with pytest.raises(LabLost, match=r"the connection to the lab at tls://lab:8786 was lost"):
        ask(client)
