"""The search for the commit that changed a number: the state machine of `harness.analysis.bisect`, with real pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from harness.analysis.bisect.queries import Query
from harness.analysis.bisect.search import Search
from harness.analysis.compare.statistics import log_ratios
from harness.core.commit import Commit
from harness.core.comparison import STATISTICS, Comparison
from harness.core.culprit import SearchResult
from harness.core.errors import BenchmarkFailed, BuildFailed
from harness.core.protocols import Progress
from harness.flows.compare.commits import CommitComparer, ControlFailed
from harness.flows.measure.workload import Selection

Save = Callable[[Search], None]
"""Stores the progress of a search, so that a killed one goes on there."""

_QUARTILE = STATISTICS.index("p25")
"""Of five figures of a launch the one that neither bursts nor a lucky iteration move: what differences are told in."""


_WORTH_NAMING = 0.005
"""Probability below which a commit is no suspect: it would be told as 0 %."""


def search(
    begun: Search,
    commits: Sequence[Commit],
    selection: Selection,
    comparer: CommitComparer,
    *,
    progress: Progress,
    save: Save,
) -> tuple[Search, SearchResult]:
    """Ask, measure and tell until something is found, or nothing is left to ask.

    A commit that does not build or does not run is passed over.

    Args:
        begun: The search as it stands.
        commits: The history that it is about, oldest first.
        selection: What is measured.
        comparer: Measures.
        progress: Told each answer.
        save: Called after each answer.

    Raises:
        BuildFailed: The good or the bad commit cannot be built.
        BenchmarkFailed: One of them does not run.
        EnvironmentProblem: A device was lost, or a result is not safe.
    """
    by_id = {commit.id: commit for commit in commits}
    current = begun
    while isinstance(asked := current.next(), Query):
        control, treatment = by_id[asked.control], by_id[asked.treatment]
        try:
            comparison = _compared(comparer, control, treatment, selection, asked)
        except ControlFailed as error:
            current = _without(current, control, error)
            progress.say(f"passed over: {error.message}")
        except (BuildFailed, BenchmarkFailed) as error:
            current = _without(current, treatment, error)
            progress.say(f"passed over: {error.message}")
        else:
            current = _taught(current, asked, comparison)
            same = f"{control.short} and {treatment.short} are the same bytes: nothing to measure"
            progress.say(same if comparison.identical else _told(current, by_id))
        save(current)
    return current, asked.model_copy(update={"reason": _readable(asked.reason, commits)})


def ratios_of(comparison: Comparison) -> tuple[float, ...]:
    """ln(treatment / control) of the lower quartile, pair by pair; of equal bytes there are no pairs."""
    return tuple(log_ratios(pair)[_QUARTILE] for pair in comparison.pairs)


def _taught(current: Search, asked: Query, comparison: Comparison) -> Search:
    """The search with the answer to its question."""
    if comparison.identical:
        return current.learn_same(asked.control, asked.treatment, asked.purpose)
    return current.learn(asked.control, asked.treatment, ratios_of(comparison), asked.purpose)


def _compared(
    comparer: CommitComparer, control: Commit, treatment: Commit, selection: Selection, asked: Query
) -> Comparison:
    """What two commits say of one another: pairs, or that they are the same bytes."""
    results = comparer.compare(
        control, treatment, run_type="regress", selection=selection, quiet=True, most_pairs=asked.pairs
    )
    comparison = results[0].comparison
    if comparison is None or not (comparison.pairs or comparison.identical):
        raise BenchmarkFailed(f"{treatment.short} does not run: {results[0].reason or 'it gave no pair'}")
    return comparison


def _without(current: Search, commit: Commit, error: BuildFailed | BenchmarkFailed) -> Search:
    try:
        return current.skip(commit.id)
    except ValueError:  # one of the ends, or it was measured before
        raise error from None


def _readable(text: str, commits: Sequence[Commit]) -> str:
    """With commits as people name them."""
    for commit in commits:
        text = text.replace(commit.id, commit.short)
    return text


def _told(current: Search, by_id: Mapping[str, Commit]) -> str:
    """Who is suspected now, behind those who are found."""
    posterior = current.posterior()
    pairs = "1 pair" if current.pairs == 1 else f"{current.pairs} pairs"
    found = [f"found: {by_id[culprit.commits[-1]].short}" for culprit in current.culprits]
    if not posterior.suspects:
        return "; ".join([pairs, *found])
    likely = [one for one in posterior.likeliest()[:3] if one.probability >= _WORTH_NAMING]
    names = ", ".join(f"{by_id[one.commit].short} {one.probability:.0%}" for one in likely)
    suspected = [f"suspected: {names}"] if names else []
    unchanged = f"no {'other' if found else 'change'}: {posterior.unchanged:.0%}"
    return "; ".join([pairs, *found, *suspected, unchanged])
