"""Probes: asked for by a key, by FAI-PEP's profiler, or by the command line."""

from __future__ import annotations

from typing import Any

import pytest

from harness.core.probe import ProbeRequest
from harness.specification.load_options import LoadOptions
from tests.specification.conftest import Expand


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ()),
        ({"probes": ["perf-stat"]}, (ProbeRequest(name="perf-stat"),)),
        (
            {"probes": [{"name": "perf-record", "options": {"frequency": 99}, "types": ["cpu"]}]},
            (ProbeRequest(name="perf-record", options={"frequency": 99}, types=("cpu",)),),
        ),
        ({"profiler": {"enabled": False, "profiler": "simpleperf"}}, ()),
        ({"profiler": False}, ()),
        ({"profiler": True}, (ProbeRequest(),)),
        (
            {"profiler": {"enabled": True, "profiler": "simpleperf", "types": ["cpu"], "stat": True}},
            (ProbeRequest(name="simpleperf", types=("cpu",), stat=True),),
        ),
    ],
)
def test_probes_are_requested(expand: Expand, fields: dict[str, Any], expected: tuple[ProbeRequest, ...]) -> None:
    (benchmark,) = expand({}, fields)
    assert benchmark.probes == expected


def test_probes_change_no_digest(expand: Expand) -> None:
    plain, probed = (expand({}, fields)[0].digest for fields in ({}, {"probes": ["perf-stat"]}))
    assert plain == probed


def test_those_of_the_command_line_are_added_and_win(expand: Expand) -> None:
    given = ProbeRequest(name="perf-stat", options={"pairs": "9"})
    options = LoadOptions(probes=(given,))
    (benchmark,) = expand({}, {"probes": ["perf-record", "perf-stat"]}, options=options)
    assert [request.name for request in benchmark.probes] == ["perf-record", "perf-stat"]
    assert benchmark.probes[1] == given
