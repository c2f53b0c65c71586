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


def test_a_budget_is_named_though_it_is_the_usual_one_of_a_comparison(tmp_path: Path) -> None:
    settings, request = Settings(benchmark_file=(Path("/m.json"),)), CompareRequest(parameters={"max_pairs": 100})
    line = format_command(request, settings, Host(tmp_path), BenchmarkSelection("m/t", "my phone"), ENDS)
    assert shlex.split(line)[-4:] == ["--pairs", "100", "--devices", '{"hash": "my phone"}']


def test_a_search_on_a_class_of_a_lab_names_the_class(tmp_path: Path) -> None:
    settings = Settings(benchmark_file=(Path("/m.json"),), lab="lab", device_class=("pixel",))
    line = format_command(CompareRequest(), settings, Host(tmp_path), BenchmarkSelection("m/t", "class-of-it"), ENDS)
    assert "--lab lab --device-class pixel" in line
    assert "--devices" not in line


def test_what_was_not_asked_for_is_left_out(tmp_path: Path) -> None:
    settings = Settings(benchmark_file=(Path("/m.json"),))
    line = format_command(
        CompareRequest(interleave=Interleave.DUET), settings, Host(tmp_path), BenchmarkSelection("m/t"), ENDS
    )
    assert line.endswith("--benchmark m/t --interleave duet")
