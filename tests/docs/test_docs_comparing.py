"""`docs/comparing.md` says what the code does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from harness.config.arguments import normalise_flags
from harness.core.comparison import Parameters
from harness.core.errors import ExitCode
from harness.presentation.verdicts import VerdictCategory

PAGE = Path(__file__).parents[2] / "docs" / "comparing.md"
TEXT = PAGE.read_text(encoding="utf-8")
FIELDS = {"pairs": "max_pairs", "seconds": "max_seconds"}
"""Parameters whose flag is called otherwise."""


def _table(heading: str) -> list[list[str]]:
    """Rows of the first table that begins with this heading, without its head."""
    lines = TEXT.partition(f"| {heading} |")[2].splitlines()[2:]
    rows = lines[: next(number for number, line in enumerate(lines) if not line)]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize("flag", sorted(set(re.findall(r"--[a-z][\w-]+", TEXT))))
def test_every_flag_exists(flag: str, flags_of_compare: set[str]) -> None:
    assert set(normalise_flags([flag])) <= flags_of_compare


def test_the_first_block_is_a_compare_command() -> None:
    words = shlex.split(TEXT.splitlines()[2])
    assert words[:2] == ["harness", "compare"]


def test_defaults_match_the_code() -> None:
    usual = Parameters(seed=0)
    documented = {row[2].strip("`-").replace("-", "_"): row[3] for row in _table("verdict") if row[2]}
    assert set(documented) == {"alpha", "beta", "margin", "tail_margin", "pairs", "seconds"}
    for name, default in documented.items():
        value = getattr(usual, FIELDS.get(name, name))
        assert default == ("none" if value is None else f"{value:g}"), name
    assert f"at most {100 * usual.fdr:g} % (`--fdr`)" in TEXT


def test_every_mark_is_explained() -> None:
    documented = {row[0]: row[1] for row in _table("mark")}
    assert list(documented) == [category.mark for category in VerdictCategory]
    assert all(documented[category.mark].startswith(category.word) for category in VerdictCategory)


def test_every_exit_code_is_explained() -> None:
    assert [int(row[0]) for row in _table("code")] == sorted(ExitCode)


def test_links_resolve() -> None:
    for link in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (PAGE.parent / link).exists(), link
