"""Requests for generations: the `generation` block of a test."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from harness.core.benchmark import GENERATION_KIND
from harness.core.generation import MOST_TOKENS, TOKENIZER, GenerationRequest
from harness.core.placeholders import suggest
from harness.specification.document import Findings, join
from harness.specification.file_format import GenerationEntry, Test
from harness.specification.scope import PlaceholderScope

_MEANINGLESS: Final = {
    "inputs": "the prompt is what the model gets",
    "input_files": "the prompt is what the model gets; give its text in `generation.prompt`",
    "data": "the prompt is what the model gets",
    "scores": "tokens are what the model gives",
    "same_work": "only the outputs of single executions are compared with those of the model's origin",
}
"""Keys of a test that generates which mean nothing, and why."""

_EXECUTION: Final = "delay"
_KINDS: Final = ("accuracy", "error", "layers")
"""Kinds of figures of single executions."""

_LEAST: Final = {"prompt_tokens": 1, "new_tokens": 1, "depth": 0}


def check_generation(test: Test, pointer: str, findings: Findings) -> None:
    """Report what contradicts itself in a `generation` block, or means nothing beside it."""
    if test.generation is None:
        if GENERATION_KIND in test.kinds:
            pointer = join(pointer, "metric", test.kinds.index(GENERATION_KIND))
            findings.add(pointer, "nothing says what to generate", "add the block `generation`, which may be {}")
        return
    if test.generation.prompt is not None and test.generation.prompt_tokens is not None:
        message = "`prompt` and `prompt_tokens` are both given: a text has the tokens that its tokenizer makes of it"
        findings.add(join(pointer, "generation", "prompt_tokens"), message, "keep one of them")
    for key, reason in _MEANINGLESS.items():
        if getattr(test, key):
            message = f"`{key}` means nothing in a test that generates tokens: {reason}"
            findings.add(join(pointer, key), message, f"leave out `{key}`, or `generation`")
    for index, kind in enumerate(test.kinds):
        if kind == _EXECUTION and GENERATION_KIND in test.kinds:
            message = f"{kind!r} and {GENERATION_KIND!r} are the same launches, which generate"
            findings.add(join(pointer, "metric", index), message, f"leave out {kind!r}")
        if kind in _KINDS:
            message = f"{kind!r} is a figure of single executions, and the test generates tokens"
            findings.add(join(pointer, "metric", index), message, "measure it in a test of its own")


def request_generation(
    entry: GenerationEntry, scope: PlaceholderScope, files: Collection[str], pointer: str
) -> GenerationRequest | None:
    """Return what a test generates; None where a problem was found.

    Args:
        entry: The block.
        scope: Values of placeholders.
        files: Keys of the files of model and test: `files.model`.
        pointer: JSON pointer of the block.
    """
    names = sorted(key.removeprefix("files.") for key in files if key.startswith("files."))
    if entry.prompt is not None and TOKENIZER not in files:
        message = "`prompt` is a text, and the model has no file `tokenizer` that makes tokens of it"
        scope.findings.add(join(pointer, "prompt"), message, "add the file, or give `prompt_tokens` instead")
        return None
    if entry.perplexity is not None and entry.perplexity not in names:
        hint = suggest(entry.perplexity, names) or f"files: {', '.join(names) or 'none'}"
        scope.findings.add(join(pointer, "perplexity"), f"there is no file `{entry.perplexity}` in `files`", hint)
        return None
    numbers = dict(_read_numbers(entry, scope, pointer))
    if None in numbers.values():
        return None
    return GenerationRequest(
        **{key: number for key, number in numbers.items() if number is not None},
        prompt=None if entry.prompt is None else scope.resolve(entry.prompt, join(pointer, "prompt")),
        perplexity=None if entry.perplexity is None else f"files.{entry.perplexity}",
    )


def _read_numbers(entry: GenerationEntry, scope: PlaceholderScope, pointer: str) -> Iterator[tuple[str, int | None]]:
    """Yield each number that is given with its key; None for one that is none."""
    for key, least in _LEAST.items():
        given: int | str | None = getattr(entry, key)
        if isinstance(given, str):
            text = scope.resolve(given, join(pointer, key))
            number = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_TOKENS)) else None
            if number is None or not least <= number <= MOST_TOKENS:
                if text != given:  # else the placeholder is unknown, which has been reported
                    message = f"`{given}` is {text!r}, not a whole number from {least} to {MOST_TOKENS}"
                    scope.findings.add(join(pointer, key), message, "give the axis whole numbers")
                number = None
            yield key, number
        elif given is not None:
            yield key, given
