"""Program that makes tokens of a text: `python encode.py TOKENIZER TEXT`. It prints a list of numbers, as JSON.

A program of its own, because the tokenizers are C++, write what they think of a file, and read files of strangers.
"""

from __future__ import annotations

import json
import os
import sys


def encode(tokenizer: str, text: str) -> list[int] | None:
    """Return the tokens of a text; None where the file is no tokenizer. Prints what the libraries think of it.

    Raises:
        RuntimeError: The tokenizer makes none.
    """
    import pytorch_tokenizers as kinds  # type: ignore[import-untyped]  # noqa: PLC0415

    others = (kinds.CppSPTokenizer, kinds.CppTiktoken, kinds.CppLlama2cTokenizer)
    for kind in (kinds.CppHFTokenizer,) if tokenizer.endswith(".json") else others:
        loaded = kind()
        try:
            loaded.load(tokenizer)
        except RuntimeError:
            continue
        return [int(token) for token in loaded.encode(text, 0, 0)]
    return None


def main(tokenizer: str, text: str) -> int:
    """Print the tokens, and return the exit status: 3 where the file is no tokenizer, 4 where it makes none."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the library prints
    try:
        tokens = encode(tokenizer, text)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 4
    if tokens is None:
        return 3
    output.write(json.dumps(tokens))
    output.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
