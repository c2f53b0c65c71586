"""Files that reports do not replace."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.errors import UsageError
from harness.files.replacing import reject_specification


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mine.json", '{"model": {"name": "m"}, "tests": []}'),
        ("all.json", '{"benchmarks": ["a.json"]}'),
        ("unfinished.json", '{"model": {"name": "m"}, "tests": [}'),
        ("mine.yaml", "model:\n  name: m\ntests:\n  - metric: delay\n"),
        ("MINE.JSON", '{"tests": []}'),
    ],
)
def test_a_specification_is_not_replaced(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(UsageError, match="is a specification, and is not replaced"):
        reject_specification(file)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("table.json", '{"schema_version": "1.0", "rows": [{"tests": 1}]}'),
        ("list.json", '["tests"]'),
        ("page.html", '{"tests": []}'),
        ("notes.yml", "a: 1\n  tests: 2\n"),
        ("empty.json", ""),
    ],
)
def test_everything_else_is_replaced(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text)
    reject_specification(file)


def test_what_is_not_there_or_no_file_is_no_specification(tmp_path: Path) -> None:
    reject_specification(tmp_path / "new.json")
    (tmp_path / "folder.json").mkdir()
    reject_specification(tmp_path / "folder.json")
