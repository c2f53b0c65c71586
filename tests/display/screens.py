"""Results, and what a terminal and a pipe show of them."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from rich.console import Console

from harness.core.metric import Metric
from harness.core.note import Note
from harness.core.result import Result
from harness.display.results import show_results
from harness.testing.results import ok_result, timing

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def piped(*results: Result, verbose: bool = False) -> str:
    """Return the text that a pipe receives."""
    stream = io.StringIO()
    show_results(results, Console(file=stream, width=80), verbose=verbose)
    return stream.getvalue()


def on_terminal(*results: Result, width: int = 80, verbose: bool = False) -> str:
    """Return the text on a terminal, without its colours."""
    stream = io.StringIO()
    show_results(results, Console(file=stream, width=width, force_terminal=True), verbose=verbose)
    return ESCAPE.sub("", stream.getvalue())


def table(text: str) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of the first table; columns are two spaces apart at least."""
    lines = text.splitlines()
    rule = next(i for i, line in enumerate(lines) if set(line) == {"─"})
    end = next(
        i for i, line in enumerate(lines[rule:], rule) if line.startswith(("±:", "speed:", "MAD:")) or not line.strip()
    )
    split = re.compile(r"\s{2,}")
    return split.split(lines[rule - 1].strip()), [split.split(line.strip()) for line in lines[rule + 1 : end]]


def measured(identifier: str, median_ms: float, *, model: str = "mv2", notes: Sequence[Note] = ()) -> Result:
    """Make a result with a latency, in five launches that differ by 4 %."""
    samples = [median_ms * (1 + i / 100) for i in (-2, -1, 0, 1, 2)]
    result = ok_result(model=model, identifier=identifier, notes=notes)
    return with_metrics(result, timing("NET", "latency", "ms", samples, launches=5))


def with_metrics(result: Result, *metrics: Metric) -> Result:
    return result.model_copy(update={"metrics": metrics})


DOUBT = Note(code="noisy", message="launches differ by 40 %", hint="close other programs", trust=False)
