"""Pages of a folder, one after the other: each is read, rendered and written before the next."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.dashboard.alarms import render_alarm, render_alarms
from harness.dashboard.cell import render_cell
from harness.dashboard.changes import render_changes
from harness.dashboard.commits import render_commit, render_commits
from harness.dashboard.comparison import render_comparison
from harness.dashboard.coverage import FRESH_S, render_coverage
from harness.dashboard.latest import render_latest
from harness.dashboard.links import Site
from harness.dashboard.models import render_backends, render_models
from harness.dashboard.result import render_result
from harness.dashboard.static_links import (
    ALARMS,
    CHANGES,
    COMMITS,
    COMPARISON,
    COVERAGE,
    LATEST,
    MODELS,
    StaticLinks,
    alarm_page,
    archive_file,
    cell_page,
    commit_page,
    comparison_page,
    model_page,
    result_page,
)
from harness.files.digests import sha256_of_texts
from harness.flows.history.folder import PageFolder
from harness.flows.history.selection import Contents
from harness.store.canonical_json import RESULT_FILE, to_json_line, to_pretty_json
from harness.store.database.artifacts import ArtifactFolder
from harness.store.history import (
    CommitInfo,
    CommitPage,
    CommitRow,
    HistoryReader,
    Page,
    Period,
    ResultPage,
    Selection,
)

_POINTS: Final = 10_000
"""Most points of a history."""

_EVERY_CELL: Final = Selection()
_ALWAYS: Final = Period()
_ALL: Final = Page(limit=1000)

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""Time of the files in an archive: equal files make equal archives."""

Render = Callable[[Site], str | None]
"""Renders one page; None where what it shows has gone meanwhile."""


class SiteWriter(Struct, frozen=True):
    """Writer of all pages.

    Attributes:
        folder: Where they go.
        history: What they show.
        artifacts: Files of results.
        contents: Which pages there are.
        title: Name of the site.
        made: Unix seconds, now.
    """

    folder: PageFolder
    history: HistoryReader
    artifacts: ArtifactFolder
    contents: Contents
    title: str
    made: float

    @property
    def total(self) -> int:
        """Number of pages."""
        pages = self.contents.pages
        kinds = (pages.cells, pages.commits, pages.comparisons, pages.models, pages.results, pages.alarms)
        return len(list(self._lists())) + sum(map(len, kinds))

    def write(self) -> Iterator[PurePosixPath]:
        """Write page after page, and yield the place of each.

        Raises:
            EnvironmentProblem: The store cannot be read, or a page cannot be written.
        """
        links = StaticLinks(self.contents.pages)
        site = Site(links, self.history.options(), live=False, made=self.made, title=self.title)
        for page, render in self._pages():
            text = render(replace(site, links=links.at(page)))
            if text is not None:
                self.folder.write(page, text)
            yield page
        for uid in sorted(self.contents.pages.results):
            self._write_archive(uid)

    def _pages(self) -> Iterator[tuple[PurePosixPath, Render]]:
        yield from self._lists()
        pages = self.contents.pages
        yield from ((cell_page(key, metric), partial(self._cell, key, metric)) for key, metric in sorted(pages.cells))
        yield from ((commit_page(row.commit.id), partial(self._commit, row)) for row in self.contents.commits)
        yield from (
            (comparison_page(first.id, second.id), partial(self._comparison, first, second))
            for first, second in self.contents.pairs
        )
        yield from ((model_page(name), partial(self._model, name)) for name in sorted(pages.models))
        yield from ((result_page(uid), partial(self._result, uid)) for uid in sorted(pages.results))
        yield from ((alarm_page(identity), partial(self._alarm, identity)) for identity in sorted(pages.alarms))

    def _lists(self) -> Iterator[tuple[PurePosixPath, Render]]:
        """Yield the pages that every folder has."""
        contents = self.contents
        latest = ResultPage(rows=contents.latest, total=len(contents.latest))
        listed = tuple(row for row in contents.commits if not row.commit.is_given)
        commits = CommitPage(rows=listed, total=contents.total)
        yield LATEST, lambda site: render_latest(latest, _EVERY_CELL, _ALL, site)
        yield CHANGES, lambda site: render_changes(contents.changes, contents.levels, _ALWAYS, _EVERY_CELL, site)
        yield COMMITS, lambda site: render_commits(commits, "", site)
        yield COMPARISON, lambda site: render_comparison(None, None, (), None, site, pairs=contents.pairs)
        yield MODELS, lambda site: render_models(contents.latest, site)
        yield (
            COVERAGE,
            lambda site: render_coverage(self.history.coverage(_EVERY_CELL, self.made - FRESH_S), _EVERY_CELL, site),
        )
        yield ALARMS, lambda site: render_alarms(contents.alarms, site)

    def _comparison(self, control: CommitInfo, treatment: CommitInfo, site: Site) -> str:
        differences = self.history.differences(control.id, treatment.id, _EVERY_CELL)
        return render_comparison(control, treatment, differences, None, site)

    def _cell(self, key: str, metric: str, site: Site) -> str | None:
        history = self.history.cell(key, metric, _ALWAYS, _POINTS)
        return None if history is None else render_cell(history, _ALWAYS, site)

    def _commit(self, row: CommitRow, site: Site) -> str:
        return render_commit(row, self.history.results_of(row.commit.id, _EVERY_CELL, _ALL), site)

    def _model(self, name: str, site: Site) -> str:
        return render_backends(name, self.history.backends(name, ()), site)

    def _result(self, uid: str, site: Site) -> str | None:
        result, row = self.history.result(uid), self.history.row(uid)
        if result is None or row is None:
            return None
        return render_result(result, row, self.history.artifacts(uid), site, self.history.doubts(result))

    def _alarm(self, identity: str, site: Site) -> str | None:
        detail = self.history.alarm(identity)
        return None if detail is None else render_alarm(detail, site)

    def _write_archive(self, uid: str) -> None:
        """Write all files of a result as one archive, unless the same is there."""
        result = self.history.result(uid)
        if result is None:
            return
        files = self.history.artifacts(uid)
        version = sha256_of_texts({"": to_json_line(result), **{file.name: file.digest for file in files}})
        with self.folder.open_file(archive_file(uid), version) as path:
            if path is None:
                return
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(_describe_member(RESULT_FILE), to_pretty_json(result) + "\n")
                for file in files:
                    member = archive.open(_describe_member(file.name), "w", force_zip64=True)
                    with member, self.artifacts.open(file.digest) as content:
                        shutil.copyfileobj(content, member)


def _describe_member(name: str) -> zipfile.ZipInfo:
    """Return a compressed member of an archive with the same time always: that of a file says when it was copied."""
    member = zipfile.ZipInfo(name, _EPOCH)
    member.compress_type = zipfile.ZIP_DEFLATED
    return member
