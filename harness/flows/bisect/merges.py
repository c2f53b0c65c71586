"""Search inside the merges that a search named: which of the commits that a merge brought changed the metric.

History is searched along first parents, so a change that was made on a side branch is found in the merge that brought
it. The merge is then replaced by a commit of the branch: each commit of the branch is compared with the newest commit
that the branch and the line before the merge share. What the branch took over from that line is a merge of its own
there, and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from harness.analysis.bisect.search import Search
from harness.core.commit import Commit, MergingSource, Source, short_id
from harness.core.culprit import Culprit, RuledOut, SearchEnding, SearchResult
from harness.core.errors import BenchmarkFailed, BuildFailed, UsageError

_LEAST_SHARE: Final = 0.25
"""Share of the change of a merge that a commit of its branch must make: builds of the same code differ by something."""

SearchRange = Callable[[Sequence[Commit], int], tuple[Search, SearchResult] | None]
"""Searches a line of commits, the good one first, after so many pairs were measured; None where none is left."""


class SearchedLine(Struct, frozen=True):
    """A line of commits that was searched.

    Attributes:
        search: The search at its end.
        commits: The good commit, and those behind it.
        merge: Id of the merge that brought the line.
    """

    search: Search
    commits: tuple[Commit, ...]
    merge: str


@dataclass(slots=True)
class MergeSearch:
    """Search inside the merges that the search of a line named.

    Attributes:
        source: Source of the commits.
        search_range: Searches one line.
        lists_all: Whether to list, beside the commits that make the change of a merge, those of its branch that make
            another: smaller ones, and those in the other direction.
        say: Shows a line to a person: which merge is searched.
        pairs: Pairs that were measured so far, in all searches.
        lines: Lines that were searched, in the order of the searches.
        ruled_out: Further changes that these searches exclude.
        remarks: What the searches found, in sentences.
        is_undecided: Whether a search ended before it could name a commit.
    """

    source: Source
    search_range: SearchRange
    lists_all: bool = False
    say: Callable[[str], None] = lambda _: None
    pairs: int = 0
    lines: list[SearchedLine] = field(default_factory=list)
    ruled_out: list[RuledOut] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    is_undecided: bool = False

    def run(self, result: SearchResult, commits: Sequence[Commit]) -> SearchResult:
        """Replace the merges among the culprits by the commits that they brought, as far as these can be found.

        The result tells of all searches: pairs and what was ruled out are of every line, and what the culprits leave
        unexplained is that of the commits that are named.

        Args:
            result: Result of the search of the line.
            commits: The line.

        Raises:
            EnvironmentProblem: A device was lost, or a result could not be stored.
        """
        self.pairs = result.pairs
        by_id = {commit.id: commit for commit in commits}
        culprits = [inner for culprit in result.culprits for inner in self._descend(culprit, by_id, ()) or (culprit,)]
        changed: dict[str, object] = {
            "culprits": tuple(culprits),
            "reason": "; ".join([result.reason, *self.remarks]),
            "pairs": self.pairs,
            "ruled_out": (*result.ruled_out, *self.ruled_out),
        }
        if result.total_log_ratio is not None and tuple(culprits) != result.culprits:
            explained = math.fsum(culprit.effect.log_ratio for culprit in culprits)
            changed["unexplained_log_ratio"] = result.total_log_ratio - explained
        return result.model_copy(update=changed)

    def _descend(
        self, culprit: Culprit, by_id: dict[str, Commit], shared: tuple[Commit, ...]
    ) -> Sequence[Culprit] | None:
        """Return the culprits inside a culprit that is a merge, else itself; None where it brought what is shared."""
        merge, before = by_id[culprit.commits[-1]], by_id[culprit.before]
        if not merge.merge or not isinstance(self.source, MergingSource):
            return (culprit,)
        parents = self.source.parents(merge)
        if before.id not in {parent.id for parent in parents}:
            self.remarks.append(f"{merge.short} is a merge, and the commit before it was not measured")
            return (culprit,)
        shared = (*shared, before)
        lines = list(self._lines(self.source, before, parents, shared))
        if not lines:
            return None
        culprits = [inner for line in lines for inner in self._search(culprit, merge, line, shared)]
        if culprits:
            return [inner.model_copy(update={"merges": (merge.id, *inner.merges)}) for inner in culprits]
        return (culprit,)

    def _lines(
        self, source: MergingSource, before: Commit, parents: Sequence[Commit], shared: Sequence[Commit]
    ) -> Iterator[tuple[Commit, ...]]:
        """Yield the lines that a merge joined to another, each with the commit first that it shares with it."""
        for parent in parents:
            if any(_contains(source, commit, parent) for commit in shared):
                continue
            try:
                base = source.merge_base(before, parent)
            except UsageError:
                self.remarks.append(f"{parent.short} shares no commit with {before.short}, so there is none to compare")
                continue
            yield (base, *source.between(base, parent))

    def _search(
        self, culprit: Culprit, merge: Commit, line: tuple[Commit, ...], shared: tuple[Commit, ...]
    ) -> Sequence[Culprit]:
        """Search one line for commits that changed the metric in the direction of the merge.

        Others are among them where all are to be listed and one of these was found.
        """
        base, *brought = line
        commits = "commit" if len(brought) == 1 else f"{len(brought)} commits"
        self.say(f"{merge.short} is a merge: searching the {commits} of a branch that it brought, from {base.short} on")
        about = f"{merge.short} is a merge, whose {commits} of a branch were compared with {base.short}, where it began"
        try:
            ended = self.search_range(line, self.pairs)
        except (BuildFailed, BenchmarkFailed) as error:  # of the branch or of its beginning: the merge is found
            self.remarks.append(f"{merge.short} is a merge: its branch cannot be searched: {error.message}")
            return ()
        if ended is None:
            self.is_undecided = True
            self.remarks.append(f"{merge.short} is a merge: no pairs are left to search what it brought")
            return ()
        search, result = ended
        self.pairs += result.pairs
        self.lines.append(SearchedLine(search, line, merge.id))
        self.ruled_out += result.ruled_out
        if result.ending is SearchEnding.UNDECIDED:
            self.is_undecided = True
        by_id = {commit.id: commit for commit in line}
        place = len(self.remarks)
        explaining = [
            candidate
            for candidate in result.culprits
            if candidate.effect.log_ratio * culprit.effect.log_ratio >= _LEAST_SHARE * culprit.effect.log_ratio**2
        ]
        listed = result.culprits if self.lists_all and explaining else explaining
        inside = [(candidate, self._descend(candidate, by_id, shared)) for candidate in listed]
        innermost = [inner for _, culprits in inside for inner in culprits or ()]
        taken_over = [by_id[candidate.commits[-1]].short for candidate, culprits in inside if culprits is None]
        names = ", ".join(short_id(commit) for inner in innermost for commit in inner.commits)
        remark = f"found {names}" if innermost else "none of them makes a quarter of the change"
        if taken_over:
            remark += f", as {', '.join(taken_over)} only brought what the line before {merge.short} has"
        self.remarks.insert(place, f"{about}: {remark} ({result.reason})")
        return innermost


def _contains(source: MergingSource, commit: Commit, ancestor: Commit) -> bool:
    try:
        return source.merge_base(commit, ancestor).id == ancestor.id
    except UsageError:
        return False
