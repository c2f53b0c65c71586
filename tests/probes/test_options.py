"""Options of probes, as specifications and command lines give them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from harness.core.errors import UsageError
from harness.core.probe import ProbeRequest
from harness.probes.options import ProbeOptions, check_types, read_probe


def test_a_command_line_names_a_probe_with_options() -> None:
    assert read_probe("perf-record:frequency=999,call_graph=fp") == ProbeRequest(
        name="perf-record", options={"frequency": "999", "call_graph": "fp"}
    )
    assert read_probe("perf-stat") == ProbeRequest(name="perf-stat")


@pytest.mark.parametrize("text", ["", ":a=1", "p:a", "p:=1", "p:a=", "p:a=1,"])
def test_half_an_option_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_probe(text)


def test_values_are_read_by_their_kind() -> None:
    options = ProbeOptions("p", {"n": "12", "c": "fp", "t": "cycles", "w": "a+b"})
    assert options.number("n", 1, 1, 99) == 12
    assert options.choice("c", "dwarf", ("dwarf", "fp")) == "fp"
    assert options.text("t") == "cycles"
    assert options.words("w", ()) == ("a", "b")
    options.finish()


@pytest.mark.parametrize(
    ("name", "value"),
    [("n", 0), ("n", 100), ("n", "1e1"), ("n", True), ("n", None), ("c", "lbr"), ("t", "a\nb"), ("w", []), ("w", [1])],
)
def test_other_values_are_refused_by_name(name: str, value: JsonValue) -> None:
    options = ProbeOptions("p", {name: [] if value is None else value})
    reads: dict[str, Callable[[], object]] = {
        "n": lambda: options.number("n", 1, 1, 99),
        "c": lambda: options.choice("c", "dwarf", ("dwarf", "fp")),
        "t": lambda: options.text("t"),
        "w": lambda: options.words("w", ()),
    }
    with pytest.raises(UsageError, match=f"option `{name}` of the probe p"):
        reads[name]()


def test_options_that_nobody_read_are_refused_with_a_suggestion() -> None:
    options = ProbeOptions("p", {"frequenzy": 1})
    options.number("frequency", 1, 1, 9)
    with pytest.raises(UsageError) as caught:
        options.finish()
    assert caught.value.hint == "did you mean `frequency`?"


def test_types_that_a_probe_does_not_observe_are_refused() -> None:
    with pytest.raises(UsageError, match="does not observe 'gpu'"):
        check_types(ProbeRequest(name="p", types=("gpu",)), "p", ("cpu",))
