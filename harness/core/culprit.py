"""Result of the search for the commits that changed a metric."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, NonNegativeFloat, NonNegativeInt

from harness.core.commit import Commit
from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS
from harness.core.effect import Effect
from harness.core.values import Value

OF_SEARCH: Final = "regress"
"""FAI-PEP's kind of run of the comparisons of a search."""

Probability = Annotated[float, Field(ge=0, le=1)]


class Candidate(Value):
    """A commit that may have changed the metric.

    Attributes:
        commit: The commit.
        builds: Whether it can be built; None where nobody tried.
        probability: Probability that it changed the metric; None where no search was made.
    """

    commit: Commit
    builds: bool | None = None
    probability: Probability | None = None


class Culprit(Value):
    """A commit that changed the metric, or several of which one did.

    Attributes:
        commits: Id of the commit; more than one, oldest first, where all but the last do not build.
        before: Id of the commit before them.
        probability: Probability that the change is here.
        effect: What it changed. The interval is valid whenever it is looked at; both ends are None where the pairs
            refute every single effect.
        evidence: E-value of the fresh pairs against "no change in this direction"; 100 refutes it at 1 %.
        confirmed: Whether that is enough.
        figure: The figure of a launch that `effect` is of, one of `harness.core.comparison.STATISTICS`; empty where it
            is that of a whole comparison.
        merges: Ids of the merges that brought it into the history that was searched, outermost first; empty for a
            commit of that history itself.
    """

    commits: Annotated[tuple[str, ...], Field(min_length=1)]
    before: str
    probability: Probability
    effect: Effect
    evidence: NonNegativeFloat
    confirmed: bool
    figure: str = ""
    merges: tuple[str, ...] = ()


class RuledOut(Value):
    """Changes that a search excludes. A change and its reversal between two commits that it measured are not seen.

    Attributes:
        figure: The figure of a launch, one of `harness.core.comparison.STATISTICS`.
        log_ratio: Smallest change that is excluded.
        after: Id of the commit behind which none is.
        until: Id of the last commit up to which none is.
        probability: Probability that there is none but the culprits.
    """

    figure: str
    log_ratio: float
    after: str
    until: str
    probability: Probability


class SearchEnding(StrEnum):
    """Ending of a search. `NOTHING` rules out the changes of `SearchResult.ruled_out`, and no smaller ones."""

    FOUND = "found"
    NOTHING = "nothing"
    UNDECIDED = "undecided"


class SearchResult(Value):
    """Result of a search for culprits.

    Attributes:
        ending: How it ended.
        culprits: Oldest first.
        total_log_ratio: ln(bad / good) of the two ends, as measured; None where they were not measured.
        unexplained_log_ratio: The part of it that no culprit explains.
        further_probability: Probability that a further commit changed the metric by `smallest_log_ratio` or more.
        smallest_log_ratio: Size below which no change was looked for: the noise, or the total, is too large beside it.
        pairs: Pairs that were measured in all.
        reason: The same in a sentence.
        figure: The figure of a launch that was searched: the one that shows the difference of the two ends best.
        ruled_out: What further changes are excluded, and where; empty where nothing is known of them.
    """

    ending: SearchEnding
    culprits: tuple[Culprit, ...] = ()
    total_log_ratio: float | None = None
    unexplained_log_ratio: float | None = None
    further_probability: Probability = 0.0
    smallest_log_ratio: float
    pairs: NonNegativeInt = 0
    reason: str
    figure: str = STATISTICS[ESTIMATED_STATISTIC]
    ruled_out: tuple[RuledOut, ...] = ()


class SearchAnswer(Value):
    """Answer of `harness bisect`, complete enough to be shown again.

    Attributes:
        run: Identifier of the run, which the results of its comparisons share.
        benchmark: Name of the benchmark, and of the device.
        good: Name of the commit without the change.
        bad: Name of the commit with the change.
        result: What was found.
        commits: The commits of its culprits.
        suspects: The likeliest commits where nothing is decided, the likeliest first.
        command: The command that searches once more; empty in answers of an older version.
    """

    run: str
    benchmark: str
    good: str
    bad: str
    result: SearchResult
    commits: tuple[Commit, ...] = ()
    suspects: tuple[Candidate, ...] = ()
    command: str = ""
