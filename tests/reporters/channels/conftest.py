from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody stands between a test and its own server."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
