"""Answer of a search for culprits, and the comparisons that it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console

from harness.core.commit import short_id
from harness.core.culprit import Culprit, SearchAnswer, SearchEnding
from harness.core.probability import format_probability
from harness.core.result import Result
from harness.display.tables import draw_rows, plain_text, print_output
from harness.presentation.numbers import format_change, format_interval

_LEGEND: Final = (
    "changed by: the metric, where + is more of it · figure: statistic of a launch that shows the change best · "
    "evidence: e-value of fresh pairs against no change, of which 100 refutes it at 1 % · "
    "open: an interval without a known end"
)


def show_answer(answer: SearchAnswer, console: Console) -> None:
    """Show the culprits, or the likely commits where there are none yet."""
    if answer.result.culprits:
        commits = {commit.id: commit for commit in answer.commits}
        header = ("commit", "changed by", "95 % interval", "figure", "evidence", "by", "subject")
        rows = (
            (commit.short, *_describe(culprit), commit.author, commit.subject)
            for culprit in answer.result.culprits
            for commit in map(commits.__getitem__, culprit.commits)
        )
        print_output(draw_rows(header, rows), console)
        print_output(plain_text(_LEGEND), console)
    elif answer.result.ending is SearchEnding.UNDECIDED:
        suspects = (
            (commit.short, format_probability(suspect.probability or 0.0), commit.author, commit.subject)
            for suspect in answer.suspects
            for commit in (suspect.commit,)
        )
        print_output(draw_rows(("commit", "probability", "by", "subject"), suspects), console)
    print_output(plain_text(answer.result.reason), console)


def show_steps(results: Sequence[Result], console: Console) -> None:
    """Show the comparisons of a search in their order."""
    header = ("control", "treatment", "pairs", "difference", "95 % interval", "")
    table = draw_rows(header, map(_step, results), title="Steps", right=header[2:5])
    print_output(table, console)


def _step(result: Result) -> tuple[str, ...]:
    comparison = result.comparison
    treatment = "" if result.build is None else short_id(result.build.commit)
    if comparison is None:
        return "", treatment, "", "", "", result.reason or result.outcome.words
    control = short_id(comparison.control.commit)
    if comparison.identical:
        return control, treatment, "0", "", "", "the same bytes"
    difference = "" if comparison.difference is None else format_change(comparison.difference)
    interval = format_interval(comparison.low, comparison.high) or "open"
    failure = "" if result.ok else result.reason or result.outcome.words
    return control, treatment, str(len(comparison.pairs)), difference, interval, failure


def _describe(culprit: Culprit) -> tuple[str, str, str, str]:
    """Return its size, the interval of it, the figure that both are of, and the evidence."""
    effect = culprit.effect
    interval = format_interval(effect.low_relative_change, effect.high_relative_change) or "open"
    evidence = f"{culprit.evidence:.3g}" if culprit.confirmed else f"{culprit.evidence:.3g}, not proven"
    return format_change(effect.relative_change), interval, culprit.figure, evidence
