"""Every name in the glossary is one of the code, and every value of the spine is in it."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.docs.pages import DOCS, codes, tables

ROWS = tables("glossary.md", "glossary")[""]
NAMES = sorted({name for row in ROWS for name in codes(row[-1])})


@pytest.mark.parametrize("name", NAMES)
def test_every_glossary_name_exists_in_the_code(name: str) -> None:
    module, _, last = name.rpartition(".")
    if re.match("[A-Z]", last):
        assert isinstance(getattr(importlib.import_module(module), last), type)
    else:
        importlib.import_module(name)


def test_every_term_has_one_row() -> None:
    words = [word for row in ROWS for word in row[0].split(", ")]
    assert sorted(words) == sorted(set(words))


def test_the_spine_of_the_architecture_is_in_the_glossary() -> None:
    architecture = (DOCS / "architecture.md").read_text(encoding="utf-8")
    (spine,) = re.findall(r"^(`Comparison` → .*)$", architecture, re.MULTILINE)
    assert {name.rsplit(".", 1)[-1] for name in NAMES} >= set(codes(spine))
