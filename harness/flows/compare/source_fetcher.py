"""Fetching of new commits: each source is asked once per command, however many of its commits are named."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from harness.builders.sources.commit_names import parse_name
from harness.core.commit import BranchingSource, Source
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.protocols import Progress


class SourceFetcher:
    """Fetches each source once per command. Where its remote cannot be reached, commits known before still count.

    Args:
        progress: Shows what happens.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._errors: dict[str, EnvironmentProblem | None] = {}
        """Outcome of each fetch, by name of the source."""

    @contextlib.contextmanager
    def fetch(self, source: Source, names: Sequence[str | None]) -> Iterator[None]:
        """Fetch a source if its names may need it, and let the caller resolve them in this context.

        Args:
            source: Source of the commits.
            names: Names that will be resolved; None is the newest commit.

        Raises:
            EnvironmentProblem: A name cannot be resolved, and the source could not be fetched.
        """
        if source.name in self._errors or all(_is_known_hash(source, name) for name in names):
            unreachable = self._errors.get(source.name)
        else:
            unreachable = self._errors[source.name] = self._try_to_fetch(source)
        try:
            yield
        except UsageError as error:
            if unreachable is None:
                raise
            raise EnvironmentProblem(f"{error.message}; {unreachable.message}", hint=unreachable.hint) from error

    def _try_to_fetch(self, source: Source) -> EnvironmentProblem | None:
        try:
            with self._progress.task(f"looking for commits in {source.name}"):
                source.fetch()
        except EnvironmentProblem as error:
            self._progress.warn(f"{error.message}: continuing with the commits that are known here")
            return error
        return None


def _is_known_hash(source: Source, name: str | None) -> bool:
    """Return whether a name is the hash of a known commit, which no fetch can change."""
    if name is None or not isinstance(source, BranchingSource) or not parse_name(name).is_hash:
        return False
    try:
        return source.resolve(name).id.startswith(name.lower())
    except UsageError:
        return False
