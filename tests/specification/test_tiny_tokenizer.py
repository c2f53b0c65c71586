"""The shipped tokenizer of `tiny_llama`, as the libraries read it that generate with it."""

from __future__ import annotations

import pytest

from tests.specification import tiny_tokenizer

TEXT = "The quick brown fox jumps over the lazy dog — naïve, 東京.\n\t1 + 1 = 2"


def test_the_file_is_what_the_rule_makes() -> None:
    assert tiny_tokenizer.FILE.read_text(encoding="utf-8") == tiny_tokenizer.document()


def test_the_first_tokens_are_bytes_and_the_last_begin_and_end_a_text() -> None:
    numbers, merges = tiny_tokenizer.vocabulary()

    assert list(numbers.values()) == list(range(1022))
    assert len(merges) == 1022 - 256
    assert all(piece.isascii() for piece in [*numbers][256:] if not piece.startswith("Ġ"))


def test_every_text_is_made_of_tokens_and_back() -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="comes with executorch")
    tokenizer = tokenizers.Tokenizer.from_file(str(tiny_tokenizer.FILE))
    ids = tokenizer.encode(TEXT, add_special_tokens=False).ids

    assert len(ids) < len(TEXT.encode()) * 0.75
    assert tokenizer.decode(ids) == TEXT
    assert tokenizer.get_vocab_size() == 1024
    assert [tokenizer.token_to_id(token) for token in tiny_tokenizer.SPECIAL] == [1022, 1023]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Upstream's.
def test_the_python_package_of_executorch_reads_it() -> None:
    package = pytest.importorskip("pytorch_tokenizers", reason="comes with executorch")
    tokenizer = package.get_tokenizer(str(tiny_tokenizer.FILE))
    ids = tokenizer.encode(TEXT, bos=False, eos=False)

    assert tokenizer.n_words == 1024
    assert tokenizer.decode(ids) == TEXT
