"""The page about a real search: its specification is valid, and its figures are those of the printed output."""

from __future__ import annotations

import re
from pathlib import Path

from harness.specification.load import load
from tests.docs.pages import DOCS, ROOT, blocks

PAGE = "a-real-search.md"

_ROW = re.compile(r"^\| ([0-9a-f]{8})[^|]*\|(.*)\|$", re.MULTILINE)
_PRINTED = re.compile(r"^([0-9a-f]{12})  ([-+][\d.]+)%  ", re.MULTILINE)


def rows(path: Path) -> dict[str, list[str]]:
    """The rows of the tables of a page that begin with a commit: its other cells."""
    lines = _ROW.findall(path.read_text(encoding="utf-8"))
    return {commit: [cell.strip() for cell in cells.split("|")] for commit, cells in lines}


def test_its_specification_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "lz4.json"
    file.write_text(blocks(PAGE, "json")[0].text)
    (benchmark,) = load([file]).benchmarks
    assert benchmark.title == "lz4/decompress"


def test_its_table_has_the_printed_figures() -> None:
    printed = {commit[:8]: f"{figure} %" for commit, figure in _PRINTED.findall((DOCS / PAGE).read_text("utf-8"))}
    assert len(printed) == 5
    figures = {commit: cells[2] for commit, cells in rows(DOCS / PAGE).items()}
    assert {commit: figure for commit, figure in figures.items() if "%" in figure} == printed


def test_the_readme_has_the_figures_of_the_page() -> None:
    page = rows(DOCS / PAGE)
    readme = rows(ROOT / "README.md")
    assert len(readme) == 5
    for commit, (printed, cpu_time, instructions) in readme.items():
        assert page[commit][:3] == [instructions, cpu_time, printed]
