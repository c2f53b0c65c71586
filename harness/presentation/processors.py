"""Processors and their vector and matrix extensions in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.core.device import Device

_FAMILIES: Final[tuple[tuple[str, str, dict[str, str]], ...]] = (
    ("amx_tile", "AMX", {"amx_int8": "INT8", "amx_bf16": "BF16", "amx_fp16": "FP16"}),
    ("avx512f", "AVX-512", {"avx512_vnni": "VNNI", "avx512_bf16": "BF16", "avx512_fp16": "FP16"}),
    ("avx2", "AVX2", {"avx_vnni": "VNNI", "avx_vnni_int8": "VNNI-INT8"}),
    ("avx", "AVX", {}),
    ("sse4_1", "SSE4.1", {}),
    ("sme", "SME", {"sme2": "2"}),
    ("sve2", "SVE2", {}),
    ("sve", "SVE", {}),
    ("asimd", "NEON", {"asimdhp": "FP16", "asimddp": "DotProd", "i8mm": "I8MM", "bf16": "BF16"}),
    ("neon", "NEON", {}),
    ("v", "RVV", {}),
)
"""Each with what comes with it. Of those of one architecture that include one another, the first counts."""

_INCLUDES: Final = {
    "avx512f": {"avx2", "avx", "sse4_1"},
    "avx2": {"avx", "sse4_1"},
    "avx": {"sse4_1"},
    "sve2": {"sve"},
    "asimd": {"neon"},
}


def name_extensions(extensions: Sequence[str]) -> str:
    """Return the extensions in words, for example `AVX-512 VNNI BF16`; empty without any.

    Args:
        extensions: Their names in the system.
    """
    implied = {name for extension in extensions for name in _INCLUDES.get(extension, ())}
    words = []
    for family, name, parts in _FAMILIES:
        if family in extensions and family not in implied:
            words += [name, *(word for part, word in parts.items() if part in extensions)]
    return " ".join(words)


def describe_processor(device: Device) -> str:
    """Return `AMD EPYC, Zen 5 AVX-512 VNNI BF16`: model, microarchitecture, extensions; empty where none is known."""
    details = " ".join(filter(None, (device.microarchitecture, name_extensions(device.extensions))))
    return ", ".join(filter(None, (device.kind, details)))
