"""Prompts that are texts: their tokens go to the device with the model."""

from __future__ import annotations

import array
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

import harness
from frameworks.executorch import tokenizers
from harness.core.errors import BenchmarkFailed, EnvironmentProblem
from harness.core.result import Outcome, Result
from tests.frameworks.executorch.scripts import script

LINE = 'PyTorchObserver {"generation": {"prompt_tokens": 1, "token_times_ns": [5, 9], "tokens": [7, 8]}}'


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with saved defaults, cache and results of its own."""
    for name in [name for name in os.environ if name.startswith("HARNESS_")]:
        monkeypatch.delenv(name)
    for name in ("CONFIG_DIR", "CACHE_DIR", "LOCAL_REPORTER"):
        monkeypatch.setenv(f"HARNESS_{name}", str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def by_character(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tokenizer with a token for each character, from a number on that its file has."""

    def tokenise(text: str, tokenizer: Path) -> Sequence[int]:
        return [int(tokenizer.read_text()) + ord(character) for character in text]

    monkeypatch.setattr(tokenizers, "tokenise", tokenise)


def measure(place: Path, prompt: str, program: str) -> Result:
    (place / "m.pte").write_bytes(b"a program")
    (place / "t.model").write_text("1000")
    files = {
        "model": {"filename": "m.pte", "location": "m.pte"},
        "tokenizer": {"filename": "t.model", "location": "t.model"},
    }
    model = {"name": "m", "format": "executorch", "framework": "executorch", "files": files}
    test = {"metric": "generation", "identifier": "t", "generation": {"prompt": prompt, "new_tokens": 2}}
    runner = script(place / "runner", program)
    return harness.run({"model": model, "tests": [test]}, program={"program": str(runner)})[0]


@pytest.mark.usefixtures("by_character")
def test_the_tokens_of_a_prompt_reach_the_runner(place: Path) -> None:
    program = f"""
    while [ $# -gt 0 ]; do [ "$1" = --prompt ] && cp "$2" "{place}/seen.bin"; shift; done
    echo '{LINE}'
    """
    result = measure(place, 'a"', program)
    assert result.outcome is Outcome.OK, result.reason
    assert list(array.array("q", (place / "seen.bin").read_bytes())) == [1097, 1034]


@pytest.mark.slow
def test_a_prompt_without_a_tokenizer_that_can_be_read_has_failed(place: Path) -> None:
    result = measure(place, "a text", "exit 1")
    assert result.outcome is Outcome.FAILED
    assert "t.model is no tokenizer that can be read" in str(result.reason)


@pytest.mark.usefixtures("by_character")
def test_the_file_has_little_endian_numbers_and_is_made_once(place: Path) -> None:
    (place / "t.model").write_text("0")
    first = tokenizers.write_prompt("ab", place / "t.model", place / "cache")
    assert list(array.array("q", first.read_bytes())) == [97, 98]
    assert tokenizers.write_prompt("ab", place / "t.model", place / "cache") == first


@pytest.mark.usefixtures("by_character")
def test_a_prompt_without_tokens_has_failed(place: Path) -> None:
    with pytest.raises(BenchmarkFailed, match="the prompt has no tokens"):
        tokenizers.write_prompt("", place / "t.model", place / "cache")


@pytest.mark.usefixtures("by_character")
def test_a_cache_that_cannot_be_written_is_a_problem_of_the_environment(place: Path) -> None:
    (place / "t.model").write_text("0")
    (place / "cache").write_text("a file")
    with pytest.raises(EnvironmentProblem, match="the tokens of the prompt cannot be kept in"):
        tokenizers.write_prompt("ab", place / "t.model", place / "cache")
