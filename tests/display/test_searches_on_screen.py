"""Comparisons of a search on the screen."""

from __future__ import annotations

import io

from rich.console import Console

from harness.core.result import Outcome
from harness.display.searches import show_steps
from tests.presentation.comparison_samples import compared, failed, made_pairs, refused


def test_a_step_that_failed_is_shown_with_its_reason() -> None:
    stream = io.StringIO()
    broken, early = failed("b", Outcome.CRASHED, pairs=made_pairs(0.1, 3)), refused("c")
    show_steps([compared("a", made_pairs(0.1, 20)), broken, early], Console(file=stream, width=200))
    good, *failures = [line for line in stream.getvalue().splitlines() if line.strip()][-3:]
    assert good.rstrip().endswith("%")
    for result, line in zip((broken, early), failures, strict=True):
        assert result.reason is not None
        assert line.rstrip().endswith(result.reason)
