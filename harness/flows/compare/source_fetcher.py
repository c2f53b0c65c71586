"""Looking for commits: each source is asked for new ones once in a command, however many of its commits are named."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from harness.builders.sources.names import parse_name
from harness.core.commit import BranchingSource, Source
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.protocols import Progress


class SourceFetcher:
    """Looks for commits, after asking for new ones. Without its remote a source still knows those that it knew.

    Args:
        progress: Told what happens.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._asked: dict[str, EnvironmentProblem | None] = {}

    @contextlib.contextmanager
    def fetch(self, source: Source, names: Sequence[str | None]) -> Iterator[None]:
        """Names can be resolved meanwhile.

        Args:
            source: Where commits come from.
            names: What will be resolved; None is the newest.

        Raises:
            EnvironmentProblem: A name means nothing, and the source could not be asked for new commits.
        """
        if source.name in self._asked or all(_stays(source, name) for name in names):
            unreachable = self._asked.get(source.name)
        else:
            unreachable = self._asked[source.name] = self._ask(source)
        try:
            yield
        except UsageError as error:
            if unreachable is None:
                raise
            raise EnvironmentProblem(f"{error.message}; {unreachable.message}", hint=unreachable.hint) from error

    def _ask(self, source: Source) -> EnvironmentProblem | None:
        """Learn of new commits; the problem, where they cannot be asked for."""
        try:
            with self._progress.task(f"looking for commits in {source.name}"):
                source.fetch()
        except EnvironmentProblem as error:
            self._progress.say(f"{error.message}: going on with the commits that are known here")
            return error
        return None


def _stays(source: Source, name: str | None) -> bool:
    """Whether a name is the hash of a commit that is known: whatever is fetched, it will mean the same."""
    if name is None or not isinstance(source, BranchingSource) or not parse_name(name).is_hash:
        return False
    try:
        return source.resolve(name).id.startswith(name.lower())
    except UsageError:
        return False
