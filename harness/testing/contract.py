"""What every contract suite says when an implementation does not keep its promise."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path


class ContractBroken(AssertionError):
    """An implementation does not do what its protocol in `harness.core.protocols` asks."""


def expect(condition: bool, otherwise: str) -> None:
    """Go on only when the condition holds.

    Raises:
        ContractBroken: Saying what was expected.
    """
    if not condition:
        raise ContractBroken(otherwise)


@contextlib.contextmanager
def process_unchanged() -> Iterator[None]:
    """Working folder, environment and threads belong to the harness: what happens in the context leaves them alone.

    Raises:
        ContractBroken: Saying what is another one now.
    """
    before = _process()
    yield
    after = _process()
    for what, was in before.items():
        expect(after[what] == was, f"it left another {what} behind")


def _process() -> dict[str, object]:
    threads = {thread.ident for thread in threading.enumerate() if not thread.daemon}
    return {"working folder": Path.cwd(), "environment": dict(os.environ), "thread": threads}
