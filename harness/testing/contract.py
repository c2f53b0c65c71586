"""Common parts of all contract suites: the error of a broken contract, and expectations."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path


class ContractBroken(AssertionError):
    """An implementation does not do what its protocol in `harness.core.protocols` demands."""


def expect(condition: bool, message: str) -> None:
    """Check a condition.

    Raises:
        ContractBroken: It does not hold; with the message.
    """
    if not condition:
        raise ContractBroken(message)


@contextlib.contextmanager
def process_unchanged() -> Iterator[None]:
    """Check that working folder, environment and threads are the same after the context.

    Raises:
        ContractBroken: One of them has changed.
    """
    before = _process()
    yield
    after = _process()
    for name, value in before.items():
        expect(after[name] == value, f"it left another {name} behind")


def _process() -> dict[str, object]:
    threads = {thread.ident for thread in threading.enumerate() if not thread.daemon}
    return {"working folder": Path.cwd(), "environment": dict(os.environ), "thread": threads}
