"""Operators of a program for XNNPACK, as ExecuTorch serialises it. Runs in the export process.

XNNPACK reports its operators without any identifier. Its program lists them in the order in which the runtime defines
and executes them, each with the debug handle of the node that it was made from: the only map that there is.
"""

from __future__ import annotations

import importlib
import json
import re
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

XNNPACK: Final = "XnnpackBackend"

_HEADER: Final = struct.Struct("<4x4sHII")
"""Space, magic number, length of the header, offset and length of the program (`XNNHeader.h`)."""
_MAGIC: Final = b"XH00"
_INFINITE: Final = re.compile(r": (-?)inf(?=[,\s])")
"""What flatc writes for an infinite limit, such as that of a ReLU, and JSON does not know."""
_SERIALISATION: Final = "executorch.backends.xnnpack.serialization"


def read_operators(processed: bytes) -> Sequence[tuple[str, int]]:
    """Return kind and debug handle of each operator in order; empty where this ExecuTorch writes another form."""
    try:
        return _decompile(processed)
    except (ImportError, OSError, RuntimeError, ValueError, LookupError, subprocess.SubprocessError):
        return ()  # nothing else depends on it: the program is exported as well


def _decompile(processed: bytes) -> Sequence[tuple[str, int]]:
    from executorch.exir._serialize._flatbuffer import _flatc_decompile  # noqa: PLC0415 - private: it may be gone

    if len(processed) < _HEADER.size:
        return ()
    magic, _, offset, length = _HEADER.unpack_from(processed)
    schema = next((folder / "schema.fbs" for folder in _folders() if (folder / "schema.fbs").is_file()), None)
    if magic != _MAGIC or schema is None:
        return ()
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder, "program.bin")
        binary.write_bytes(processed[offset : offset + length])
        _flatc_decompile(folder, str(schema), str(binary))
        text = binary.with_suffix(".json").read_text(encoding="utf-8")
    program = json.loads(_INFINITE.sub(r": \1Infinity", text))
    return [(str(node["xnode_union_type"]), int(node.get("debug_handle", 0))) for node in program["xnodes"]]


def _folders() -> Sequence[Path]:
    return [Path(folder) for folder in importlib.import_module(_SERIALISATION).__path__]
