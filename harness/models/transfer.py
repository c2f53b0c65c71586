"""One request for one file, and what can become of it: the whole, the rest, nothing for now, nothing at all.

A part is continued only when the server names its content by a strong ETag (RFC 9110, 8.8.3) and confirms it
(`If-Range`, RFC 9110, 13.1.5); a server without ranges, or with another content by now, makes it start over.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

import requests
import urllib3
from pydantic import ValidationError

from harness.core.benchmark import ModelFile
from harness.core.protocols import Task
from harness.core.values import Value
from harness.models.failures import told_as_unavailable, unavailable
from harness.models.layout import Place
from harness.models.sources import Download
from harness.shell import check_stopping

_CHUNK_BYTES = 1 << 16
_OK, _PARTIAL, _RANGE_NOT_SATISFIABLE = 200, 206, 416
_MAY_PASS = frozenset({408, 425, 429})
"""Statuses beside 5xx after which trying again makes sense: timeout, too early, too many requests."""
_REMEDIES = {
    401: "give credentials in ~/.netrc",
    403: "check that you may read it; credentials go to ~/.netrc",
    404: "check the `location`",
    407: "give the proxy's credentials in the proxy variables (https_proxy)",
    410: "the file was removed: find its new `location`",
}
_STRONG_ETAG = re.compile(r'"[^"]*"')
_CONTENT_RANGE = re.compile(r"bytes (?P<first>\d+)-\d+/(?P<total>\d+)")


class PartNote(Value):
    """What a part is a part of.

    Attributes:
        url_sha256: SHA-256 of the URL, which may hold credentials.
        etag: The server's strong name of the content.
    """

    url_sha256: str
    etag: str


class MayPass(Exception):
    """Something that may be better in a moment.

    Attributes:
        pause_s: How long the server asks to wait, if it does.
    """

    def __init__(self, words: str, pause_s: float | None = None) -> None:
        super().__init__(words)
        self.pause_s = pause_s


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to get from where to where.

    Attributes:
        file: As the specification names it.
        source: Its URL.
        place: Whose part it becomes.
        connect_s: Seconds to wait for a connection.
        read_s: Seconds to wait for the next bytes.
    """

    file: ModelFile
    source: Download
    place: Place
    connect_s: float
    read_s: float

    @property
    def url_sha256(self) -> str:
        """How the URL is remembered."""
        return hashlib.sha256(self.source.url.encode("utf-8", "surrogatepass")).hexdigest()


def transfer(session: requests.Session, wanted: Wanted, task: Task) -> bool:
    """Ask once.

    Returns:
        Whether the part was continued.

    Raises:
        MayPass: Asking again may help; what arrived is kept.
        FileUnavailable: Asking again will not help.
    """
    etag, offset = _continuable(wanted)
    headers = {"Accept-Encoding": "identity"}  # ranges and lengths count the bytes that we keep
    if etag is not None:
        headers |= {"Range": f"bytes={offset}-", "If-Range": etag}
    with _answer(session, wanted, headers) as response:
        if response.status_code == _OK:
            _receive_whole(response, wanted, task)
            return False
        if etag is not None and response.status_code == _PARTIAL:
            _receive_rest(response, wanted, etag, offset, task)
            return True
        if etag is not None and response.status_code == _RANGE_NOT_SATISFIABLE:
            _start_over(wanted, "the server has no such range")
        raise _refusal(response, wanted)


def _continuable(wanted: Wanted) -> tuple[str | None, int]:
    """The ETag and the size of a part that can be continued; no ETag and 0 when there is none."""
    with told_as_unavailable(wanted.file, "looking at what was downloaded before"):
        try:
            note = PartNote.model_validate_json(wanted.place.part_note.read_bytes())
            size_bytes = wanted.place.part.stat().st_size
        except (FileNotFoundError, ValidationError):
            return None, 0
    if note.url_sha256 != wanted.url_sha256 or size_bytes == 0:
        return None, 0
    return note.etag, size_bytes


