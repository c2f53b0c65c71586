"""Tokens of a text, by the tokenizer that belongs to a language model."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from pathlib import Path

from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, EnvironmentProblem
from harness.files.atomic import write_atomically


def tokenise(text: str, tokenizer: Path) -> Sequence[int]:
    """Return the tokens of a text.

    Args:
        text: The text.
        tokenizer: File of the tokenizer.

    Raises:
        BenchmarkFailed: The file cannot be read.
        BenchmarkUnsupported: It is of a kind that is not known here.
    """
    raise BenchmarkUnsupported(
        f"the prompt is a text of {len(text)} characters, and nothing here makes tokens of it by {tokenizer.name}",
        hint="give `prompt_tokens` instead of `prompt`",
    )


def write_prompt(text: str, tokenizer: Path, cache_dir: Path) -> Path:
    """Return a file with the tokens of a text, raw little-endian int64, in the cache.

    Raises:
        BenchmarkFailed: The text has no tokens; else as `tokenise`.
        EnvironmentProblem: The file cannot be written.
    """
    tokens = tokenise(text, tokenizer)
    if not tokens:
        raise BenchmarkFailed("the prompt has no tokens", hint="give a longer `prompt`, or `prompt_tokens`")
    content = struct.pack(f"<{len(tokens)}q", *tokens)
    file = cache_dir / "prompts" / f"{hashlib.sha256(content).hexdigest()[:32]}.bin"
    try:
        write_atomically(file, content)
    except OSError as error:
        raise EnvironmentProblem(
            f"the tokens of the prompt cannot be kept in {file.parent}: {error}",
            hint="choose another place with --cache-dir",
        ) from error
    return file
