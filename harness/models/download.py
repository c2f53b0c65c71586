"""Downloads over http(s): streamed, retried, and continued where an earlier attempt or an earlier run stopped.

A partial download is continued only when the server identifies its content by a strong ETag (RFC 9110, 8.8.3) and
confirms it (`If-Range`, RFC 9110, 13.1.5); a server without ranges, or with other content by now, makes it start over.
Proxies and `.netrc` work as `requests` defines them.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Final, NoReturn

import requests
import stamina
import urllib3
from msgspec import Struct
from pydantic import ValidationError

from harness import __version__
from harness.core.benchmark import ModelFile
from harness.core.protocols import Task
from harness.core.values import Value
from harness.models.errors import os_errors_as_unavailable, unavailable
from harness.models.layout import CachePlace
from harness.models.locations import Download
from harness.shell import check_stopping

_LONGEST_RETRY_AFTER_S = 60.0

# Retries are shown as progress; this keeps logging from writing them to standard error as well.
logging.getLogger("stamina").addHandler(logging.NullHandler())
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
_COUNT = re.compile("[0-9]{1,18}")
"""A number of bytes or seconds in a header; more digits than 64 bits hold are none."""
_CONTENT_RANGE = re.compile("bytes (?P<first>[0-9]{1,18})-[0-9]{1,18}/(?P<total>[0-9]{1,18})")


class RetrySchedule(Struct, frozen=True):
    """Attempts and time limits of a download.

    Attributes:
        attempts: Number of attempts.
        pause_s: Seconds before the second attempt; doubled for each further one.
        longest_pause_s: Most seconds between two attempts.
        connect_s: Seconds to wait for a connection.
        read_s: Seconds to wait for the next bytes.
        unannounced_bytes: Most bytes of a response whose length the server does not announce: it may have no end.
    """

    attempts: int = 5
    pause_s: float = 0.5
    longest_pause_s: float = 20.0
    connect_s: float = 10.0
    read_s: float = 60.0
    unannounced_bytes: int = 16 << 30


DEFAULT_RETRIES: Final = RetrySchedule()


class PartialDownload(Value):
    """Source of an incomplete file.

    Attributes:
        url_sha256: SHA-256 of the URL, which may hold credentials.
        etag: Strong ETag of the content.
    """

    url_sha256: str
    etag: str


class TransientError(Exception):
    """A failure that may not happen again in a moment.

    Attributes:
        pause_s: Seconds that the server asks to wait; None where it does not say.
    """

    def __init__(self, words: str, pause_s: float | None = None) -> None:
        super().__init__(words)
        self.pause_s = pause_s


class DownloadRequest(Struct, frozen=True):
    """Source, destination and time limits of one download.

    Attributes:
        file: File entry of the specification.
        source: Its URL.
        place: Its place in the cache.
        limits: Time limits, and the limit of its size.
    """

    file: ModelFile
    source: Download
    place: CachePlace
    limits: RetrySchedule

    @property
    def url_sha256(self) -> str:
        """SHA-256 of the URL, which may hold credentials."""
        return hashlib.sha256(self.source.url.encode("utf-8", "surrogatepass")).hexdigest()


def download(
    file: ModelFile, source: Download, place: CachePlace, task: Task, retries: RetrySchedule = DEFAULT_RETRIES
) -> bool:
    """Download into the partial file of a place.

    Returns:
        Whether the file consists of more than one response.

    Raises:
        FileUnavailable: It cannot be downloaded. What arrived is kept, and continued next time.
    """
    wanted = DownloadRequest(file, source, place, retries)
    try:
        return _download_with_retries(wanted, task, retries)
    except TransientError as error:
        raise unavailable(
            file, f"{source.shown} cannot be downloaded: {error}", "check the network, then run again to go on"
        ) from error


def _download_with_retries(wanted: DownloadRequest, task: Task, retries: RetrySchedule) -> bool:
    pieced = False
    with requests.Session() as session:
        session.headers["User-Agent"] = f"edge-harness/{__version__}"
        for attempt in stamina.retry_context(
            on=_retry_pause,
            attempts=retries.attempts,
            timeout=None,
            wait_initial=retries.pause_s,
            wait_max=retries.longest_pause_s,
            wait_jitter=retries.pause_s,
        ):
            if attempt.num > 1:
                task.update(text=f"downloading {wanted.file.filename}, attempt {attempt.num}")
            with attempt:
                pieced = transfer(session, wanted, task)
    return pieced


def _retry_pause(error: Exception) -> bool | float:
    if not isinstance(error, TransientError):
        return False
    return True if error.pause_s is None else min(error.pause_s, _LONGEST_RETRY_AFTER_S)


def transfer(session: requests.Session, wanted: DownloadRequest, task: Task) -> bool:
    """Send one request.

    Returns:
        Whether an incomplete file was continued.

    Raises:
        TransientError: Another attempt may help; what arrived is kept.
        FileUnavailable: No further attempt will help.
    """
    etag, offset = _find_partial(wanted)
    headers = {"Accept-Encoding": "identity"}  # ranges and lengths count the bytes that we keep
    if etag is not None:
        headers |= {"Range": f"bytes={offset}-", "If-Range": etag}
    with _open_response(session, wanted, headers) as response:
        if response.status_code == _OK:
            _receive_whole(response, wanted, task)
            return False
        if etag is not None and response.status_code == _PARTIAL:
            _receive_rest(response, wanted, etag, offset, task)
            return True
        if etag is not None and response.status_code == _RANGE_NOT_SATISFIABLE:
            _start_over(wanted, "the server has no such range")
        raise _refusal(response, wanted)


def _find_partial(wanted: DownloadRequest) -> tuple[str | None, int]:
    """Return ETag and size of an incomplete file that can be continued; None and 0 where there is none."""
    with os_errors_as_unavailable(wanted.file, "reading what was downloaded before"):
        try:
            note = PartialDownload.model_validate_json(wanted.place.part_note.read_bytes())
            size_bytes = wanted.place.part.stat().st_size
        except (FileNotFoundError, ValidationError):
            return None, 0
    if note.url_sha256 != wanted.url_sha256 or size_bytes == 0:
        return None, 0
    return note.etag, size_bytes


@contextlib.contextmanager
def _open_response(
    session: requests.Session, wanted: DownloadRequest, headers: Mapping[str, str]
) -> Iterator[requests.Response]:
    limits = (wanted.limits.connect_s, wanted.limits.read_s)
    with _network_errors(wanted):
        response = session.get(wanted.source.url, headers=dict(headers), stream=True, timeout=limits)
    with response:
        yield response


def _receive_whole(response: requests.Response, wanted: DownloadRequest, task: Task) -> None:
    encoded = response.headers.get("Content-Encoding", "identity").lower() != "identity"
    etag = response.headers.get("ETag", "")
    total = None if encoded else _parse_count(response.headers.get("Content-Length", ""))
    with os_errors_as_unavailable(wanted.file, "writing the download"):
        # The old note is removed before the old bytes, the new one written before the new: it never describes others.
        wanted.place.discard_part()
        if _STRONG_ETAG.fullmatch(etag) and not encoded:
            note = PartialDownload(url_sha256=wanted.url_sha256, etag=etag)
            wanted.place.part_note.write_text(note.model_dump_json(), encoding="utf-8")
    _receive(response, wanted, 0, total, task)


def _receive_rest(response: requests.Response, wanted: DownloadRequest, etag: str, offset: int, task: Task) -> None:
    span = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if span is None or int(span["first"]) != offset or response.headers.get("ETag", etag) != etag:
        _start_over(wanted, "the server continued with something else")
    _receive(response, wanted, offset, int(span["total"]), task)


def _receive(response: requests.Response, wanted: DownloadRequest, offset: int, total: int | None, task: Task) -> None:
    """Append the body of the response to the incomplete file, from `offset` bytes to `total`."""
    task.update(completed=offset, total=total)
    size_bytes, most_bytes = offset, wanted.limits.unannounced_bytes if total is None else total
    with os_errors_as_unavailable(wanted.file, "writing the download"), wanted.place.part.open("ab") as writer:
        for chunk in _chunks(response, wanted):
            check_stopping()
            size_bytes += len(chunk)
            if size_bytes > most_bytes:
                break
            writer.write(chunk)
            task.update(completed=size_bytes)
    if total is None and size_bytes > most_bytes:
        wanted.place.discard_part()
        raise unavailable(
            wanted.file,
            f"{wanted.source.shown} sent more than {_format_limit(most_bytes)} without announcing a length",
            "a server that sends `Content-Length` has no limit; or download it yourself and name the file",
        )
    if total is not None and size_bytes != total:
        raise TransientError(f"{size_bytes} bytes arrived instead of {total}")


def _format_limit(limit_bytes: int) -> str:
    """Format a limit in the largest unit of which it is a whole number."""
    units = ((30, "GiB"), (20, "MiB"), (10, "KiB"))
    return next((f"{limit_bytes >> bits} {unit}" for bits, unit in units if not limit_bytes % (1 << bits)), "")


def _chunks(response: requests.Response, wanted: DownloadRequest) -> Iterator[bytes]:
    with _network_errors(wanted):
        yield from response.iter_content(_CHUNK_BYTES)


def _start_over(wanted: DownloadRequest, words: str) -> NoReturn:
    with os_errors_as_unavailable(wanted.file, "discarding what was downloaded before"):
        wanted.place.discard_part()
    raise TransientError(words)


def _parse_count(header: str) -> int | None:
    return int(header) if _COUNT.fullmatch(header) else None


def _refusal(response: requests.Response, wanted: DownloadRequest) -> Exception:
    status = response.status_code
    words = f"the server says {status} {response.reason}".rstrip()
    if status in _MAY_PASS or status >= 500:
        return TransientError(words, _parse_count(response.headers.get("Retry-After", "")))
    return unavailable(
        wanted.file, f"{wanted.source.shown} cannot be downloaded: {words}", _REMEDIES.get(status, _REMEDIES[404])
    )


@contextlib.contextmanager
def _network_errors(wanted: DownloadRequest) -> Iterator[None]:
    """Map errors of `requests`. The originals are not chained: their messages can hold credentials."""
    try:
        yield
    except requests.exceptions.SSLError as error:
        raise unavailable(
            wanted.file,
            f"{wanted.source.shown} cannot be downloaded: {_describe(error, wanted)}",
            "check the server's certificate; REQUESTS_CA_BUNDLE names a bundle with your own authority",
        ) from None
    except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
        raise TransientError(_describe(error, wanted)) from None
    # `requests` lets errors of urllib3 through, and those of `urllib.parse` and IDNA (ValueError) for redirects.
    except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        raise unavailable(
            wanted.file, f"{wanted.source.shown} cannot be downloaded: {_describe(error, wanted)}", _REMEDIES[404]
        ) from None


def _describe(error: Exception, wanted: DownloadRequest) -> str:
    """Return the innermost reason; the outer layers repeat the URL with its credentials."""
    cause: object = error.args[0] if error.args else error
    reason: object = getattr(cause, "reason", None) or cause
    return str(reason).replace(wanted.source.url, wanted.source.shown)
