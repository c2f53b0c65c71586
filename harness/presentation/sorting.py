"""Numbers behind formatted texts, by which a table is sorted."""

from __future__ import annotations

import re
from typing import Final

_FACTORS: Final = {
    "": 1.0,
    "%": 1.0,
    "×": 1.0,
    "ns": 1.0,
    "µs": 1e3,
    "ms": 1e6,
    "s": 1e9,
    "B": 1.0,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
}
_NUMBER: Final = r"[+-]?(?:\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|∞)"
_QUANTITY: Final = re.compile(rf"(?:mean |± ?|[<>] )?({_NUMBER})(?: … {_NUMBER})?\*?(?:\s*(\D.*))?")


def sort_number(text: str) -> float | None:
    """Return the number that a text of `harness.presentation.numbers` shows; None where it shows no single number.

    Times are in nanoseconds and sizes in bytes, so that `2.00 s` is more than `900 ms`. An interval counts by its lower
    end. The number has the digits of the text.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    return float(match[1].replace(",", "").replace("∞", "inf")) * _FACTORS.get(match[2] or "", 1.0)
