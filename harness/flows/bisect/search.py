"""Search for the commit that changed a metric: the state machine of `harness.analysis.bisect` with real pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from harness.analysis.bisect.proof import prove
from harness.analysis.bisect.queries import Query
from harness.analysis.bisect.search import Search
from harness.analysis.compare.statistics import log_ratios
from harness.builders.records import content_of
from harness.core.build import BuildInfo
from harness.core.commit import Commit
from harness.core.comparison import ESTIMATED_STATISTIC, Comparison
from harness.core.culprit import OF_SEARCH, SearchResult
from harness.core.effect import Effect, relative_change
from harness.core.errors import BenchmarkFailed, BuildFailed
from harness.core.probability import format_probability
from harness.core.protocols import Progress
from harness.core.result import Result
from harness.flows.compare.commits import CommitComparer, ControlFailed
from harness.flows.measure.workload import BenchmarkSelection
from harness.presentation.numbers import format_percent

Save = Callable[[Search], None]
"""Saves the state of a search, so that it can be resumed when it was killed."""

_WORTH_NAMING = 0.01
"""Probability below which a commit is not named as a suspect."""


def run_search(
    search: Search,
    commits: Sequence[Commit],
    selection: BenchmarkSelection,
    comparer: CommitComparer,
    *,
    progress: Progress,
    save: Save,
    earlier_pairs: int = 0,
) -> tuple[Search, SearchResult]:
    """Ask, measure and learn until the search is over. Commits that do not build or do not run are skipped.

    Args:
        search: The search so far.
        commits: The history that is searched, oldest first.
        selection: The benchmark to measure, and the device.
        comparer: Compares commits.
        progress: Shows the state after each answer.
        save: Called after each answer.
        earlier_pairs: Pairs of the searches that led to this one: a person is shown those of all.

    Returns:
        The search at its end, and what was found, with commits under their short names.

    Raises:
        BuildFailed: The good or the bad commit cannot be built.
        BenchmarkFailed: One of them does not run.
        EnvironmentProblem: A device was lost, or a result could not be stored.
    """
    by_id = {commit.id: commit for commit in commits}
    while isinstance(query := search.next(), Query):
        control, treatment = by_id[query.control], by_id[query.treatment]
        try:
            result, comparison = _compare(comparer, control, treatment, query, selection=selection, run=search.run)
        except ControlFailed as error:
            search = _skip(search, control, error)
            progress.say(f"skipped: {error.message}")
        except (BuildFailed, BenchmarkFailed) as error:
            search = _skip(search, treatment, error)
            progress.say(f"skipped: {error.message}")
        else:
            search = _learn(search, query, result, comparison)
            same = f"{control.short} and {treatment.short} are the same bytes: nothing to measure"
            progress.say(same if comparison.identical else _summarise(search, by_id, earlier_pairs))
        save(search)
    return search, query.model_copy(update={"reason": _shorten(query.reason, commits)})


def quartile_log_ratios(comparison: Comparison) -> tuple[float, ...]:
    """Return ln(treatment / control) of the lower quartile, pair by pair; empty where both are the same bytes."""
    return tuple(log_ratios(pair)[ESTIMATED_STATISTIC] for pair in comparison.pairs)


def figures_of_pairs(comparison: Comparison) -> tuple[tuple[float, ...], ...]:
    """Return ln(treatment / control) of the five figures, pair by pair; empty where both are the same bytes."""
    return tuple(log_ratios(pair) for pair in comparison.pairs)


def tail_effect(comparison: Comparison, figure: str) -> Effect | None:
    """Return the difference of a comparison in one figure of a launch; None where its pairs do not have it."""
    if figure not in comparison.statistics:
        return None
    return prove(figures_of_pairs(comparison), comparison.statistics.index(figure)).effect


def _learn(search: Search, query: Query, result: Result, comparison: Comparison) -> Search:
    search = _identify(search, query.control, comparison.control)
    search = _identify(search, query.treatment, comparison.control if comparison.identical else result.build)
    if comparison.identical:
        return search.learn_same(query.control, query.treatment, query.purpose)
    named = search.model_copy(update={"statistics": comparison.statistics})
    return named.learn(
        query.control,
        query.treatment,
        quartile_log_ratios(comparison),
        query.purpose,
        figures=figures_of_pairs(comparison),
    )


def _identify(search: Search, commit: str, build: BuildInfo | None) -> Search:
    program = None if build is None else content_of(build)
    return search if program is None else search.identify(commit, program)


def _compare(
    comparer: CommitComparer,
    control: Commit,
    treatment: Commit,
    query: Query,
    *,
    selection: BenchmarkSelection,
    run: str,
) -> tuple[Result, Comparison]:
    """Compare two commits: the result has pairs, or they are the same bytes."""
    results = comparer.compare(
        control, treatment, run_type=OF_SEARCH, selection=selection, quiet=True, max_pairs=query.pairs, run=run
    )
    comparison = results[0].comparison
    if comparison is None or not (comparison.pairs or comparison.identical):
        reason = results[0].reason or "there are no pairs"
        raise BenchmarkFailed(f"{treatment.short} cannot be compared: {reason}", hint=results[0].hint)
    return results[0], comparison


def _skip(search: Search, commit: Commit, error: BuildFailed | BenchmarkFailed) -> Search:
    try:
        return search.skip(commit.id)
    except ValueError:  # one of the ends, or it was measured before
        raise error from None


def _shorten(text: str, commits: Sequence[Commit]) -> str:
    """Replace ids of commits by their short names."""
    for commit in commits:
        text = text.replace(commit.id, commit.short)
    return text


def _summarise(search: Search, by_id: Mapping[str, Commit], earlier_pairs: int) -> str:
    """Summarise a search: pairs so far, culprits that were found, and suspects."""
    posterior = search.posterior()
    count = earlier_pairs + search.pairs
    pairs = "1 pair" if count == 1 else f"{count} pairs"
    culprits = [f"found: {by_id[culprit.commits[-1]].short}" for culprit in search.culprits]
    if not posterior.suspects:
        return "; ".join([pairs, *culprits])
    likeliest = [suspect for suspect in posterior.likeliest()[:3] if suspect.probability >= _WORTH_NAMING]
    names = ", ".join(
        f"{by_id[suspect.commit].short} {format_probability(suspect.probability)}" for suspect in likeliest
    )
    suspected = [f"suspected: {names}"] if names else []
    size, figure = relative_change(posterior.smallest_log_ratio), search.statistics[posterior.figure]
    unchanged = (
        f"no {'other ' if culprits else ''}change of {format_percent(size)} or more ({figure}): "
        f"{format_probability(posterior.unchanged)}"
    )
    return "; ".join([pairs, *culprits, *suspected, unchanged])
