"""The style sheet and the templates that all pages share."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import reporters.document

TEMPLATES = Path(reporters.document.__file__).parent / "templates"
TEXTS = ("ink", "soft", "regression", "improvement", "undecided", "no-change", "failed", "skipped", "mean")
READABLE = 4.5
"""Contrast of normal text (WCAG 2.2, success criterion 1.4.3)."""


def _schemes() -> dict[str, dict[str, str]]:
    """Return the colours of each scheme: those on bright screens, on dark ones, and on paper."""
    blocks = re.findall(r":root \{(.*?)\}", (TEMPLATES / "colours.css").read_text(), flags=re.DOTALL)
    colours = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]+);", block)) for block in blocks]
    bright, dark, paper = (colours[0] | each for each in colours)
    return {"bright": bright, "dark": dark, "paper": paper}


def _luminance(colour: str) -> float:
    digits = colour.removeprefix("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(first: str, second: str) -> float:
    bright, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["bright", "dark", "paper"])
def test_texts_can_be_read_on_every_ground(scheme: str) -> None:
    colours = _schemes()[scheme]
    contrasts = {
        (text, ground): _contrast(colours[text], colours[ground]) for text in TEXTS for ground in ("paper", "card")
    }
    assert {pair: value for pair, value in contrasts.items() if value < READABLE} == {}


def test_every_colour_of_the_style_sheet_is_defined() -> None:
    style = "".join(file.read_text() for file in TEMPLATES.glob("*.css"))
    assert set(re.findall(r"var\(--([a-z-]+)\)", style)) <= set(re.findall(r"--([a-z-]+):", style))


def test_nothing_is_loaded_from_elsewhere() -> None:
    for file in TEMPLATES.iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|url\(|@import|<link|src=", text), file.name


def test_templates_are_imported_only_where_a_page_is_written() -> None:
    code = (
        "import sys, reporters.html, reporters.alarms.folder, reporters.markdown;"
        "assert 'jinja2' not in sys.modules;"
        "from reporters.document.rendering import load_environment; load_environment('reporters.html');"
        "assert 'jinja2' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
