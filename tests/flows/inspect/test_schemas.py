"""`harness schema`."""

from __future__ import annotations

import io
import json
from typing import get_args, get_type_hints

import pytest

from harness.commands import inspecting
from harness.display.console import CleanConsole
from harness.flows.inspect import schemas
from harness.specification import schema

NAMES = [name.removesuffix(".schema.json") for name in schema.current_schema()]


def test_every_schema_can_be_printed() -> None:
    assert sorted(get_args(get_type_hints(inspecting.schema)["name"])) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_printed_is_the_schema_of_the_classes_whatever_the_width(name: str) -> None:
    stream = io.StringIO()
    assert schemas.show(name, CleanConsole(file=stream, width=40)) == 0
    assert json.loads(stream.getvalue()) == json.loads(schema.current_schema()[schema.schema_file(name)])
