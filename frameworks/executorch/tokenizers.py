"""Tokens of a text, by the tokenizer that belongs to a language model."""

from __future__ import annotations

import hashlib
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from frameworks import packages
from harness import shell
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, EnvironmentProblem
from harness.files.atomic import write_atomically

_PROGRAM: Final = Path(__file__).parent / "llm_runner" / "encode.py"
_LIMIT_S: Final = 120.0
_NO_TOKENIZER: Final = 3


def tokenise(text: str, tokenizer: Path) -> Sequence[int]:
    """Return the tokens of a text, by the tokenizers that come with ExecuTorch: no token begins or ends it.

    Args:
        text: The text.
        tokenizer: File of the tokenizer: `tokenizer.json` of Hugging Face, a model of SentencePiece or tiktoken, or one
            of llama2.c.

    Raises:
        BenchmarkFailed: The file cannot be read, or it is of no known kind.
        BenchmarkUnsupported: The package is not installed.
    """
    if (missing := packages.find_missing(("executorch",), "make tokens of a text")) is not None:
        raise BenchmarkUnsupported(missing.message, hint=f"{missing.hint}; or give `prompt_tokens` instead of `prompt`")
    command = Command((sys.executable, str(_PROGRAM), str(tokenizer), text), timeout_s=_LIMIT_S)
    completed = shell.run(command)
    if completed.exit_code == _NO_TOKENIZER:
        raise BenchmarkFailed(
            f"{tokenizer.name} is no tokenizer that can be read",
            hint="give a tokenizer.json of Hugging Face, or a model of SentencePiece, tiktoken or llama2.c",
        )
    if not completed.ok:
        raise BenchmarkFailed(f"{tokenizer.name} makes no tokens of the prompt: {completed.describe()}")
    return TypeAdapter(list[int]).validate_json(completed.stdout)


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
