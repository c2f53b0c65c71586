"""Addresses of the pages: the same pages are live on a server, and files in a folder."""

from __future__ import annotations

from typing import Protocol
from urllib.parse import quote, urlencode

from msgspec import Struct, field

from harness.store.history import FilterValues, Period, Selection


class Links(Protocol):
    """Addresses that a page links to, relative to it. Empty where there is no such page: the text stands alone."""

    def latest(self, selection: Selection | None = None) -> str:
        """Return the address of the newest result of each cell, the first page."""

    def changes(self, period: Period | None = None, selection: Selection | None = None) -> str:
        """Return the address of what became worse or better."""

    def cell(self, key: str, metric: str = "") -> str:
        """Return the address of the history of a cell."""

    def commits(self) -> str:
        """Return the address of the list of commits."""

    def commit(self, identity: str) -> str:
        """Return the address of a commit."""

    def comparison(self, control: str = "", treatment: str = "") -> str:
        """Return the address of two commits, side by side."""

    def models(self) -> str:
        """Return the address of the list of models."""

    def model(self, name: str) -> str:
        """Return the address of a model: backend against backend."""

    def result(self, uid: str) -> str:
        """Return the address of a result in full."""

    def archive(self, uid: str) -> str:
        """Return the address of all files of a result as one archive."""

    def document(self, uid: str) -> str:
        """Return the address of a result as canonical JSON."""

    def artifact(self, uid: str, name: str) -> str:
        """Return the address of a file of a result."""

    def coverage(self) -> str:
        """Return the address of the coverage."""

    def alarms(self) -> str:
        """Return the address of the list of alarms."""

    def alarm(self, identity: str) -> str:
        """Return the address of an alarm."""

    def requests(self) -> str:
        """Return the address of the form that asks for a run, and of the list of all."""

    def request(self, identity: str) -> str:
        """Return the address of a run that somebody asked for."""

    def lab(self) -> str:
        """Return the address of the devices of labs, and of what each is doing."""

    def login(self, wanted: str = "") -> str:
        """Return the address of the form that takes a token, which leads on to what was wanted."""


class Site(Struct, frozen=True):
    """What all pages of one site have in common.

    Attributes:
        links: Addresses.
        options: Values that filters can take.
        live: Whether a server answers: then filters are forms that it answers, and persons may act on alarms. Else they
            are done by the script of the page, on the rows that are there.
        made: Unix seconds at which a page of files was made; None where it is live.
        person: Who is shown the page, if that person may act on alarms; else empty.
        form_token: Secret that forms give back, so that no page of another site can send them in this person's name.
        title: Name of the site, which stands in every title.
    """

    links: Links
    options: FilterValues = field(default_factory=FilterValues)
    live: bool = True
    made: float | None = None
    person: str = ""
    form_token: str = ""
    title: str = "harness"


class LiveLinks(Struct, frozen=True):
    """Addresses on a server (`Links`).

    Attributes:
        root: Path that the server is mounted at, without a slash at its end.
    """

    root: str = ""

    def latest(self, selection: Selection | None = None) -> str:
        """Return `/`."""
        return self._build("/", selection)

    def changes(self, period: Period | None = None, selection: Selection | None = None) -> str:
        """Return `/changes`."""
        return self._build("/changes", selection, period)

    def cell(self, key: str, metric: str = "") -> str:
        """Return `/cells/KEY`."""
        return self._build(f"/cells/{_segment(key)}", metric=metric)

    def commits(self) -> str:
        """Return `/commits`."""
        return f"{self.root}/commits"

    def commit(self, identity: str) -> str:
        """Return `/commits/ID`."""
        return f"{self.root}/commits/{_segment(identity)}"

    def comparison(self, control: str = "", treatment: str = "") -> str:
        """Return `/compare`."""
        return self._build("/compare", control=control, treatment=treatment)

    def models(self) -> str:
        """Return `/models`."""
        return f"{self.root}/models"

    def model(self, name: str) -> str:
        """Return `/models/NAME`."""
        return f"{self.root}/models/{_segment(name)}"

    def result(self, uid: str) -> str:
        """Return `/results/UID`."""
        return f"{self.root}/results/{_segment(uid)}"

    def archive(self, uid: str) -> str:
        """Return `/api/v1/results/UID/archive`."""
        return f"{self.root}/api/v1/results/{_segment(uid)}/archive"

    def document(self, uid: str) -> str:
        """Return `/api/v1/results/UID`."""
        return f"{self.root}/api/v1/results/{_segment(uid)}"

    def artifact(self, uid: str, name: str) -> str:
        """Return `/api/v1/results/UID/artifacts/NAME`."""
        return f"{self.root}/api/v1/results/{_segment(uid)}/artifacts/{quote(name)}"

    def coverage(self) -> str:
        """Return `/coverage`."""
        return f"{self.root}/coverage"

    def alarms(self) -> str:
        """Return `/alarms`."""
        return f"{self.root}/alarms"

    def alarm(self, identity: str) -> str:
        """Return `/alarms/IDENTITY`."""
        return f"{self.root}/alarms/{_segment(identity)}"

    def requests(self) -> str:
        """Return `/requests`."""
        return f"{self.root}/requests"

    def request(self, identity: str) -> str:
        """Return `/requests/ID`."""
        return f"{self.root}/requests/{_segment(identity)}"

    def lab(self) -> str:
        """Return `/lab`."""
        return f"{self.root}/lab"

    def login(self, wanted: str = "") -> str:
        """Return `/login`."""
        return self._build("/login", next=wanted.removeprefix(self.root))

    def _build(
        self, path: str, selection: Selection | None = None, period: Period | None = None, **parameters: str
    ) -> str:
        """Return a path with a query of the conditions that are given."""
        conditions = selection.model_dump(exclude_defaults=True) if selection is not None else {}
        limits = period.model_dump(exclude_none=True) if period is not None else {}
        given = {name: value for name, value in {**conditions, **limits, **parameters}.items() if value}
        return f"{self.root}{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")


def _segment(text: str) -> str:
    """Return a text as one segment of a path; dots alone would mean folders."""
    encoded = quote(text, safe="")
    return encoded.replace(".", "%2E") if not encoded.strip(".") else encoded
