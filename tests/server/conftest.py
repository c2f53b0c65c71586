from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.process import ServerProcess, run_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server without tokens, which only this machine reaches; the tests of a module share it."""
    with run_server(tmp_path_factory.mktemp("server")) as running:
        yield running
