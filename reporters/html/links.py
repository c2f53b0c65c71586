"""Relative addresses of stored results, so that a page and its results can be moved or served together."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from harness.core.result import Result
from harness.store.canonical_json import RESULT_FILE
from harness.store.tree import ARTIFACTS, encode_segment
from reporters.pages import ReportedRun


class Link(Struct, frozen=True):
    """Link of a page."""

    text: str
    href: str


class StoredLinks(Struct, frozen=True):
    """Links to what is stored of a result.

    Attributes:
        result: Its file; None where it is unknown.
        logs: What its launches wrote.
        artifacts: Files of its probes.
    """

    result: Link | None
    logs: tuple[Link, ...] = ()
    artifacts: tuple[Link, ...] = ()


def link_stored(result: Result, run: ReportedRun) -> StoredLinks:
    """Return the links to the file of a result and to its logs, relative to the page."""
    place = run.places.get(result.uid)
    if place is None:
        return StoredLinks(None)
    logs = (Link(file.name, address(file, run.page)) for file in run.logs.get(result.uid, ()))
    names = (artifact.name for probe_pass in result.probes for artifact in probe_pass.artifacts)
    artifacts = (Link(name, address(place / ARTIFACTS / encode_segment(name), run.page)) for name in names)
    return StoredLinks(Link(RESULT_FILE, address(place / RESULT_FILE, run.page)), tuple(logs), tuple(artifacts))


def address(file: Path, page: Path) -> str:
    """Return the address of a file relative to a page; a name with a colon is no scheme, because it is encoded."""
    relative = os.path.relpath(file.absolute(), page.absolute().parent)
    return quote(relative, safe="/+=,@~", errors="surrogateescape")
