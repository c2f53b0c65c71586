"""Decisions of a search: which culprits are settled, what to measure next, and what was found in the end."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from harness.analysis.bisect.posterior import AdjacentCommits, Inference
from harness.analysis.bisect.proof import Proof, prove
from harness.analysis.bisect.queries import Posterior, Purpose, SearchConfig, Suspect
from harness.core.comparison import ESTIMATED_STATISTIC
from harness.core.culprit import Culprit, RuledOut, SearchEnding, SearchResult
from harness.core.effect import Effect, relative_change
from harness.core.percent import in_percent
from harness.core.probability import format_probability

_DOUBT_OF_NO_CHANGE = 0.2
"""Factor by which the doubt must be smaller than usual before the search ends with "no change": somebody has seen a
difference, which the model does not know. Its prior odds of any change are one to four; this makes them about even."""

_LIKELIER_THAN_NOT = 0.5

_NOTED = 0.05
"""Probability from which on a reader is told that nothing may have changed."""

_PREFERENCE = 0.75
"""How clear the better quartile must be, in the clearest figure, to be searched: it is the steadiest."""


class SearchState(Struct, frozen=True):
    """State of a search.

    Attributes:
        culprits: Culprits that are settled, oldest first.
        start: The commit behind which the search looks.
        further_probability: Probability of a further culprit there.
        purpose: What pairs are wanted for; None when the search is over.
        neighbours: Where the metric most probably changes next.
    """

    culprits: tuple[Culprit, ...]
    start: int
    further_probability: float
    purpose: Purpose | None = None
    neighbours: AdjacentCommits = (0, 0)


def assess(inference: Inference, config: SearchConfig) -> SearchState:
    """Derive the state of a search from its answers.

    From the good commit on: find the next culprit, confirm it, and look behind it while a further one is possible. The
    state follows from the pairs alone, so a search that was interrupted goes on as if it had not been.
    """
    culprits: tuple[Culprit, ...] = ()
    if inference.is_same((0, inference.last)):
        return SearchState(culprits, start=0, further_probability=0.0)
    doubt = 1 - config.confidence
    start, further, enough = 0, inference.further_probability(0), _DOUBT_OF_NO_CHANGE * doubt
    while further >= enough:
        neighbours, probability = inference.next_culprit(start)
        if probability < config.confidence or not all(map(inference.has_measured, neighbours)):
            return SearchState(culprits, start, further, Purpose.LOCATE, neighbours)
        proof = prove(inference.confirming(neighbours), inference.figure if inference.has_all else 0)
        if proof.pairs < config.confirm_pairs and proof.evidence < 1 / config.alpha:
            return SearchState(culprits, start, further, Purpose.CONFIRM, neighbours)
        culprits += (_culprit(inference, neighbours, probability, proof, config.alpha),)
        start = neighbours[1]
        further, enough = inference.further_probability(start), doubt
    return SearchState(culprits, start, further)


def choose(inferences: Sequence[Inference], config: SearchConfig) -> tuple[Inference, SearchState]:
    """Return the figure that is searched, with the state of the search in it.

    That is the one in which the two ends differ most clearly, and the better quartile unless another does so much more.
    Where a figure rules a change out, the next clearest is looked at; the first again where all do.
    """
    ranked = sorted(
        inferences,
        key=lambda inference: inference.clearness / (_PREFERENCE if inference.figure == ESTIMATED_STATISTIC else 1.0),
        reverse=True,
    )
    states = ((inference, assess(inference, config)) for inference in ranked)
    first = next(states)
    if _is_open(first[1]):
        return first
    return next(((inference, state) for inference, state in states if _is_open(state)), first)


def _is_open(state: SearchState) -> bool:
    """Return whether a figure shows a change, or may."""
    return bool(state.culprits) or state.purpose is not None


def posterior_behind(inference: Inference, start: int) -> Posterior:
    """Return the probabilities of the commits behind one."""
    unchanged = inference.unchanged(start)
    suspects: list[Suspect] = []
    for before, end in inference.neighbours(start):
        share = float(unchanged[before] - unchanged[end]) / (end - before)
        suspects += (Suspect(commit=commit, probability=share) for commit in inference.commits[before + 1 : end + 1])
    return Posterior(
        after=inference.commits[start],
        suspects=tuple(suspects),
        unchanged=float(unchanged[-1]),
        none=inference.model.no_change_probability,
        several=inference.model.several_changes_probability,
        figure=inference.figure,
        smallest_log_ratio=inference.model.smallest_log_ratio,
    )


def rank_all(inference: Inference, state: SearchState) -> tuple[Suspect, ...]:
    """Return every commit, oldest first, with the probability that it is the next to change the metric.

    That is behind the culprit that was settled before it; behind the good commit where there is none.
    """
    suspects: list[Suspect] = []
    for culprit in state.culprits:
        settled = posterior_behind(inference, len(suspects)).suspects
        end = inference.commits.index(culprit.commits[-1])
        suspects += settled[: end - len(suspects)]
    return (*suspects, *posterior_behind(inference, state.start).suspects)


def conclude(inference: Inference, state: SearchState, pairs: int, inferences: Sequence[Inference]) -> SearchResult:
    """Return what was found, also when the budget ended the search.

    Args:
        inference: What the answers say in the figure that was searched.
        state: The state of the search in it.
        pairs: Pairs that were measured.
        inferences: What they say in each figure.
    """
    same, total = inference.is_same((0, inference.last)), inference.total_log_ratio
    explained = math.fsum(culprit.effect.log_ratio for culprit in state.culprits)
    ruled_out: tuple[RuledOut, ...] = ()
    if state.purpose is not None:
        ending, reason = (
            SearchEnding.UNDECIDED,
            f"{pairs} pairs, the budget, are spent: {_explain_undecided(inference, state)}",
        )
    elif state.culprits:
        ending, ruled_out = SearchEnding.FOUND, (_ruled_out(inference, state),)
        reason = f"{_describe_all(state.culprits)}; {_describe_others(ruled_out[0])}"
    elif same:
        ends = f"{inference.commits[0]} and {inference.commits[-1]}"
        ending, reason = SearchEnding.NOTHING, f"{ends} are the same bytes: there is nothing to find between them"
    else:
        ending = SearchEnding.NOTHING
        ruled_out = tuple(
            _ruled_out(figure, replace(state, further_probability=figure.further_probability(0)))
            for figure in inferences
        )
        sizes = ", ".join(f"{in_percent(relative_change(out.log_ratio), 2)} ({out.figure})" for out in ruled_out)
        reason = (
            f"no change was found from {inference.commits[0]} to {inference.commits[-1]}: "
            f"{pairs} pairs rule out a change of {sizes} or more, but no smaller one"
        )
    return SearchResult(
        ending=ending,
        culprits=state.culprits,
        total_log_ratio=total,
        unexplained_log_ratio=None if total is None else total - explained,
        further_probability=min(1.0, max(0.0, state.further_probability)),
        smallest_log_ratio=0.0 if same else inference.model.smallest_log_ratio,
        pairs=pairs,
        reason=reason,
        figure=inference.figure_name,
        ruled_out=ruled_out,
    )


def _ruled_out(inference: Inference, state: SearchState) -> RuledOut:
    """Return what a search of one figure excludes besides its culprits."""
    places = math.prod(culprit.probability for culprit in state.culprits)
    return RuledOut(
        figure=inference.figure_name,
        log_ratio=inference.model.smallest_log_ratio,
        after=inference.commits[0],
        until=inference.commits[-1],
        probability=min(1.0, max(0.0, places * (1.0 - state.further_probability))),
    )


def _describe_others(out: RuledOut) -> str:
    return (
        f"no other change of {in_percent(relative_change(out.log_ratio), 2)} or more ({out.figure}) behind "
        f"{out.after} up to {out.until} ({format_probability(out.probability)}); smaller ones were not looked for"
    )


def _culprit(
    inference: Inference, neighbours: AdjacentCommits, probability: float, proof: Proof, alpha: float
) -> Culprit:
    before, end = neighbours
    return Culprit(
        commits=tuple(inference.commits[before + 1 : end + 1]),
        before=inference.commits[before],
        probability=min(1.0, max(0.0, probability)),
        effect=proof.effect or Effect(log_ratio=inference.model.change(before, end)),
        evidence=proof.evidence,
        confirmed=proof.evidence >= 1 / alpha,
        figure=inference.figure_name,
    )


def _describe_all(culprits: Sequence[Culprit]) -> str:
    return "; ".join(map(_describe, culprits))


def _describe(culprit: Culprit) -> str:
    commit = culprit.commits[-1]
    if len(culprit.commits) > 1:
        commit = f"one of {', '.join(culprit.commits)}, of which only the last builds,"
    doubt = "" if culprit.confirmed else " (not confirmed by fresh pairs)"
    return f"{commit} changed it by {in_percent(culprit.effect.relative_change, 2, signed=True)}{doubt}"


def _explain_undecided(inference: Inference, state: SearchState) -> str:
    posterior = posterior_behind(inference, state.start)
    likeliest = posterior.likeliest()
    found = f"{_describe_all(state.culprits)}; after it, " if state.culprits else ""
    of_none = format_probability(posterior.unchanged)
    if posterior.unchanged > _LIKELIER_THAN_NOT:
        return f"{found}most likely nothing changed ({of_none})"
    nothing = f"; that nothing changed, {of_none}" if posterior.unchanged > _NOTED else ""
    first, *others = likeliest
    of_first = format_probability(first.probability)
    if not others:
        return f"{found}{first.commit} is the likeliest ({of_first}){nothing}"
    share = math.fsum(suspect.probability for suspect in likeliest)
    most = "" if format_probability(others[0].probability) == of_first else f", {first.commit} most ({of_first})"
    return f"{found}{len(likeliest)} commits hold {format_probability(share)} of the probability{most}{nothing}"
