"""Exports tiny language models into the folder given, with what eager torch generates. A script, like tiny_programs.

All have the same weights: `dynamic` takes up to 15 tokens and gives logits of each, `last` those of the last alone,
`single` takes one token, and `int32` has narrow tokens and positions. Some cannot generate.
"""

from __future__ import annotations

import array
import json
import sys
from pathlib import Path

import torch
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401 - registers them

from frameworks.python_runner.made_up import DEPTH_TOKENS, make_up_tokens

VOCABULARY, CONTEXT, WIDTH, CHUNK = 64, 40, 16, 15
PROMPT = (5, 63, 0, 17, 17, 2, 40)
TEXT = tuple((7 * i * i + 3 * i) % VOCABULARY for i in range(60))
NEW = 12


class Decoder(torch.nn.Module):
    """One layer of attention with a cache of keys and values."""

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, *, last: bool = False) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.tokens = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.places = torch.nn.Embedding(CONTEXT, WIDTH)
        self.query, self.key, self.value = (torch.nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.head = torch.nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("keys", torch.zeros(CONTEXT, WIDTH))
        self.register_buffer("values", torch.zeros(CONTEXT, WIDTH))
        self.last = last

    def forward(self, tokens: torch.Tensor, input_pos: torch.Tensor) -> torch.Tensor:
        places = torch.ones_like(tokens[0]).cumsum(0) - 1 + input_pos.long()
        hidden = self.tokens(tokens.long())[0] + self.places(places)
        self.keys[places] = self.key(hidden)
        self.values[places] = self.value(hidden)
        mask = torch.arange(CONTEXT)[None, :] <= places[:, None]
        scores = (self.query(hidden) @ self.keys.T).masked_fill(~mask, -1e9)
        hidden = hidden + torch.softmax(scores, dim=-1) @ self.values
        logits: torch.Tensor = self.head(hidden)[None]
        return logits[:, -1] if self.last else logits


class CustomDecoder(Decoder):
    """The same with the operators of ExecuTorch's language models."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, CONTEXT, 1, WIDTH))
        self.register_buffer("values", torch.zeros(1, CONTEXT, 1, WIDTH))

    def forward(self, tokens: torch.Tensor, input_pos: torch.Tensor) -> torch.Tensor:
        start = int(input_pos[-1].item())
        torch._check(start >= 0)  # type: ignore[no-untyped-call]
        torch._check(start + tokens.shape[1] <= CONTEXT)  # type: ignore[no-untyped-call]
        places = torch.ones_like(tokens[0]).cumsum(0) - 1 + input_pos
        hidden = self.tokens(tokens)[0] + self.places(places)
        query, key, value = (layer(hidden)[None, :, None] for layer in (self.query, self.key, self.value))
        torch.ops.llama.update_cache(key, self.keys, start)
        torch.ops.llama.update_cache(value, self.values, start)
        mixed = torch.ops.llama.custom_sdpa(query, self.keys, self.values, start, None, 0.0, True, 1.0)
        logits: torch.Tensor = self.head(hidden + mixed[0, :, 0])[None]
        return logits


class Stateless(torch.nn.Module):
    """Takes tokens without a position."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.one_hot(tokens, VOCABULARY).float()


class NotANumber(torch.nn.Module):
    def forward(self, tokens: torch.Tensor, input_pos: torch.Tensor) -> torch.Tensor:
        return (tokens + input_pos)[:, :, None].expand(1, 1, VOCABULARY).float() * float("nan")


def generate(depth_tokens: tuple[int, ...], prompt: tuple[int, ...]) -> list[int]:
    """Return the new tokens that eager torch chooses."""
    model, context, new = Decoder().eval(), [*depth_tokens, *prompt], list[int]()
    with torch.no_grad():
        logits = model(torch.tensor([context]), torch.tensor([0]))
        for position in range(len(context), len(context) + NEW):
            new.append(int(logits[0, -1].argmax()))
            logits = model(torch.tensor([new[-1:]]), torch.tensor([position]))
    return new


def perplexity() -> float:
    """Return the perplexity of the text in pieces as long as the context."""
    losses = []
    with torch.no_grad():
        for begin in range(0, len(TEXT) - 1, CONTEXT):
            piece = torch.tensor(TEXT[begin : begin + CONTEXT + 1])
            logits = Decoder().eval()(piece[None, :-1], torch.tensor([0]))[0]
            losses.append(torch.nn.functional.cross_entropy(logits, piece[1:], reduction="none"))
    return float(torch.cat(losses).double().mean().exp())


def export(
    file: Path, module: torch.nn.Module, most: int, *, dynamic: bool, constants: dict[str, object], dtype: torch.dtype
) -> None:
    """Export a model that takes this number of tokens."""
    inputs: tuple[torch.Tensor, ...] = (torch.zeros(1, most, dtype=dtype), torch.zeros(1, dtype=dtype))
    inputs = inputs[:1] if isinstance(module, Stateless) else inputs
    shapes = ({1: torch.export.Dim("length", min=1, max=most)}, None) if dynamic else None
    exported = torch.export.export(module.eval(), inputs, dynamic_shapes=shapes, strict=True)
    lowered = to_edge_transform_and_lower(exported, constant_methods=constants)
    # By default the shapes of intermediate values are those of the example inputs.
    config = ExecutorchBackendConfig(sym_shape_eval_pass=ConstraintBasedSymShapeEvalPass())
    file.write_bytes(lowered.to_executorch(config).buffer)


def main(folder: Path) -> None:
    """Write every program, and `expected.json`."""
    constants = {"get_max_seq_len": CONTEXT, "get_vocab_size": VOCABULARY, "use_kv_cache": True}
    for name, module, most, dynamic, dtype in (
        ("dynamic", Decoder(), CHUNK, True, torch.int64),
        ("last", Decoder(last=True), CHUNK, True, torch.int64),
        ("single", Decoder(), 1, False, torch.int64),
        ("int32", Decoder(), CHUNK, True, torch.int32),
        ("custom", CustomDecoder(), CHUNK, True, torch.int64),
        ("fixed", Decoder(), 8, False, torch.int64),
        ("stateless", Stateless(), 1, False, torch.int64),
        ("nan", NotANumber(), 1, False, torch.int64),
    ):
        export(folder / f"{name}.pte", module, most, dynamic=dynamic, constants=dict(constants), dtype=dtype)
    export(
        folder / "without_cache.pte",
        Decoder(),
        1,
        dynamic=False,
        constants={"use_kv_cache": False},
        dtype=torch.int64,
    )
    expected = {
        "file": generate((), PROMPT),
        "made_up": generate((), tuple(make_up_tokens(9, VOCABULARY))),
        "deep": generate(tuple(make_up_tokens(17, VOCABULARY, DEPTH_TOKENS)), tuple(make_up_tokens(9, VOCABULARY))),
        "perplexity": perplexity(),
    }
    (folder / "expected.json").write_text(json.dumps(expected))
    for name, tokens in (("prompt", PROMPT), ("text", TEXT)):
        (folder / f"{name}.bin").write_bytes(array.array("q", tokens).tobytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
