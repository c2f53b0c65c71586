"""Programs that print the time of each token in lines of their own form."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from frameworks.observations.collector import MOST_TOKEN_LATENCIES
from frameworks.observations.converters import Parsed, parse_outputs
from frameworks.observations.token_lines import TokenLines, read_arguments
from harness.core.command import Command, Completed
from harness.core.generation import GenerationRequest
from harness.testing.frameworks import benchmark_of

PLAIN: dict[str, JsonValue] = {"token": "token <token> at <time> s", "unit": "s", "prompt_tokens": 10}
STARTED: dict[str, JsonValue] = {
    "token": "[<time>] tok <token>",
    "unit": "ms",
    "start": "[<time>] prompt: <prompt_tokens> tokens",
    "prefill": "[<time>] prefill done",
}
LOG = """loading <model>
[100.0] prompt: 20 tokens
[110.0] prefill done
[111.0] tok 7
[121.0]   tok 8
some text [999] tok
[141.0] tok 9
[200.5] prompt: 20 tokens
[210.5] prefill done
[211.5] tok 7
[221.5] tok 8
[241.5] tok 9
"""


def parse(text: str, arguments: dict[str, JsonValue], generation: GenerationRequest | None = None) -> Parsed:
    plain = benchmark_of("generic", converter="token_lines", converter_args=arguments)
    benchmark = plain.model_copy(update={"generation": generation})
    return parse_outputs([Completed(Command(("program",)), exit_code=0, stdout=text, stderr="")], benchmark)


def figures(
    text: str, arguments: dict[str, JsonValue], generation: GenerationRequest | None = None
) -> dict[str, list[float]]:
    observations, notes = parse(text, arguments, generation)
    assert notes == ()
    return {observation.name: list(observation.samples) for observation in observations}


def problem(text: str, arguments: dict[str, JsonValue]) -> str:
    observations, notes = parse(text, arguments)
    assert not any(observation.samples for observation in observations)
    assert notes
    assert notes[0].trust is False
    return notes[0].message


def test_every_figure_follows_from_the_lines_of_tokens() -> None:
    found = figures("token 5 at 0.5 s\nabc\ntoken 6 at 0.75 s\ntoken 7 at 1.25 s\n", PLAIN)
    assert found["LLM time_to_first_token"] == [0.5e9]
    assert found["LLM decode_rate"] == [2 / 0.75]
    assert found["LLM token_latency"] == [0.25e9, 0.5e9]
    assert found["llama_bench prefill_rate"] == [20.0]


def test_each_start_begins_a_generation_on_the_clock_of_the_program() -> None:
    found = figures(LOG, STARTED)
    assert found["LLM time_to_first_token"] == pytest.approx([11e6, 11e6])
    assert found["LLM prefill_rate"] == pytest.approx([2000, 2000])
    assert found["LLM decode_rate"] == pytest.approx([2 / 0.030] * 2)


def test_tokens_that_differ_from_generation_to_generation_are_noted() -> None:
    _, notes = parse(LOG[:-2] + "8\n", STARTED)
    assert [note.code for note in notes] == ["tokens_differ"]


def test_durations_add_up() -> None:
    arguments: dict[str, JsonValue] = {
        "token": "eval <time> ms",
        "unit": "ms",
        "start": "run <*> begins",
        "times": "durations",
        "prompt_tokens": 4,
    }
    found = figures(
        "run 1 begins\neval 30 ms\neval 10 ms\neval 10 ms\nrun 2 begins\neval 30 ms\neval 20 ms\n", arguments
    )
    assert found["LLM time_to_first_token"] == [30e6, 30e6]
    assert found["LLM decode_rate"] == [100.0, 50.0]


def test_the_generation_of_the_test_says_how_many_tokens_the_prompt_has() -> None:
    arguments = {key: value for key, value in PLAIN.items() if key != "prompt_tokens"}
    text = "token 5 at 1 s\ntoken 6 at 2 s\n"
    assert figures(text, arguments, generation=GenerationRequest(prompt_tokens=50))["LLM prefill_rate"] == [50.0]
    assert "how many tokens the prompt has" in problem(text, arguments)


def test_observer_lines_beside_them_are_read() -> None:
    line = 'PyTorchObserver {"type": "RUN", "metric": "load_time", "unit": "ms", "value": 3}\n'
    found = figures(f"{line}token 5 at 1 s\ntoken 6 at 2 s\n", PLAIN)
    assert found["RUN load_time"] == [3.0]


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (
            "token 1 at 2 s\ntoken 1 at 1 s\n",
            PLAIN,
            "line 2: the time of a token is before .* name the line that begins",
        ),
        ("[1] tok 1\n" + LOG.splitlines()[0], STARTED, "line 1: a token before any generation began"),
        ("[1] prompt: 3 tokens\n", STARTED, "line 1: a generation begins here, and no line of a token follows"),
        ("[9] prompt: 3 tokens\n[1] tok 1\n", STARTED, "line 1: a generation begins after its first token"),
        ("[1] prompt: 3 tokens\n[9] prefill done\n[2] tok 1\n", STARTED, "`prefill_ns` is later than the first token"),
        ("token 1 at 1e999 s\ntoken 1 at 1e999 s\n", PLAIN, "a generation"),
    ],
)
def test_lines_that_contradict_one_another_are_refused(
    text: str, arguments: dict[str, JsonValue], message: str
) -> None:
    assert re.search(message, problem(text, arguments))


def test_a_generation_that_cannot_be_read_leaves_the_others() -> None:
    text = LOG.replace("[121.0]", "[1.0]")
    observations, notes = parse(text, STARTED)
    (rates,) = [observation.samples for observation in observations if observation.name == "LLM decode_rate"]
    assert list(rates) == pytest.approx([2 / 0.030])
    assert [note.code for note in notes] == ["bad_lines"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"token": None}, "`token`: Input should be a valid string"),
        ({"token": "token"}, "`token` has no field <time>"),
        ({"token": "<time>"}, "`token` needs text beside"),
        ({"token": "a <time><token>"}, "needs text beside and between"),
        ({"token": "a <*>ms <time>"}, "leave a blank"),
        ({"token": "a <time> b <time>"}, "names a field twice"),
        ({"token": "a <time> <tokens>"}, "`token` has no field <tokens>, but"),
        ({"unit": "m"}, "`unit`"),
        ({"unit": None}, "`unit`"),
        ({"prompt_tokens": True}, "`prompt_tokens`"),
        ({"prompt_tokens": 0}, "`prompt_tokens`"),
        ({"regex": "x"}, "`regex`: Extra inputs are not permitted"),
        ({"times": "durations", "prefill": "a <time>"}, "with `times` as durations"),
        ({"start": "x" * 600}, "`start`"),
    ],
)
def test_arguments_that_mean_nothing_are_refused_in_words(change: dict[str, JsonValue], message: str) -> None:
    problem = read_arguments({**PLAIN, **change})
    assert isinstance(problem, str)
    assert message in problem.replace("\n", " ")
    _, notes = parse("token 1 at 2 s\n", {**PLAIN, **change})
    assert [note.code for note in notes] == ["converter"]
    assert "token <token> at <time>" in (notes[0].hint or "")


def test_many_tokens_are_kept_evenly() -> None:
    count = 3 * MOST_TOKEN_LATENCIES
    text = "".join(f"token 1 at {number} s\n" for number in range(1, count + 1))
    observations, notes = parse(text, PLAIN)
    kept = next(each for each in observations if each.name == "LLM token_latency")
    assert len(kept.samples) <= MOST_TOKEN_LATENCIES
    assert [note.code for note in notes] == ["thinned"]


@pytest.mark.parametrize(
    "pattern", ["<*> <time> x", "a <*> b <*> c <time>", "<time> <*> <token>!", "a <token> <time>!"]
)
@pytest.mark.parametrize(
    "piece", ["a ", "1", "a b c ", "1 a", "aaaa b b aaaa c ", "1 " * 5000 + "\n", "a" * 9999 + "\n"]
)
def test_a_hostile_line_cannot_make_the_search_slow(pattern: str, piece: str) -> None:
    arguments: dict[str, JsonValue] = {"token": pattern, "unit": "s", "prompt_tokens": 1}
    text = piece * (200_000 // len(piece))
    observations, _ = parse(f"{text}\n{text}", arguments)
    assert observations == ()


@pytest.mark.parametrize("arguments", [PLAIN, STARTED])
def test_a_program_without_a_line_of_a_token_is_a_failure_whatever_else_it_prints(
    arguments: dict[str, JsonValue],
) -> None:
    latency = 'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "ms", "value": "5"}\n'
    observations, notes = parse(f"{latency}tokn 7 at 3 s\n", arguments)
    assert [observation.name for observation in observations] == ["NET latency"]
    assert [(note.code, note.message) for note in notes] == [
        ("lost_metric", "the output: token_lines found no line of a token")
    ]


@given(st.text(max_size=300), st.sampled_from([PLAIN, STARTED]))
def test_no_text_is_an_error(text: str, arguments: dict[str, JsonValue]) -> None:
    parse(text, arguments)
    parse(LOG[:200] + text + LOG[200:], arguments)


@given(
    st.dictionaries(st.sampled_from(list(TokenLines.model_fields)), st.text(max_size=20) | st.integers() | st.none())
)
def test_no_arguments_are_an_error(arguments: dict[str, JsonValue]) -> None:
    parse("token 1 at 2 s\n", arguments)
