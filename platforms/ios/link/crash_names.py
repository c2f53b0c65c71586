"""Names of crash reports on an iPhone."""

from __future__ import annotations

import re
from typing import Final

_DATE: Final = re.compile(r"[-_.]\d{4}-\d{2}-\d{2}")


def process_of(name: str) -> str:
    """Return the process that a crash report is named after: `Runner-2026-11-23-101500.ips` is of `Runner`."""
    file_name = name.rpartition("/")[2]
    date = _DATE.search(file_name)
    return file_name[: date.start()] if date else file_name.partition(".")[0]
