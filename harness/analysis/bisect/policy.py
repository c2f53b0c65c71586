"""From what is believed to what is done: which culprits are settled, and what the search is in the middle of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.bisect.posterior import Belief, Neighbours
from harness.analysis.bisect.proof import Proof, prove
from harness.analysis.bisect.queries import Posterior, Purpose, Suspect
from harness.analysis.bisect.search_config import Aims
from harness.core.culprit import Culprit, SearchEnding, SearchResult
from harness.core.effect import Effect, relative_change

_SAID_TO_DIFFER = 0.2
"""How much smaller a doubt must be than usual before "nothing" is told: somebody has seen a difference, which the model
does not know. Its odds of a change anywhere are one to four; this makes them about even."""

_WORTH_GOING_ON = 0.1
"""Probability of a further culprit from which on the search goes on behind the last one."""

_LIKELIER_THAN_NOT = 0.5


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a search stands.

    Attributes:
        culprits: Those that are settled, oldest first.
        start: The commit behind which is looked.
        more: Probability of a further culprit there.
        wants: What pairs are wanted for; None when nothing is.
        step: Where the number most probably changes next.
    """

    culprits: tuple[Culprit, ...]
    start: int
    more: float
    wants: Purpose | None = None
    step: Neighbours = (0, 0)


def stand(belief: Belief, aims: Aims) -> Standing:
    """Where a search stands with what it believes.

    From the good commit on: find the next culprit, confirm it, and look behind it while a further one is possible. It
    follows from the pairs alone, so a search that was interrupted goes on as if it had not been.
    """
    culprits: tuple[Culprit, ...] = ()
    if belief.is_same((0, belief.last)):
        return Standing(culprits, start=0, more=0.0)
    start, more, enough = 0, belief.more(0), _SAID_TO_DIFFER * (1 - aims.confidence)
    while more >= enough:
        step, probability = belief.next_culprit(start)
        if probability < aims.confidence or not all(map(belief.has_measured, step)):
            return Standing(culprits, start, more, Purpose.LOCATE, step)
        proof = prove(belief.fresh(step))
        if proof.pairs < aims.confirm_pairs and proof.evidence < 1 / aims.alpha:
            return Standing(culprits, start, more, Purpose.CONFIRM, step)
        culprits += (_culprit(belief, step, probability, proof, aims.alpha),)
        start, more, enough = step[1], belief.more(step[1]), _WORTH_GOING_ON
    return Standing(culprits, start, more)


def believed(belief: Belief, start: int) -> Posterior:
    """What is believed of the commits behind one."""
    unchanged = belief.unchanged(start)
    suspects: list[Suspect] = []
    for before, end in belief.neighbours(start):
        share = float(unchanged[before] - unchanged[end]) / (end - before)
        suspects += (Suspect(commit=commit, probability=share) for commit in belief.commits[before + 1 : end + 1])
    return Posterior(
        after=belief.commits[start],
        suspects=tuple(suspects),
        unchanged=float(unchanged[-1]),
        none=belief.history.none,
        several=belief.history.several,
    )


def blamed(belief: Belief, standing: Standing) -> tuple[Suspect, ...]:
    """Every commit, oldest first, with the probability that it is the next to change the number.

    That is behind the culprit that was settled before it; behind the good commit where there is none.
    """
    found: list[Suspect] = []
    for culprit in standing.culprits:
        settled = believed(belief, len(found)).suspects
        end = belief.commits.index(culprit.commits[-1])
        found += settled[: end - len(found)]
    return (*found, *believed(belief, standing.start).suspects)


def tell(belief: Belief, standing: Standing, pairs: int) -> SearchResult:
    """What was found, also when the budget ended the search."""
    same = belief.is_same((0, belief.last))
    smallest = 0.0 if same else belief.history.smallest
    explained = math.fsum(culprit.effect.log_ratio for culprit in standing.culprits)
    if standing.wants is not None:
        ending, reason = SearchEnding.UNDECIDED, f"{pairs} pairs, the budget, are spent: {_open(belief, standing)}"
    elif standing.culprits:
        ending, reason = SearchEnding.FOUND, _found(standing.culprits)
    elif same:
        good, bad = belief.commits[0], belief.commits[-1]
        ending, reason = (
            SearchEnding.NOTHING,
            f"{good} and {bad} are the same bytes: there is nothing to find between them",
        )
    else:
        ending, reason = (
            SearchEnding.NOTHING,
            f"{pairs} pairs rule out a change of {relative_change(smallest):.2%} or more; less may be there",
        )
    return SearchResult(
        ending=ending,
        culprits=standing.culprits,
        total_log_ratio=belief.whole,
        unexplained_log_ratio=None if belief.whole is None else belief.whole - explained,
        further_probability=min(1.0, max(0.0, standing.more)),
        smallest_log_ratio=smallest,
        pairs=pairs,
        reason=reason,
    )


def _culprit(belief: Belief, step: Neighbours, probability: float, proof: Proof, alpha: float) -> Culprit:
    before, end = step
    return Culprit(
        commits=tuple(belief.commits[before + 1 : end + 1]),
        before=belief.commits[before],
        probability=min(1.0, max(0.0, probability)),
        effect=proof.effect or Effect(log_ratio=belief.history.change(before, end)),
        evidence=proof.evidence,
        confirmed=proof.evidence >= 1 / alpha,
    )


def _found(culprits: Sequence[Culprit]) -> str:
    return "; ".join(map(_named, culprits))


def _named(culprit: Culprit) -> str:
    commit = culprit.commits[-1]
    if len(culprit.commits) > 1:
        commit = f"one of {', '.join(culprit.commits)}, of which only the last builds,"
    doubt = "" if culprit.confirmed else ", which fresh pairs do not prove"
    return f"{commit} changed it by {culprit.effect.relative_change:+.2%}{doubt}"


def _open(belief: Belief, standing: Standing) -> str:
    now = believed(belief, standing.start)
    likeliest = now.likeliest()
    found = f"{_found(standing.culprits)}; behind it " if standing.culprits else ""
    if now.unchanged > _LIKELIER_THAN_NOT:
        return f"{found}most likely nothing changed ({now.unchanged:.0%})"
    if len(likeliest) == 1:
        return f"{found}{likeliest[0].commit} is the likeliest ({likeliest[0].probability:.0%})"
    held = math.fsum(one.probability for one in likeliest)
    return f"{found}{len(likeliest)} commits hold {held:.0%} of the probability, {likeliest[0].commit} most"
