"""The runners for tests of what both share: the native one, and the Python one where everything is tested.

Starting the Python runner means importing torch. A module takes the fixture by importing it.
"""

from __future__ import annotations

import pytest

from harness.core.build import Build


@pytest.fixture(params=["native", pytest.param("python", marks=pytest.mark.exhaustive)])
def build(request: pytest.FixtureRequest) -> Build:
    """The native runner, and in an exhaustive run the Python runner too."""
    build: Build = request.getfixturevalue(request.param)
    return build
