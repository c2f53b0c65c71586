"""Figures of generations, from the time stamps of their tokens."""

from __future__ import annotations

import json

import pytest

from frameworks.observations.collector import MOST_TOKEN_LATENCIES
from frameworks.observations.observer import parse_lines
from frameworks.observations.token_streams import compute_figures
from harness.analysis.summary import collect
from harness.core.generation import TokenStream
from harness.core.metric import DECODE_RATE, Direction, Observation, main_metric

STREAM = {"prompt_tokens": 100, "prefill_ns": 20_000_000, "token_times_ns": [25_000_000, 35_000_000, 55_000_000]}


def line(**changes: object) -> str:
    return f"PyTorchObserver {json.dumps({'generation': {**STREAM, **changes}})}\n"


def observed(text: str) -> dict[str, Observation]:
    observations, notes = parse_lines(text)
    assert not notes, notes
    return {observation.name: observation for observation in observations}


def problem(text: str) -> str:
    observations, (note,) = parse_lines(text)
    assert not observations
    assert note.code == "bad_lines"
    assert note.trust is False
    return note.message


def test_every_definition_follows_from_the_stamps() -> None:
    figures = {name: observation.samples for name, observation in observed(line()).items()}
    assert figures == {
        "LLM decode_rate": (2 / 0.030,),
        "LLM time_to_first_token": (25e6,),
        "LLM prefill_rate": (100 / 0.020,),
        "LLM token_latency": (10e6, 20e6),
        "LLM generation_time": (55e6,),
        "llama_bench prefill_rate": (100 / 0.020,),
        "llama_bench decode_rate": (2 / 0.030,),
        "llama_bench prompt_and_decode_rate": (pytest.approx(103 / 0.055),),
        "mlperf_client time_to_first_token": (25e6,),
        "mlperf_client decode_rate": (2 / 0.030,),
        "executorch_stats prompt_rate": (100 / 0.025,),
        "executorch_stats decode_rate": (2 / 0.030,),
        "executorch_stats inference_rate": (pytest.approx(2 / 0.055),),
    }


def test_earlier_prompts_are_samples_of_our_own_definitions_alone() -> None:
    changes = {"earlier_prefills_ns": [10e6, 40e6], "earlier_first_tokens_ns": [12e6, 50e6]}
    figures = {name: observation.samples for name, observation in observed(line(**changes)).items()}
    assert figures.pop("LLM time_to_first_token") == (12e6, 50e6, 25e6)
    assert figures.pop("LLM prefill_rate") == (100 / 0.010, 100 / 0.040, 100 / 0.020)
    without = {name: observation.samples for name, observation in observed(line()).items()}
    assert figures == {name: without[name] for name in figures}


def test_times_may_have_another_unit() -> None:
    text = 'PyTorchObserver {"generation": {"prompt_tokens": 4, "unit": "ms", "prefill": 2, "token_times": [2.5, 3.5]}}'
    observations = observed(text)
    assert observations["LLM time_to_first_token"].samples == (2.5e6,)
    assert observations["LLM prefill_rate"].samples == (2000.0,)


@pytest.mark.parametrize("first", [True, False])
def test_statistics_beside_time_stamps_add_no_sample_to_the_time_to_the_first_token(first: bool) -> None:
    statistics = 'PyTorchObserver {"prompt_tokens": 4, "inference_start_ms": 10, "first_token_ms": 28}\n'
    stamps = line(token_times_ns=[25_000_000, 30_000_000])
    observations = observed(statistics + stamps if first else stamps + statistics)
    assert observations["LLM time_to_first_token"].samples == (25e6,)
    assert observations["executorch_stats time_to_first_token"].samples == (18.0,)


def test_a_generation_of_one_token_has_no_rate_of_decoding() -> None:
    names = observed(line(token_times_ns=[25_000_000])).keys()
    assert "LLM time_to_first_token" in names
    assert not {name for name in names if name.endswith(("decode_rate", "token_latency", "inference_rate"))} - {
        "llama_bench prompt_and_decode_rate"
    }


def test_no_rate_is_told_of_times_within_one_tick() -> None:
    assert {figures.metric for figures in compute_figures(TokenStream(prompt_tokens=1, token_times_ns=(0, 0)))} == {
        "time_to_first_token",
        "token_latency",
        "generation_time",
    }


def test_a_generation_is_about_its_decode_rate() -> None:
    load = 'PyTorchObserver {"type": "RUN", "metric": "load_time", "unit": "ns", "value": "5"}\n'
    observations, _ = parse_lines(load + line() + line())
    metrics, _ = collect([observations])
    main = main_metric(metrics)
    assert main is not None
    assert (main.name, main.unit, main.direction) == (DECODE_RATE, "tokens/s", Direction.HIGHER)
    assert len(main.samples) == 2
    directions = {metric.name: metric.direction for metric in metrics}
    assert directions["LLM time_to_first_token"] is Direction.LOWER
    assert directions["LLM token_latency"] is Direction.LOWER
    latencies = next(metric for metric in metrics if metric.name == "LLM token_latency")
    assert latencies.summary["p99"] == pytest.approx(20e6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"token_times_ns": []}, "token_times_ns"),
        ({"token_times_ns": [2.6e7, 2.5e7]}, "go backwards"),
        ({"token_times_ns": [1.0, 2.0]}, "later than the first token"),
        ({"token_times_ns": ["soon"]}, "not a number"),
        ({"token_times_ns": {"a": 1}}, "not a number"),
        ({"prompt_tokens": 0}, "prompt_tokens"),
        ({"prompt_tokens": "many"}, "not a whole number"),
        ({"prompt_tokens": True}, "not a whole number"),
        ({"depth": -1}, "depth"),
        ({"tokens": "abc"}, "not a list"),
        ({"tokens": [1, 2, 3, 4]}, "more `tokens`"),
        ({"prefill_ns": -1}, "prefill_ns"),
    ],
)
def test_a_stream_that_cannot_be_is_refused_in_words(changes: dict[str, object], words: str) -> None:
    assert words in problem(line(**changes))


@pytest.mark.parametrize(
    "value", ["null", "[]", '"x"', "NaN", '{"unit": "km", "token_times": [1], "prompt_tokens": 1}']
)
def test_what_is_no_stream_is_refused_in_words(value: str) -> None:
    assert problem(f'PyTorchObserver {{"generation": {value}}}')


def test_generations_with_other_tokens_are_not_trusted() -> None:
    _, notes = parse_lines(line(tokens=[5, 7, 9]) + line(tokens=[5, 8, 9]) + line(tokens=[6, 6, 6]))
    (note,) = notes
    assert (note.code, note.trust) == ("tokens_differ", False)
    assert "one has 8 instead of 7 as token 2" in note.message


def test_tokens_become_a_text_that_differs_for_other_tokens() -> None:
    assert observed(line(tokens=[5, 7, 9]))["LLM tokens"].info == "5 7 9"
    many = {"token_times_ns": [2e7 + i for i in range(100)]}
    texts = [observed(line(**many, tokens=[*range(99), last]))["LLM tokens"].info for last in (1, 2)]
    assert texts[0] != texts[1]


def test_samples_of_long_streams_are_kept_evenly_and_bounded() -> None:
    count = 2 * MOST_TOKEN_LATENCIES + 2
    times = [20_000_000 + 1000 * i for i in range(count)]
    observations, (note,) = parse_lines(line(token_times_ns=times))
    latencies = next(observation for observation in observations if observation.name == "LLM token_latency")
    assert MOST_TOKEN_LATENCIES / 2 < len(latencies.samples) <= MOST_TOKEN_LATENCIES
    assert note.code == "thinned"
