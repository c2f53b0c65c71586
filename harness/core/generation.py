"""Generation of tokens by language models: what is asked for, and what one generation took."""

from itertools import pairwise
from typing import Annotated, Final, Self

from pydantic import Field, NonNegativeInt, model_validator

from harness.core.values import Value

GENERATION: Final = "LLM"
"""Type of the metrics of generations, in our own definitions (docs/generation.md)."""

MOST_TOKENS: Final = 1_000_000
"""Largest number of tokens of a prompt, of a depth and to generate: more than any context holds."""

DEFAULT_WARMUP: Final = 1
"""Generations before the timed ones, where a test gives no number."""

DEFAULT_ITERATIONS: Final = 5
"""Timed generations of a launch, likewise. Each has many executions, and takes from a tenth of a second to minutes."""

TOKENIZER: Final = "files.tokenizer"
"""Key of the file that makes tokens of a text, beside the model."""

PROMPT: Final = "generation.prompt"
"""Key of the file with the tokens of a prompt that is a text: raw little-endian int64."""


class GenerationRequest(Value):
    """Request to generate tokens: a prompt is processed, then tokens follow one by one, always the likeliest.

    Attributes:
        prompt_tokens: Number of tokens of a made-up prompt; with `prompt` a tokenizer makes the tokens.
        prompt: Text of the prompt; None for a made-up one.
        new_tokens: Number of tokens to generate. No token ends a generation early.
        depth: Number of tokens that the context holds before the prompt, which are not timed.
        perplexity: Key of the file with the tokens whose perplexity is computed after everything was timed; None for
            none.
    """

    prompt_tokens: Annotated[int, Field(ge=1)] = 128
    prompt: str | None = None
    new_tokens: Annotated[int, Field(ge=1)] = 64
    depth: NonNegativeInt = 0
    perplexity: str | None = None


class TokenStream(Value):
    """Time stamps of one generation, from the moment when its prompt was handed over.

    Attributes:
        prompt_tokens: Number of tokens of the prompt.
        depth: Number of tokens that the context held before.
        prefill_ns: When the prompt was processed, before the first token was chosen; None where that is not known.
        token_times_ns: When each new token was there, in order.
        tokens: The new tokens, or the first of them; empty where they are not known.
        earlier_prefills_ns: The same of `prefill_ns` for the same prompt, each time that it was processed just before,
            without other tokens after the first.
        earlier_first_tokens_ns: When the first token was there each of these times.
    """

    prompt_tokens: Annotated[int, Field(ge=1)]
    depth: NonNegativeInt = 0
    prefill_ns: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    token_times_ns: Annotated[tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...], Field(min_length=1)]
    tokens: tuple[int, ...] = ()
    earlier_prefills_ns: tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...] = ()
    earlier_first_tokens_ns: tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...] = ()

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        times = self.token_times_ns
        if any(later < earlier for earlier, later in pairwise(times)):
            raise ValueError("`token_times_ns` go backwards")
        if self.prefill_ns is not None and self.prefill_ns > times[0]:
            raise ValueError("`prefill_ns` is later than the first token")
        if len(self.tokens) > len(times):
            raise ValueError("there are more `tokens` than `token_times_ns`")
        return self
