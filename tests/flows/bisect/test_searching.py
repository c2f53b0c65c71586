"""The search for a culprit: what it is told, what it measures, and what a reader is told of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import cast

from harness.analysis.bisect.search import Search
from harness.core.build import BuildInfo
from harness.core.commit import Commit
from harness.core.comparison import Comparison, Pair, Parameters
from harness.core.culprit import SearchEnding, SearchResult
from harness.core.result import Result
from harness.core.verdict import Verdict
from harness.flows.bisect.search import run_search
from harness.flows.compare.commits import CommitComparer
from harness.flows.measure.workload import BenchmarkSelection
from harness.flows.watch.searches import candidates_of
from harness.testing.progress import RecordedProgress
from harness.testing.results import ok_result

COMMITS = tuple(Commit(source="git:/src", id=name * 40, subject=name) for name in "abcde")


class Laboratory:
    """Holds runners against one another of which nothing is known but how long they take; equals are the same bytes.

    Args:
        levels: Of each commit.
    """

    def __init__(self, levels: Sequence[float]) -> None:
        self._levels = {commit.id: level for commit, level in zip(COMMITS, levels, strict=True)}
        self.pairs = 0

    def compare(self, control: Commit, treatment: Commit, *, max_pairs: int, **_: object) -> tuple[Result, ...]:
        one, other = self._levels[control.id], self._levels[treatment.id]
        same = one == other
        self.pairs += 0 if same else max_pairs
        comparison = Comparison(
            control=built(control, one),
            metric="NET latency",
            parameters=Parameters(seed=1),
            verdict=Verdict.NO_CHANGE if same else Verdict.REGRESSION,
            identical=same,
            pairs=() if same else tuple(pair(number, other / one) for number in range(max_pairs)),
        )
        build = None if same else built(treatment, other)
        return (ok_result().model_copy(update={"comparison": comparison, "build": build}),)


def built(commit: Commit, level: float) -> BuildInfo:
    return BuildInfo(source="git:/src", commit=commit.id, flags={"programs_sha256": f"{level}"})


def pair(number: int, ratio: float) -> Pair:
    slower = ratio * (1 + 0.001 * (number % 3 - 1))
    return Pair(
        index=number,
        control_first=bool(number % 2),
        control=(100.0,) * 5,
        treatment=(100.0 * slower,) * 5,
        control_launch=number,
        treatment_launch=number,
        seconds=1.0,
    )


def found_in(levels: Sequence[float]) -> tuple[Search, SearchResult, Laboratory, list[str]]:
    laboratory, progress = Laboratory(levels), RecordedProgress()
    save: Callable[[object], None] = lambda _: None  # noqa: E731 - a search that nobody interrupts
    ended, finding = run_search(
        Search.begin([commit.id for commit in COMMITS]),
        COMMITS,
        BenchmarkSelection("m/b"),
        cast("CommitComparer", laboratory),
        progress=progress,
        save=save,
    )
    return ended, finding, laboratory, progress.lines


def test_between_runners_of_the_same_bytes_nothing_is_said_to_be_measured() -> None:
    ended, finding, laboratory, lines = found_in([1.0] * 5)
    good, bad = COMMITS[0].short, COMMITS[-1].short
    assert laboratory.pairs == ended.pairs == finding.pairs == 0
    assert lines == [f"{good} and {bad} are the same bytes: nothing to measure"]
    assert finding.ending is SearchEnding.NOTHING
    assert finding.reason == f"{good} and {bad} are the same bytes: there is nothing to find between them"


def test_commits_of_the_same_bytes_are_told_as_such_and_only_what_was_measured_is_counted() -> None:
    ended, finding, laboratory, lines = found_in([1.0, 1.0, 1.0, 1.05, 1.05])
    (culprit,) = finding.culprits
    assert culprit.commits == (COMMITS[3].id,)
    assert laboratory.pairs == ended.pairs == finding.pairs
    assert any(line.endswith("are the same bytes: nothing to measure") for line in lines)


def test_a_culprit_that_was_found_is_told_as_found_and_not_as_nobody() -> None:
    _, finding, _, lines = found_in([1.0, 1.001, 1.002, 1.06, 1.061])
    assert finding.ending is SearchEnding.FOUND
    assert f"found: {COMMITS[3].short}" in lines[-1]
    assert not any("suspected: ;" in line or " 0 %, " in line for line in lines)


def test_no_line_of_a_search_shows_a_probability_as_certain() -> None:
    _, finding, _, lines = found_in([1.0, 1.001, 1.002, 1.06, 1.061])
    shown = "\n".join((*lines, finding.reason))
    assert "> 99 %" in shown
    assert not re.search(r"\b(0|100) ?%", shown)


def test_a_proven_culprit_has_the_same_probability_among_the_commits_in_question() -> None:
    ended, finding, _, _ = found_in([1.0, 1.001, 1.002, 1.06, 1.061])
    (culprit,) = finding.culprits
    candidates = candidates_of(ended, COMMITS)
    probabilities = {candidate.commit.id: candidate.probability for candidate in candidates}
    assert probabilities[culprit.commits[0]] == culprit.probability > 0.99
    assert len(probabilities) == 4


def test_the_programs_that_were_built_are_known_to_the_search() -> None:
    ended, finding, _, _ = found_in([1.0, 1.0, 1.0, 1.1, 1.1])
    assert [culprit.commits for culprit in finding.culprits] == [(COMMITS[3].id,)]
    levels = dict(zip((commit.id for commit in COMMITS), "11122", strict=True))
    assert {levels[commit] + program for commit, program in ended.programs.items()} <= {"11.0", "21.1"}
    assert {COMMITS[0].id, COMMITS[-1].id} <= ended.programs.keys()
