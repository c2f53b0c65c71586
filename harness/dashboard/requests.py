"""Runs on demand: the form that asks for one, the list of all, and one with its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote, unquote

from msgspec import Struct

from harness.dashboard.links import Site
from harness.dashboard.rendering import render_view
from harness.store.history import Page, ResultRow
from harness.store.run_requests import MOST_PAIRS, LabOffer, RequestPage, RequestState, RunRequest

SHOWN_RESULTS: Final = 3
"""Most results of a request that the list links to; the page of the request has all."""
_RELOAD_S: Final = 10
_MARKS: Final[Mapping[RequestState, str]] = {
    RequestState.QUEUED: "○",
    RequestState.RUNNING: "◷",
    RequestState.DONE: "✓",
    RequestState.FAILED: "✗",
    RequestState.CANCELLED: "-",
}


class Asker(Struct, frozen=True):
    """Person who is shown a page of requests.

    Attributes:
        name: Name of the token; empty for nobody who may ask.
        form_token: Secret that forms give back.
        is_administrator: Whether this person may cancel all.
        may_choose_commits: Whether this person may ask for commits.
    """

    name: str = ""
    form_token: str = ""
    is_administrator: bool = False
    may_choose_commits: bool = False

    def may_cancel(self, request: RunRequest) -> bool:
        """Return whether this person may cancel a request now."""
        is_own = bool(self.name) and (self.is_administrator or request.person == self.name)
        return is_own and request.state.is_open


def encode_choice(specification: str, benchmark: str = "") -> str:
    """Return what the form sends for a benchmark of a specification, or for all of them."""
    return f"{quote(specification, safe='')}/{benchmark}"


def decode_choice(text: str) -> tuple[str, str]:
    """Return specification and benchmark of what the form has sent."""
    specification, _, benchmark = text.partition("/")
    return unquote(specification), benchmark


def render_requests(
    requests: RequestPage,
    results: Mapping[str, ResultRow],
    offer: LabOffer,
    site: Site,
    *,
    asker: Asker,
    key: str,
    page: Page | None = None,
) -> str:
    """Render the form and the list, newest first.

    Args:
        requests: The requests of this page.
        results: Their first results (`SHOWN_RESULTS`), by uid; one that was removed is not there.
        offer: What can be asked for now.
        site: What all pages have in common.
        asker: Whoever is shown the page.
        key: Of the next request, so that a form that is sent twice asks once.
        page: Which part of the list.
    """
    return render_view(
        "requests.html",
        site,
        title="Ask for a run",
        view="Ask for a run",
        requests=requests,
        results=results,
        shown=SHOWN_RESULTS,
        offer=offer,
        encode=encode_choice,
        asker=asker,
        key=key,
        most_pairs=MOST_PAIRS,
        marks=_MARKS,
        reload_s=_RELOAD_S if any(request.state.is_open for request in requests.rows) else 0,
        part=page or Page(),
    )


def render_lab(offer: LabOffer, open_requests: int, site: Site) -> str:
    """Render the devices of labs, and what each was doing within the last minute.

    Args:
        offer: What labs offer now.
        open_requests: Number of requests that have not ended.
        site: What all pages have in common.
    """
    devices = offer.devices
    counts = (
        _count(len(devices), "device", "devices"),
        "of " + _count(len({device.device_class for device in devices}), "class", "classes"),
        "at " + _count(len({device.host for device in devices}), "host", "hosts"),
    )
    out = sum(not device.is_available for device in devices)
    return render_view(
        "lab.html",
        site,
        title="Lab",
        view="Lab",
        devices=devices,
        summary=" ".join(counts) + (f", {out} of them out of the pool" if out else ""),
        open_requests=open_requests,
        reload_s=_RELOAD_S,
    )


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def render_request(request: RunRequest, results: Sequence[ResultRow], site: Site, *, asker: Asker) -> str:
    """Render one request with its results.

    Args:
        request: The request.
        results: Its results that are still in the store.
        site: What all pages have in common.
        asker: Whoever is shown the page.
    """
    return render_view(
        "request.html",
        site,
        title=f"Run of {request.benchmark or request.specification}",
        view="Ask for a run",
        request=request,
        results=results,
        asker=asker,
        marks=_MARKS,
        reload_s=_RELOAD_S if request.state.is_open else 0,
    )