@contextlib.contextmanager
def _answer(session: requests.Session, wanted: Wanted, headers: Mapping[str, str]) -> Iterator[requests.Response]:
    limits = (wanted.connect_s, wanted.read_s)
    with _network_told(wanted):
        response = session.get(wanted.source.url, headers=dict(headers), stream=True, timeout=limits)
    with response:
        yield response


def _receive_whole(response: requests.Response, wanted: Wanted, task: Task) -> None:
    encoded = response.headers.get("Content-Encoding", "identity").lower() != "identity"
    etag = response.headers.get("ETag", "")
    length = response.headers.get("Content-Length", "")
    total = int(length) if length.isdigit() and not encoded else None
    with told_as_unavailable(wanted.file, "writing the download"):
        # The old note goes before the old bytes, the new one comes before the new: it never vouches for others'.
        wanted.place.discard_part()
        if _STRONG_ETAG.fullmatch(etag) and not encoded:
            note = PartNote(url_sha256=wanted.url_sha256, etag=etag)
            wanted.place.part_note.write_text(note.model_dump_json(), encoding="utf-8")
    _receive(response, wanted, 0, total, task)


def _receive_rest(response: requests.Response, wanted: Wanted, etag: str, offset: int, task: Task) -> None:
    span = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if span is None or int(span["first"]) != offset or response.headers.get("ETag", etag) != etag:
        _start_over(wanted, "the server continued with something else")
    _receive(response, wanted, offset, int(span["total"]), task)


def _receive(response: requests.Response, wanted: Wanted, offset: int, total: int | None, task: Task) -> None:
    """Append the answer's bytes to the part, which has `offset` of them, until it has `total`."""
    task.update(completed=offset, total=total)
    size_bytes = offset
    with told_as_unavailable(wanted.file, "writing the download"), wanted.place.part.open("ab") as writer:
        for chunk in _chunks(response, wanted):
            check_stopping()
            writer.write(chunk)
            size_bytes += len(chunk)
            task.update(completed=size_bytes)
    if total is not None and size_bytes != total:
        raise MayPass(f"{size_bytes} bytes arrived instead of {total}")


def _chunks(response: requests.Response, wanted: Wanted) -> Iterator[bytes]:
    with _network_told(wanted):
        yield from response.iter_content(_CHUNK_BYTES)


def _start_over(wanted: Wanted, words: str) -> NoReturn:
    with told_as_unavailable(wanted.file, "discarding what was downloaded before"):
        wanted.place.discard_part()
    raise MayPass(words)


def _refusal(response: requests.Response, wanted: Wanted) -> Exception:
    status = response.status_code
    words = f"the server says {status} {response.reason}".rstrip()
    if status in _MAY_PASS or status >= 500:
        asked = response.headers.get("Retry-After", "")
        return MayPass(words, float(asked) if asked.isdigit() else None)
    return unavailable(
        wanted.file, f"{wanted.source.shown} cannot be downloaded: {words}", _REMEDIES.get(status, _REMEDIES[404])
    )


@contextlib.contextmanager
def _network_told(wanted: Wanted) -> Iterator[None]:
    """Map what `requests` raises inside. The originals are not chained: their texts can hold credentials."""
    try:
        yield
    except requests.exceptions.SSLError as error:
        raise unavailable(
            wanted.file,
            f"{wanted.source.shown} cannot be downloaded: {_words(error, wanted)}",
            "check the server's certificate; REQUESTS_CA_BUNDLE names a bundle with your own authority",
        ) from None
    except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
        raise MayPass(_words(error, wanted)) from None
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:  # `requests` lets some through
        raise unavailable(
            wanted.file, f"{wanted.source.shown} cannot be downloaded: {_words(error, wanted)}", _REMEDIES[404]
        ) from None


def _words(error: Exception, wanted: Wanted) -> str:
    """What went wrong at the bottom; the outer layers repeat the URL with everything in it."""
    cause: object = error.args[0] if error.args else error
    reason: object = getattr(cause, "reason", None) or cause
    return str(reason).replace(wanted.source.url, wanted.source.shown)
