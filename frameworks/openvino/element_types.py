"""Element types and precisions, by the names of OpenVINO and by ours."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

DTYPES: Final = MappingProxyType(
    {
        "boolean": "bool",
        "i8": "int8",
        "u8": "uint8",
        "i16": "int16",
        "u16": "uint16",
        "i32": "int32",
        "u32": "uint32",
        "i64": "int64",
        "u64": "uint64",
        "f16": "float16",
        "bf16": "bfloat16",
        "f32": "float32",
        "f64": "float64",
    }
)
"""Element type by OpenVINO's name for it. Those of less than a byte are none that a runner feeds."""
