"""A small language model with the parts of Llama and random weights: generation without a download.

The transformer is ExecuTorch's own, as its LLM exports use it: RMSNorm, rotary embeddings, grouped-query attention,
SwiGLU, and a key-value cache in mutable buffers. `specifications/tokenizers/tiny_llama.json` is a tokenizer with its
vocabulary: 256 bytes, pieces of words, and two tokens that begin and end a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, cast, get_args

import torch
from executorch.examples.models.llama.llama_transformer import construct_transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.examples.models.llama.source_transformation.custom_kv_cache import replace_kv_cache_with_custom_kv_cache
from executorch.examples.models.llama.source_transformation.sdpa import replace_sdpa_with_custom_op
from torch import nn

from frameworks.exporting.capture import Constant, DynamicShapes
from harness.core.errors import ExportFailed

AttentionKind = Literal["plain", "custom_sdpa"]
"""Attention in operators of torch, or in ExecuTorch's own two: `llama::update_cache` and `llama::custom_sdpa`."""

_EXAMPLE_TOKENS: Final = 3
_PARTS_OF_CHARACTERS: Final = slice(128, 256)
"""Bytes that are no text by themselves; ExecuTorch's Python runner fails where a token is not valid UTF-8."""
_GAINS: Final = {"wq": 1.5, "wk": 1.5, "output": 3.0}
"""Standard deviations of weights, times the square root of their inputs; 1 for those that are not named.

Sharper attention lets each token depend on those before it. With 1, or with more weight on the values, greedy decoding
ends in a loop of few tokens (seeds 0 to 2, 256 tokens); with these, at least 190 of 256 tokens differ. The output layer
spreads the logits, so that rounding does not change which is the largest.
"""


class Decoder(nn.Module):
    """Transformer with the interface of ExecuTorch's LLM exports: tokens and their position, to the next logits.

    Args:
        transformer: The transformer.
        arguments: What it was made from.
        beginning: Token that begins a text.
        end: Token that ends one.
    """

    def __init__(self, transformer: nn.Module, arguments: ModelArgs, beginning: int, end: int) -> None:
        super().__init__()
        self.transformer = transformer
        self._arguments = arguments
        self._special = (beginning, end)

    def forward(self, tokens: torch.Tensor, input_pos: torch.Tensor) -> torch.Tensor:
        """Append tokens to the context, and compute the logits of the next one.

        Args:
            tokens: Integers of shape [1, S].
            input_pos: Number of tokens before them, of shape [1].

        Returns:
            Logits of shape [1, vocabulary].
        """
        return cast(torch.Tensor, self.transformer(tokens, {"input_pos": input_pos}))

    def dynamic_shapes(self) -> DynamicShapes:
        """Let the number of tokens vary."""
        return {1: torch.export.Dim("tokens", min=1, max=self._arguments.max_seq_len)}, None

    def constant_methods(self) -> Mapping[str, Constant]:
        """Return what ExecuTorch's LLM runners ask a program for."""
        beginning, end = self._special
        return {
            "get_bos_id": beginning,
            "get_eos_ids": (end,),
            "get_max_seq_len": self._arguments.max_seq_len,
            "get_max_context_len": self._arguments.max_context_len,
            "get_n_layers": self._arguments.n_layers,
            "get_vocab_size": self._arguments.vocab_size,
            "use_kv_cache": True,
            "use_sdpa_with_kv_cache": bool(self._arguments.use_sdpa_with_kv_cache_op),
            "enable_dynamic_shape": True,
        }


def tiny_llama(
    *,
    dim: int = 256,
    layers: int = 6,
    heads: int = 8,
    kv_heads: int = 4,
    vocabulary: int = 1024,
    max_context: int = 1280,
    max_tokens: int = 256,
    attention: AttentionKind = "plain",
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Llama-style decoder, random weights: 5 million parameters.

    Args:
        dim: Size of embeddings.
        layers: Number of layers.
        heads: Number of heads of the queries.
        kv_heads: Number of heads of keys and values.
        vocabulary: Number of tokens; the last two begin and end a text, and are never the likeliest.
        max_context: Number of tokens that the cache holds.
        max_tokens: Number of tokens that one call takes at most; a longer prompt takes several.
        attention: How attention is computed.

    Raises:
        ExportFailed: There is no such kind of attention, or the sizes do not fit together.
    """
    if attention not in get_args(AttentionKind):
        raise ExportFailed(
            f"`tiny_llama` has no attention `{attention}`", hint=f"it has: {', '.join(get_args(AttentionKind))}"
        )
    if dim % heads or (dim // heads) % 2 or heads % kv_heads or not 2 <= max_tokens <= max_context:
        raise ExportFailed(
            "the sizes of `tiny_llama` do not fit together",
            hint="`dim` is an even multiple of `heads`, and `heads` a multiple of `kv_heads`; "
            "`max_tokens` is at least 2 and at most `max_context`",
        )
    is_custom = attention == "custom_sdpa"
    arguments = ModelArgs(
        dim=dim,
        n_layers=layers,
        n_heads=heads,
        n_kv_heads=kv_heads,
        vocab_size=vocabulary,
        multiple_of=32,
        max_seq_len=max_tokens,
        max_context_len=max_context,
        use_kv_cache=True,
        use_sdpa_with_kv_cache_op=is_custom,
        enable_dynamic_shape=True,
    )
    transformer = cast(nn.Module, construct_transformer(arguments))
    _draw_weights(transformer)
    _silence(transformer, vocabulary)
    if is_custom:
        replace_kv_cache_with_custom_kv_cache(transformer)
        replace_sdpa_with_custom_op(transformer)
    tokens = torch.arange(_EXAMPLE_TOKENS).reshape(1, -1) if max_tokens > _EXAMPLE_TOKENS else torch.zeros(1, 2).long()
    decoder = Decoder(transformer, arguments, beginning=vocabulary - 2, end=vocabulary - 1)
    return decoder, (tokens, torch.zeros(1, dtype=torch.int64))


def _draw_weights(transformer: nn.Module) -> None:
    """Draw all matrices from normal distributions that keep the scale of what they multiply."""
    with torch.no_grad():
        for name, parameter in transformer.named_parameters():
            if parameter.dim() < 2:
                continue  # the scales of norms are 1
            layer = name.split(".")[-2]
            inputs = 1 if layer == "tok_embeddings" else parameter.shape[1]
            parameter.normal_(std=_GAINS.get(layer, 1.0) * inputs**-0.5)


def _silence(transformer: nn.Module, vocabulary: int) -> None:
    """Let bytes that are no text, and the tokens that begin and end one, have the logit 0, which is far from likely."""
    with torch.no_grad():
        weights = transformer.get_parameter("output.weight")
        weights[_PARTS_OF_CHARACTERS] = 0
        weights[vocabulary - 2 :] = 0
