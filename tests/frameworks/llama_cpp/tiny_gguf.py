"""A tiny Llama with random weights as a GGUF file, for the programs of llama.cpp.

The format is that of docs/gguf.md of ggml-org/ggml, version 3: metadata, descriptions of tensors, their numbers. The
vocabulary are the bytes.
"""

from __future__ import annotations

import random
import struct
from array import array
from pathlib import Path

EMBEDDING, HEADS, LAYERS, HIDDEN, CONTEXT = 64, 4, 2, 128, 2048
_VOCABULARY = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
_KINDS = [2, 3, 3, *([6] * 256)]  # unknown, control, byte
_UINT32, _INT32, _FLOAT32, _STRING, _ARRAY = 4, 5, 6, 8, 9
_ALIGNMENT = 32


def write_tiny_llama(destination: Path, seed: int = 0) -> Path:
    """Write the file (0.4 MB) and return its path."""
    chance = random.Random(seed)
    metadata = [
        _text("general.architecture", "llama"),
        _text("general.name", "tiny"),
        _number("llama.context_length", CONTEXT),
        _number("llama.embedding_length", EMBEDDING),
        _number("llama.block_count", LAYERS),
        _number("llama.feed_forward_length", HIDDEN),
        _number("llama.attention.head_count", HEADS),
        _number("llama.rope.dimension_count", EMBEDDING // HEADS),
        _string("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", _FLOAT32, 1e-5),
        _text("tokenizer.ggml.model", "llama"),
        _list("tokenizer.ggml.tokens", _STRING, [_string(token) for token in _VOCABULARY]),
        _list("tokenizer.ggml.scores", _FLOAT32, [struct.pack("<f", 0.0)] * len(_VOCABULARY)),
        _list("tokenizer.ggml.token_type", _INT32, [struct.pack("<i", kind) for kind in _KINDS]),
        *(_number(f"tokenizer.ggml.{name}_token_id", number) for number, name in enumerate(("unknown", "bos", "eos"))),
    ]
    descriptions, numbers = [], b""
    for name, shape in _shapes().items():
        descriptions.append(_string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(numbers)))
        numbers += _weights(shape, chance)
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(descriptions), len(metadata))
    destination.write_bytes(_pad(header + b"".join((*metadata, *descriptions))) + numbers)
    return destination


def _shapes() -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor, the fastest dimension first."""
    square = (EMBEDDING, EMBEDDING)
    layer: dict[str, tuple[int, ...]] = {
        "attn_norm": (EMBEDDING,),
        **dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), square),
        "ffn_norm": (EMBEDDING,),
        "ffn_gate": (EMBEDDING, HIDDEN),
        "ffn_up": (EMBEDDING, HIDDEN),
        "ffn_down": (HIDDEN, EMBEDDING),
    }
    layers = {f"blk.{number}.{name}.weight": shape for number in range(LAYERS) for name, shape in layer.items()}
    return {"token_embd.weight": (EMBEDDING, len(_VOCABULARY)), **layers, "output_norm.weight": (EMBEDDING,)}


def _weights(shape: tuple[int, ...], chance: random.Random) -> bytes:
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    values = [1.0] * count if len(shape) == 1 else [chance.gauss(0, 0.05) for _ in range(count)]
    return _pad(array("f", values).tobytes())


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNMENT)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _text(name: str, value: str) -> bytes:
    return _string(name) + struct.pack("<I", _STRING) + _string(value)


def _number(name: str, value: int) -> bytes:
    return _string(name) + struct.pack("<II", _UINT32, value)


def _list(name: str, kind: int, items: list[bytes]) -> bytes:
    return _string(name) + struct.pack("<IIQ", _ARRAY, kind, len(items)) + b"".join(items)
