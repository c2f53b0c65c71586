"""The command that searches once more."""

from __future__ import annotations

import shlex
from pathlib import Path

from harness.config.settings import Settings
from harness.core.comparison import Interleave
from harness.flows.bisect.bisect import format_command
from harness.flows.compare.requests import CompareRequest
from harness.flows.measure.workload import BenchmarkSelection
from platforms.host.platform import Host

ENDS = ("git:/repo", "a" * 40, "b" * 40)


def test_a_search_is_named_with_its_ends_its_device_and_what_was_asked_for(tmp_path: Path) -> None:
    settings = Settings(benchmark_file=(Path("/a b.json"),), only=("m/t",))
    request = CompareRequest(
        recipes=(Path("/recipes"),), metrics=("NET latency",), parameters={"max_pairs": 400, "seed": 5}
    )
    line = format_command(request, settings, Host(tmp_path), BenchmarkSelection("m/t [1]", "vm"), ENDS)
    assert shlex.split(line) == [
        *("harness", "bisect", "-b", "/a b.json", "--source", "git:/repo", "--good", "a" * 40, "--bad", "b" * 40),
        *("--benchmark", "m/t [[]1]", "--frameworks-dir", "/recipes", "--metric", "NET latency"),
        *("--pairs", "400", "--seed", "5", "--devices", "vm"),
    ]


def test_what_was_not_asked_for_is_left_out(tmp_path: Path) -> None:
    settings = Settings(benchmark_file=(Path("/m.json"),))
    line = format_command(
        CompareRequest(interleave=Interleave.DUET), settings, Host(tmp_path), BenchmarkSelection("m/t"), ENDS
    )
    assert line.endswith("--benchmark m/t --interleave duet")
