"""Launches of a comparison of generations: how many, what is compared of them, and in what memory."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.analysis.compare.statistics import launch_statistics
from harness.core.app import App
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.generation import GenerationRequest
from harness.core.measurement import Job
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Session
from harness.core.result import Launch, Outcome
from harness.core.scenario import Arrival, Pattern
from harness.running.compared_metric import ComparedMetric
from harness.running.huge_pages import VARIABLE, note_huge_pages, request_huge_pages
from harness.running.interleaving import SequentialLaunches
from harness.running.launcher import Launcher
from harness.running.pairs import PairedLaunches
from harness.running.tuning import prompts_before, shorten_first_launch, tune
from tests.running.players import Players, benchmark, player

EVERY_SECOND = Arrival(pattern=Pattern.PERIODIC, interval_s=1)


def generating(**fields: object) -> Benchmark:
    return benchmark(generation=GenerationRequest(prompt_tokens=100, new_tokens=3), **fields)


def observed(*generations_ms: tuple[float, ...]) -> tuple[Observation, ...]:
    """Return what a launch reports of generations, given as the times of their tokens."""
    return tuple(
        Observation(type="LLM", metric=metric, unit=unit, samples=tuple(samples))
        for metric, unit, samples in (
            ("decode_rate", "tokens/s", [1000 * (len(ms) - 1) / (ms[-1] - ms[0]) for ms in generations_ms]),
            ("time_to_first_token", "ms", [ms[0] for ms in generations_ms]),
            ("prefill_rate", "tokens/s", [100_000 / ms[0] for ms in generations_ms]),
            (
                "token_latency",
                "ms",
                [later - ms[index] for ms in generations_ms for index, later in enumerate(ms[1:])],
            ),
            ("generation_time", "ms", [ms[-1] for ms in generations_ms]),
        )
    )


def tuned(wall_s: float, *generations_ms: tuple[float, ...], **fields: object) -> tuple[int, int]:
    observations = observed(*generations_ms)
    launch = Launch(index=0, outcome=Outcome.OK, started=0.0, wall_s=wall_s, cpu_s=1.0)
    given = generating(warmup=1, iterations=5).model_copy(update=fields)
    made = tune(launch, observations, observations[0], given)
    return made.iterations, made.warmup


SLOW = (100.0, 500.0, 901.0)


@pytest.mark.parametrize(
    ("wall_s", "iterations"),
    [
        pytest.param(1.9, 1, id="a launch costs a tenth of a generation"),
        pytest.param(3.7, 4, id="as much as two"),
        pytest.param(21.8, 14, id="much more"),
        pytest.param(1.0, 1, id="less than nothing"),
    ],
)
def test_a_launch_has_as_many_generations_as_it_is_worth(wall_s: float, iterations: int) -> None:
    assert tuned(wall_s, SLOW, SLOW) == (iterations, 0)


def test_a_program_warms_up_where_its_first_token_is_late() -> None:
    assert tuned(1.9, (124.0, 500.0, 901.0), SLOW)[1] == 0
    assert tuned(1.9, (126.0, 500.0, 901.0), SLOW)[1] == 1


def test_a_single_generation_shows_nothing_of_later_ones() -> None:
    assert tuned(1.0, SLOW)[1] == 1


def test_filling_the_context_is_no_cost_of_a_launch() -> None:
    deep = GenerationRequest(prompt_tokens=100, new_tokens=3, depth=1000)
    assert tuned(1.8 + 2.0, SLOW, SLOW, generation=deep) == (1, 0)


def test_pauses_between_generations_are_no_cost_of_a_launch() -> None:
    assert tuned(2.1, SLOW, SLOW, arrival=EVERY_SECOND) == (1, 0)


@pytest.mark.parametrize(
    ("times_ms", "depth", "operators", "prompts"),
    [
        pytest.param((100.0, 500.0, 901.0), 0, False, 3, id="a short prompt"),
        pytest.param((190.0, 500.0, 901.0), 0, False, 2, id="a longer one"),
        pytest.param((500.0, 700.0, 901.0), 0, False, 0, id="a long one is the better part already"),
        pytest.param((100.0, 500.0, 901.0), 1000, False, 0, id="the context is filled before each"),
        pytest.param((100.0, 500.0, 901.0), 0, True, 0, id="their operators would be counted"),
        pytest.param((100.0, 101.0), 0, False, 0, id="hardly anything follows"),
    ],
)
def test_a_prompt_is_processed_again_where_that_costs_less_than_the_tokens(
    times_ms: tuple[float, ...], *, depth: int, operators: bool, prompts: int
) -> None:
    request = GenerationRequest(prompt_tokens=100, new_tokens=3, depth=depth)
    given = benchmark(generation=request, operators=operators)
    observations = observed(times_ms)
    assert prompts_before(observations, given) == prompts
    assert prompts_before([each for each in observations if each.metric != "time_to_first_token"], given) == 0


def test_a_first_launch_generates_twice() -> None:
    first = shorten_first_launch(generating(warmup=1, iterations=5, min_iterations=3))
    assert (first.warmup, first.iterations, first.min_iterations) == (0, 2, 2)
    assert shorten_first_launch(generating()).iterations == 2
    assert shorten_first_launch(generating(iterations=1)).iterations == 1


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(benchmark(warmup=1, iterations=5), id="generates nothing"),
        pytest.param(generating(warmup=1, iterations=5, commands=("program",)), id="commands of its own"),
    ],
)
def test_other_first_launches_are_as_the_specification_has_them(given: Benchmark) -> None:
    assert shorten_first_launch(given) == given


class Generating(Players):
    """Framework whose launches generate, and which records what was asked for."""

    def __init__(self, journal: Path) -> None:
        super().__init__(journal)
        self.requested: list[tuple[int, int]] = []

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        self.requested.append((benchmark.warmup, benchmark.iterations))
        return Command(("true",))

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        return observed((100_000.0, 500_000.0, 901_000.0), (100_000.0, 500_000.0, 901_000.0)), ()


def test_pairs_are_of_single_generations_in_huge_pages(session: Session, tmp_path: Path) -> None:
    framework = Generating(tmp_path / "journal")
    job = Job(generating(warmup=1, iterations=5), player("good"))
    launchers = [Launcher(job, session, framework, tmp_path, time.time) for _ in range(2)]
    pairs = PairedLaunches(*launchers, seed=1, key="k", statistics=launch_statistics, interleaving=SequentialLaunches())
    pairs.begin()
    measured = pairs.measure_pair().pair
    assert measured is not None
    assert framework.requested == [(0, 2), (0, 2), (0, 1), (0, 1)]
    commands = [launcher.prepare(job.benchmark).commands[0] for launcher in launchers]
    assert [VARIABLE in command.env for command in commands] == [VARIABLE not in os.environ] * 2


def test_others_get_the_pages_that_they_get(session: Session, tmp_path: Path) -> None:
    launchers = [
        Launcher(Job(benchmark(), player("good")), session, Players(tmp_path / "journal"), tmp_path, time.time)
        for _ in range(2)
    ]
    PairedLaunches(*launchers, seed=1, key="k", statistics=launch_statistics, interleaving=SequentialLaunches())
    commands = [launcher.prepare(launcher.job.benchmark).commands[0] for launcher in launchers]
    assert not any(VARIABLE in command.env for command in commands)


def test_who_sets_the_variable_keeps_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    plain, own, app = Command(("true",)), Command(("true",), env={VARIABLE: "x"}), Command((), app=App(package="a.b"))
    assert request_huge_pages((plain,))[0].env == {VARIABLE: "glibc.malloc.hugetlb=1"}
    assert request_huge_pages((own, app)) == (own, app)
    here = Device(platform="host", identity="a", name="a", os="Debian GNU/Linux 12")
    (note,) = note_huge_pages(generating(), here)
    assert "both sides asked for huge pages" in note.message
    assert note_huge_pages(generating(env={VARIABLE: "x"}), here) == ()
    assert note_huge_pages(generating(), here.model_copy(update={"os": "Android 14"})) == ()
    monkeypatch.setenv(VARIABLE, "glibc.malloc.check=1")
    assert request_huge_pages((plain,)) == (plain,)
    assert note_huge_pages(generating(), here) == ()


RATE = ComparedMetric("LLM decode_rate", "tokens/s")


def chosen(*launches: Sequence[Observation]) -> ComparedMetric:
    return RATE.choose_figures(launches)


def test_a_decode_rate_is_compared_token_by_token() -> None:
    generations = observed((1.0, 3.0, 7.0), (2.0, 3.0, 11.0))
    assert chosen(generations, generations).values(generations) == pytest.approx((500, 250, 1000, 125))


@pytest.mark.parametrize(
    "times_ms",
    [
        pytest.param((1.0, 3.0, 5.0, 7.0, 9.0, 12.0), id="whole milliseconds"),
        pytest.param((1.0, 1.0, 4.0, 9.0), id="two tokens at once"),
    ],
)
def test_the_rate_of_a_generation_is_compared_where_a_side_cannot_tell_tokens_apart(
    times_ms: tuple[float, ...],
) -> None:
    fine, coarse = observed((1.0, 3.0, 7.0)), observed(times_ms)
    for metric in (chosen(coarse, coarse), chosen(fine, coarse), chosen(coarse, fine)):
        assert metric.values(coarse) == coarse[0].samples
        assert metric.values(fine) == fine[0].samples


def test_every_launch_of_a_comparison_means_the_same() -> None:
    """A launch whose tokens happen to take equal times is compared by them too, not by another figure."""
    fine, equal = observed((1.0, 3.0, 7.0)), observed((1.0, 3.0, 5.0, 7.0))
    metric = chosen(fine, fine)
    assert metric.values(equal) == pytest.approx((500, 500, 500))
    assert metric.values(equal[:1]) is None
    assert metric.explain_missing(equal[:1]) == "it reported no times of single tokens, as the first launches did"


def test_a_rate_without_times_of_tokens_is_compared_as_it_is() -> None:
    plain = observed((1.0, 3.0))[:1]
    assert chosen(plain, plain).values(plain) == (500.0,)
