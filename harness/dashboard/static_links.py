"""Addresses of pages in a folder: relative, so that the folder works on a disk and below any address of the web."""

from __future__ import annotations

from collections.abc import Set
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote

from msgspec import Struct, field
from msgspec.structs import replace

from harness.store.history import Period, Selection
from harness.store.tree import encode_segment

LATEST: Final = PurePosixPath("index.html")
CHANGES: Final = PurePosixPath("changes.html")
COMMITS: Final = PurePosixPath("commits.html")
COMPARISON: Final = PurePosixPath("compare.html")
MODELS: Final = PurePosixPath("models.html")
COVERAGE: Final = PurePosixPath("coverage.html")
ALARMS: Final = PurePosixPath("alarms.html")


class Pages(Struct, frozen=True):
    """Pages of things that a folder has; an address of another is empty, and its name stands without a link.

    Attributes:
        cells: Pairs of the key of a cell and the name of a metric; an empty name is the main one.
        commits: Ids of commits.
        comparisons: Pairs of the ids of control and treatment.
        models: Names of models.
        results: Uids of results.
        alarms: Identities of alarms.
    """

    cells: Set[tuple[str, str]] = field(default_factory=frozenset)
    commits: Set[str] = field(default_factory=frozenset)
    comparisons: Set[tuple[str, str]] = field(default_factory=frozenset)
    models: Set[str] = field(default_factory=frozenset)
    results: Set[str] = field(default_factory=frozenset)
    alarms: Set[str] = field(default_factory=frozenset)


class StaticLinks(Struct, frozen=True):
    """Addresses of files (`harness.dashboard.links.Links`), as seen from a page.

    Selections and periods are not in addresses: the script of a page keeps them in the fragment.

    Attributes:
        pages: What the folder has.
        depth: Number of folders between the folder of the site and the page.
    """

    pages: Pages
    depth: int = 0

    def at(self, page: PurePosixPath) -> StaticLinks:
        """Return the addresses as seen from a page of the folder."""
        return replace(self, depth=len(page.parts) - 1)

    def latest(self, selection: Selection | None = None) -> str:  # noqa: ARG002 - see above
        """Return `index.html`."""
        return self._to(LATEST)

    def changes(self, period: Period | None = None, selection: Selection | None = None) -> str:  # noqa: ARG002
        """Return `changes.html`."""
        return self._to(CHANGES)

    def cell(self, key: str, metric: str = "") -> str:
        """Return `cells/KEY.html`, of another metric `cells/KEY/METRIC.html`."""
        return self._to(cell_page(key, metric)) if (key, metric) in self.pages.cells else ""

    def commits(self) -> str:
        """Return `commits.html`."""
        return self._to(COMMITS)

    def commit(self, identity: str) -> str:
        """Return `commits/ID.html`."""
        return self._to(commit_page(identity)) if identity in self.pages.commits else ""

    def comparison(self, control: str = "", treatment: str = "") -> str:
        """Return `compare.html`, or `compare/CONTROL..TREATMENT.html`."""
        if not control and not treatment:
            return self._to(COMPARISON)
        pair = (control, treatment)
        return self._to(comparison_page(*pair)) if pair in self.pages.comparisons else ""

    def models(self) -> str:
        """Return `models.html`."""
        return self._to(MODELS)

    def model(self, name: str) -> str:
        """Return `models/NAME.html`."""
        return self._to(model_page(name)) if name in self.pages.models else ""

    def result(self, uid: str) -> str:
        """Return `results/UID.html`."""
        return self._to(result_page(uid)) if uid in self.pages.results else ""

    def archive(self, uid: str) -> str:
        """Return `results/UID.zip`."""
        return self._to(archive_file(uid)) if uid in self.pages.results else ""

    def document(self, uid: str) -> str:  # noqa: ARG002 - the archive has it
        """Return nothing: the JSON of a result is in its archive."""
        return ""

    def artifact(self, uid: str, name: str) -> str:  # noqa: ARG002 - the archive has them
        """Return nothing: files of a result are in its archive."""
        return ""

    def coverage(self) -> str:
        """Return `coverage.html`."""
        return self._to(COVERAGE)

    def alarms(self) -> str:
        """Return `alarms.html`."""
        return self._to(ALARMS)

    def requests(self) -> str:
        """Return nothing: a folder takes no requests."""
        return ""

    def request(self, identity: str) -> str:  # noqa: ARG002 - a protocol
        """Return nothing."""
        return ""

    def lab(self) -> str:
        """Return nothing: the devices of a lab are there now only."""
        return ""

    def login(self, wanted: str = "") -> str:  # noqa: ARG002 - a protocol
        """Return nothing."""
        return ""

    def alarm(self, identity: str) -> str:
        """Return `alarms/IDENTITY.html`."""
        return self._to(alarm_page(identity)) if identity in self.pages.alarms else ""

    def _to(self, page: PurePosixPath) -> str:
        return "../" * self.depth + quote(page.as_posix())


def cell_page(key: str, metric: str = "") -> PurePosixPath:
    """Return the file of the history of a cell."""
    return PurePosixPath("cells", f"{key}.html") if not metric else PurePosixPath("cells", key, _file_name(metric))


def commit_page(identity: str) -> PurePosixPath:
    """Return the file of a commit."""
    return PurePosixPath("commits", _file_name(identity))


def comparison_page(control: str, treatment: str) -> PurePosixPath:
    """Return the file of two commits side by side."""
    return PurePosixPath("compare", _file_name(f"{control}..{treatment}"))


def model_page(name: str) -> PurePosixPath:
    """Return the file of a model."""
    return PurePosixPath("models", _file_name(name))


def result_page(uid: str) -> PurePosixPath:
    """Return the file of a result."""
    return PurePosixPath("results", _file_name(uid))


def archive_file(uid: str) -> PurePosixPath:
    """Return the archive of all files of a result."""
    return PurePosixPath("results", _file_name(uid, ".zip"))


def alarm_page(identity: str) -> PurePosixPath:
    """Return the file of an alarm."""
    return PurePosixPath("alarms", _file_name(identity))


def _file_name(name: str, suffix: str = ".html") -> str:
    """Return a file name for a name; those that differ in case alone differ, for file systems that ignore it."""
    segment = encode_segment(name)
    if segment != segment.lower():
        segment += f"~{sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"
    return f"{segment}{suffix}"
