from __future__ import annotations

import pytest

from harness.cli import app


@pytest.fixture(scope="session")
def flags_of_compare() -> set[str]:
    """The flags of `harness compare`, as its help shows them."""
    return {name for argument in app["compare"].assemble_argument_collection() for name in argument.names}
