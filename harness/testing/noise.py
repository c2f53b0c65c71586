"""What programs write beside what they measured, and what becomes of text on its way."""

from __future__ import annotations

import random
import re
from typing import Final

NOISE: Final = (
    "",
    " \t ",
    "warning: something else",
    "\x00\x01\x1b[31mred\x1b[0m\x7f",
    "\ufffd\u2028\x85 odd ends of lines",
    "{",
    "}",
    "{}",
    "[1, 2",
    '{"type": "NET"',
    "[" * 5_000,
    '{"a":' * 5_000,
    "PyTorchObserver",
    "PyTorchObserver {",
    "PyTorchObserver {}",
    "PyTorchObserver null",
    'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "NaN"}',
    'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "1e999"}',
    'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "fast"}',
    'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": ' + "9" * 5_000 + "}",
    'PyTorchObserver {"type": [], "metric": {}, "unit": 3, "value": null}',
    'PyTorchObserver {"type": "\\ud800", "metric": "text", "unit": "", "info_string": "\\udfff"}',
    "nan inf -inf 1e999 " + "9" * 5_000,
    "x" * 100_000,
    "% %s %n {0} {x} \\ ' \" ` $HOME",
)
"""Lines that say nothing about the model, and that programs, loggers and crashes print all the same."""

_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_INSTEAD: Final = (
    "",
    "-",
    ".",
    ",",
    ":",
    "\n",
    "\0",
    "nan",
    "inf",
    "1e999",
    "9" * 400,
    " ",
    '"',
    "{",
    "}",
    "[]",
    "\ufffd",
)


def distorted(text: str) -> tuple[str, ...]:
    """The text with another thing in the place of every number: too large, too small, missing, no number at all."""
    return tuple(_NUMBER.sub(instead, text) for instead in ("9" * 400, "1e-999", "-1", "", "nan", "1.2.3"))


def damaged(text: str, chance: random.Random) -> str:
    """The text after up to three accidents: cut, repeated, mixed with something else, a few letters changed."""
    for _ in range(chance.randint(1, 3)):
        first, second = sorted(chance.randint(0, len(text)) for _ in range(2))
        last = min(second, first + chance.choice((1, 3, 20, len(text))))
        text = chance.choice(
            (
                text[:first],
                text[first:],
                text[:first] + text[last:],
                text[:last] + text[first:],
                text[:first] + chance.choice(NOISE) + text[first:],
                text[:first] + chance.choice(_INSTEAD) + text[last:],
            )
        )
    return text
