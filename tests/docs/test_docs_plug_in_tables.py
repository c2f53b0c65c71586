"""The tables of the page about plug-ins say what the classes say."""

from __future__ import annotations

import re
from itertools import chain

from harness.plugins import _GROUPS, _OPTIONS
from tests.docs.pages import codes, tables
from tests.docs.plug_ins_page import PAGE, VALUES, capabilities, current, described

TEXT = PAGE.read_text(encoding="utf-8")


def test_every_value_that_protocols_exchange_has_a_table_of_its_fields() -> None:
    assert described(TEXT) == list(VALUES)
    assert current(TEXT) == TEXT, "run python -m tests.docs.plug_ins_page"


def test_every_capability_is_listed_with_its_members() -> None:
    (rows,) = tables(PAGE.name, "capabilities").values()
    listed = {name: set(codes(row[2])) for row in rows for name in codes(row[0])}
    assert listed == capabilities()
    assert all(row[1] and row[3] for row in rows)


def test_every_group_of_entry_points_is_named() -> None:
    assert set(re.findall(r"edge_harness\.\w+", TEXT)) >= {*chain.from_iterable(_GROUPS.values()), _OPTIONS}
