"""Searches for the culprits of alarms: as they are saved, and as alarms report them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import TypeAdapter

from harness.analysis.bisect.search import Search
from harness.core.alarm import Alarm, Verification
from harness.core.commit import Commit
from harness.core.culprit import Candidate, Culprit, SearchEnding, SearchResult
from harness.core.effect import Effect
from harness.flows.bisect.merges import SearchedLine

_SEARCHES: Final = TypeAdapter(list[Search])


def begin_search(alarm: Alarm, commits: Sequence[str]) -> Search:
    """Begin a search, between the commits that were compared to verify the alarm with the pairs of that comparison."""
    change, verification = alarm.change, alarm.verification
    if verification is None or (commits[0], commits[-1]) != (change.last_without, change.first_with):
        return Search.begin(commits)
    return Search.begin(commits, verification.log_ratios, figures=verification.figures)


@dataclass(slots=True)
class SavedSearches:
    """Searches for the culprit of one alarm: of the line of history, and inside the merges that it named.

    Attributes:
        by_line: Each search by the ids of its commits.
    """

    by_line: dict[tuple[str, ...], Search] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str | None) -> SavedSearches:
        """Read what `keep` returned, or the one search that an earlier harness saved.

        Raises:
            ValidationError: It is neither.
        """
        if text is None:
            return cls()
        searches = _SEARCHES.validate_json(text if text.startswith("[") else f"[{text}]")
        return cls({search.commits: search for search in searches})

    def of_line(self, commits: tuple[str, ...]) -> Search | None:
        """Return the saved search of a line of commits."""
        return self.by_line.get(commits)

    def keep(self, search: Search) -> str:
        """Keep a search in place of its earlier state, and return all of them as text."""
        self.by_line[search.commits] = search
        return _SEARCHES.dump_json(list(self.by_line.values())).decode()


def with_brought_commits(candidates: Sequence[Candidate], lines: Sequence[SearchedLine]) -> tuple[Candidate, ...]:
    """Add the commits that merges brought, as far as they were searched, before the merge that brought them."""
    extended = list(candidates)
    for line in lines:
        ids = [candidate.commit.id for candidate in extended]
        brought = [
            candidate for candidate in candidates_of(line.search, line.commits) if candidate.commit.id not in ids
        ]
        place = ids.index(line.merge)
        extended[place:place] = brought
    return tuple(extended)


def only_culprit(verification: Verification, before: Commit, commit: Commit) -> SearchResult:
    """Name the only commit in question, proven by the pairs that verified the alarm."""
    effect = verification.effect or Effect(log_ratio=0.0)
    culprit = Culprit(
        commits=(commit.id,),
        before=before.id,
        probability=1.0,
        effect=effect,
        evidence=verification.evidence,
        confirmed=True,
    )
    return SearchResult(
        ending=SearchEnding.FOUND,
        culprits=(culprit,),
        total_log_ratio=effect.log_ratio,
        unexplained_log_ratio=0.0,
        smallest_log_ratio=0.0,
        reason=f"{commit.short} is the only commit in question",
    )


def candidates_of(ended: Search, commits: Sequence[Commit]) -> tuple[Candidate, ...]:
    """Return the commits that a search was about, but for the good one, with the probabilities that it found."""
    probabilities = {suspect.commit: suspect.probability for suspect in ended.suspects()}
    return tuple(
        Candidate(
            commit=commit,
            builds=commit.id not in ended.skipped,
            probability=min(1.0, max(0.0, probabilities.get(commit.id, 0.0))),
        )
        for commit in commits[1:]
    )
