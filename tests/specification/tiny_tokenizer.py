"""Tokenizer of `tiny_llama`, as Hugging Face's `tokenizer.json`: `python -m tests.specification.tiny_tokenizer`.

It is made by rule, of no text: bytes, pairs of letters, and a few more pieces of English words. ExecuTorch's C++
tokenizers read it, as do the Python packages `tokenizers` and `pytorch_tokenizers`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parents[2] / "specifications" / "tokenizers" / "tiny_llama.json"
VOCABULARY: Final = 1024
LETTERS: Final = " etaoinshrdlucmfwypvbgkjqxz"
"""By frequency in English; a space begins pairs and ends none, as in words."""
PIECES: Final = (
    " the", " tha", " thi", " and", " ing", " her", " his", " was", " wit", " for", " not", " you", " are", " but",
    " hav", " fro", " con", " pro", " com", " sta", " str", " whi", " wor", " wou", " sho", " cou", " all", " one",
    "ing", "ion", "ent", "ati", "ter", "ers", "est", "ere", "hat", "ver", "all", "men", "ess", "ate", "ect", "our",
    "ght", "ill", "ive", "ort", "ain", "ble", "ted", "ity", "res", "ous", "eve", "ure", "igh", "ave", "ont", "ome",
    "ith", "ear", "oth", "ell",
)  # fmt: skip
SPECIAL: Final = ("<|begin_of_text|>", "<|end_of_text|>")


def letters_of_bytes() -> Sequence[str]:
    """The printable character that stands for each byte, as in GPT-2's vocabulary: its own, or one from 256 on."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def vocabulary() -> tuple[Mapping[str, int], Sequence[str]]:
    """The pieces with their numbers, and which two of them make a longer one."""
    letters = letters_of_bytes()
    numbers = {letter: byte for byte, letter in enumerate(letters)}
    merges = []

    def merge(first: str, second: str) -> None:
        left, right = ("".join(letters[byte] for byte in part.encode()) for part in (first, second))
        if left + right in numbers or len(numbers) == VOCABULARY - len(SPECIAL):
            return
        assert {left, right} <= numbers.keys(), (first, second)
        numbers[left + right] = len(numbers)
        merges.append(f"{left} {right}")

    for first in LETTERS:
        for second in LETTERS[1:]:
            merge(first, second)
    for piece in PIECES:
        for length in range(2, len(piece)):
            merge(piece[:length], piece[length])
    return numbers, merges


def document() -> str:
    """The content of the file."""
    numbers, merges = vocabulary()
    special = {
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": len(numbers) + place, "content": name, **special} for place, name in enumerate(SPECIAL)
        ],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": numbers,
            "merges": merges,
        },
    }
    return json.dumps(content) + "\n"


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
