"""Groups of tests, each of which one process runs."""

from __future__ import annotations

from typing import Final

import pytest

MEASURING: Final = pytest.mark.xdist_group("measuring")
"""Tests that measure on this machine for long: two at once would only wait for each other."""
