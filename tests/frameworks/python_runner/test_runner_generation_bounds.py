"""Generations of a made-up language model: what is kept of many, and of a long one."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from frameworks.python_runner import generation
from frameworks.python_runner.arguments import parse_arguments
from frameworks.python_runner.clocks import Clocks
from frameworks.python_runner.generation import Generation
from frameworks.python_runner.made_up import DEPTH_TOKENS, PROMPT_TOKENS, make_up_tokens


class Counting:
    """Its next token is the number of tokens processed so far."""

    vocabulary = 1 << 40
    context: int | None = None
    most = 4
    gives_each_row = True

    def __init__(self) -> None:
        self.positions: list[tuple[int, int]] = []
        self.total = 0

    def execute(self, tokens: Sequence[int], position: int) -> None:
        self.positions.append((position, len(tokens)))
        self.total += len(tokens)

    def choose_likeliest(self) -> int:
        return self.total

    def log_probabilities(self, tokens: Sequence[int]) -> Sequence[float]:
        return [-1.0] * len(tokens)


def generation_of(model: Counting, *words: str) -> Generation:
    return Generation(model, parse_arguments(["--model", "m", *words]), Clocks(time.monotonic_ns, time.thread_time_ns))


def test_a_prompt_goes_in_as_few_executions_as_the_model_allows() -> None:
    model = Counting()
    work = generation_of(model, "--generate", "3", "--prompt-tokens", "6", "--depth", "5")
    work.prepare()
    work.iterate(timed=True)
    assert model.positions == [(0, 4), (4, 1), (5, 4), (9, 2), (11, 1), (12, 1)]


def test_of_many_generations_an_even_selection_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "_MOST_STAMPS", 8)
    work = generation_of(Counting(), "--generate", "2", "--prompt-tokens", "1")
    for _ in range(21):
        work.iterate(timed=True)
    lines = [json.loads(line.removeprefix("PyTorchObserver ")) for line in work.lines()]
    first = [line["generation"]["tokens"][0] for line in lines if "generation" in line]
    assert first == [1 + 2 * number for number in (0, 8, 16)]
    assert [line["value"] for line in lines if line.get("metric") == "generations_thinned"] == ["8"]


def test_of_a_long_generation_all_times_are_printed_and_the_first_tokens() -> None:
    work = generation_of(Counting(), "--generate", "5000", "--prompt-tokens", "1")
    work.iterate(timed=True)
    (line,) = work.lines()
    stream = json.loads(line.removeprefix("PyTorchObserver "))["generation"]
    assert (len(stream["token_times_ns"]), len(stream["tokens"])) == (5000, 4096)


def test_a_perplexity_beyond_the_range_of_numbers_is_infinite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counting, "log_probabilities", lambda _, tokens: [-1000.0] * len(tokens))
    (tmp_path / "text").write_bytes(bytes(8 * 5))
    work = generation_of(Counting(), "--generate", "2", "--prompt-tokens", "1", "--perplexity", str(tmp_path / "text"))
    work.iterate(timed=True)
    work.finish()
    values = [json.loads(line.removeprefix("PyTorchObserver ")) for line in work.lines()]
    assert [line["value"] for line in values if line.get("metric") == "perplexity"] == ["inf"]


def test_made_up_tokens_are_of_the_vocabulary_and_always_the_same() -> None:
    tokens = make_up_tokens(2000, 50)
    assert set(tokens) == set(range(50))
    assert make_up_tokens(3, 1) == [0, 0, 0]
    assert make_up_tokens(20, 50) == tokens[:20]
    assert make_up_tokens(20, 50, DEPTH_TOKENS) != make_up_tokens(20, 50, PROMPT_TOKENS)


def test_a_text_is_read_in_pieces_as_long_as_the_context(tmp_path: Path) -> None:
    model = Counting()
    model.context = 6
    text = tmp_path / "text.bin"
    text.write_bytes(b"\0" * 8 * 15)
    work = generation_of(model, "--generate", "1", "--prompt-tokens", "1", "--perplexity", str(text))
    work.finish()
    assert model.positions == [(0, 4), (4, 2), (0, 4), (4, 2), (0, 2)]
    assert '"perplexity", "unit": "", "value": "2.71828183"' in next(work.lines())
