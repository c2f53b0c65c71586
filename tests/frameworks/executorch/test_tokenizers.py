"""Tokens of a text, by the tokenizer that ships with the small language model."""

from __future__ import annotations

from pathlib import Path

import pytest

import specifications
from frameworks.executorch.tokenizers import tokenise
from harness.core.errors import BenchmarkFailed

pytestmark = pytest.mark.slow  # torch is not needed, but a process is

SHIPPED = Path(*specifications.__path__[:1], "tokenizers", "tiny_llama.json")


def test_a_text_becomes_tokens_and_nothing_is_added() -> None:
    tokens = tokenise("Once upon a time, a device", SHIPPED)
    assert 1 < len(tokens) < 26
    assert all(0 <= token < 1024 for token in tokens)
    assert tokenise("-Once", SHIPPED) != tokenise("Once", SHIPPED)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.json", b"{}"), ("b.json", b"\xff\x00"), ("a.model", b"no model"), ("c.bin", b"\x00" * 64)],
)
def test_a_file_that_is_no_tokenizer_is_refused_in_words(tmp_path: Path, name: str, content: bytes) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(BenchmarkFailed, match=f"{name} is no tokenizer that can be read"):
        tokenise("a text", file)


def test_an_empty_file_makes_no_tokens(tmp_path: Path) -> None:
    file = tmp_path / "empty.model"
    file.touch()
    with pytest.raises(BenchmarkFailed, match=r"empty\.model"):
        tokenise("a text", file)
