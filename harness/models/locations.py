"""Locations of files: http(s) URLs and paths, and how they may be shown."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from msgspec import Struct

from harness.core.benchmark import ModelFile
from harness.models.errors import unavailable

DIRECTORY = "directory"
"""FAI-PEP's `md5` of a location that is a folder and is used where it is."""

_SCHEME = r"([A-Za-z][A-Za-z0-9+.-]*)://"
_CREDENTIALS = r"(?i)((?:^|&)[^=&]*(?:token|secret|sig|key|password|credential|auth)[^=&]*=)[^&]*"
_NO_PATH = "[\0\ud800-\udfff]"
"""Characters that no file system takes: NUL and lone surrogates, which JSON can hold."""
_SUPPORTED = "a location is an http(s) URL, a file:// URL or a path"


class Download(Struct, frozen=True):
    """A file behind a URL.

    Attributes:
        url: With everything that it takes to get it, credentials too: never shown.
        shown: The same without credentials.
    """

    url: str
    shown: str


class LocalPath(Struct, frozen=True):
    """A file of this host, or of a file system mounted here.

    Attributes:
        path: Absolute.
    """

    path: Path

    @property
    def shown(self) -> str:
        """Text for messages."""
        return str(self.path)


FileLocation = Download | LocalPath


def parse_location(file: ModelFile) -> FileLocation:
    """Understand the location of a file.

    Raises:
        FileUnavailable: There is none, or it is of no kind that is known.
    """
    location = file.location
    if not location:
        raise unavailable(file, "it has neither a location nor an export", _SUPPORTED)
    scheme = re.match(_SCHEME, location)
    kind = scheme.group(1).lower() if scheme else ""
    if kind in {"http", "https"}:
        return Download(location, _without_credentials(file, location))
    if kind == "file":
        host, slash, path = location[len("file://") :].partition("/")
        if host not in {"", "localhost"}:
            raise unavailable(file, f"{location} names another host", _SUPPORTED)
        return LocalPath(_absolute(file, slash + unquote(path)))
    if kind:
        raise unavailable(file, f"{kind}:// locations are not supported", _SUPPORTED)
    return LocalPath(_absolute(file, location))


def _absolute(file: ModelFile, text: str) -> Path:
    path = Path(text)
    if re.search(_NO_PATH, text) or not path.is_absolute():
        raise unavailable(file, f"{text!r} is not an absolute path", _SUPPORTED)
    return path


def _without_credentials(file: ModelFile, url: str) -> str:
    """Drop `user:password@` and the values of parameters such as `token=` or `X-Amz-Signature=`."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise unavailable(file, f"its location is not a URL: {error}") from error
    host = parts.netloc.rpartition("@")[2]
    query = re.sub(_CREDENTIALS, r"\1***", parts.query)
    return urlunsplit(parts._replace(netloc=host, query=query))
