"""Comparisons of a search on the screen."""

from __future__ import annotations

import io

from rich.console import Console

from harness.core.commit import Commit
from harness.core.culprit import Culprit, SearchAnswer, SearchEnding, SearchResult
from harness.core.effect import Effect
from harness.core.result import Outcome
from harness.display.searches import show_answer, show_steps
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


def test_the_columns_of_an_answer_are_explained() -> None:
    stream = io.StringIO()
    commit = Commit(source="git:/repo", id="a" * 40, time=0, author="A", subject="slower")
    culprit = Culprit(
        commits=(commit.id,),
        before="b",
        probability=1.0,
        effect=Effect(log_ratio=0.1, low_log_ratio=0.05, high_log_ratio=0.15),
        evidence=200.0,
        confirmed=True,
        figure="median",
    )
    found = SearchResult(ending=SearchEnding.FOUND, culprits=(culprit,), smallest_log_ratio=0.01, reason="found")
    answer = SearchAnswer(run="r", benchmark="m/t", good="g", bad="h", result=found, commits=(commit,))
    show_answer(answer, Console(file=stream, width=200))
    text = stream.getvalue()
    assert all(f"{name}: " in text for name in ("changed by", "figure", "evidence", "open"))
