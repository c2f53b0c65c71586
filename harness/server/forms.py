"""Forms of pages: their fields, and whether a page of ours sent them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from harness.server.answers import RequestRefused
from harness.server.limiting import stream_body

_BYTES: Final = 1 << 16
_FIELDS: Final = 20
_TYPE: Final = "application/x-www-form-urlencoded"


async def read_form(request: Request, limit_s: float) -> Mapping[str, str]:
    """Return the fields of a form; the first of each name.

    Raises:
        RequestRefused: It is none, too large or too slow.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _TYPE:
        raise RequestRefused(415, f"a form is sent as {_TYPE}")
    body = b"".join([part async for part in stream_body(request, _BYTES, limit_s)])
    try:
        fields = parse_qsl(body.decode("latin-1"), keep_blank_values=True, max_num_fields=_FIELDS, errors="replace")
    except ValueError as error:
        raise RequestRefused(422, "the form has too many fields") from error
    form: dict[str, str] = {}
    for name, value in fields:
        form.setdefault(name, value)
    return form
