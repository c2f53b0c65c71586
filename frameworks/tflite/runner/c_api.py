"""LiteRT's C interface by `ctypes`, as far as compiled models need it.

Source: litert/c of github.com/google-ai-edge/LiteRT, for ai-edge-litert 2.3. Its Python package offers neither the
profiler nor, for the interpreter, the flags of XNNPACK. Groups of options are texts of TOML under a name.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Final

from frameworks.python_runner.failure import ExitStatus, RunnerFailure

ELEMENT_TYPES: Final = {
    1: "float32", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16", 9: "int8", 10: "float16", 11: "float64",
    13: "uint64", 16: "uint32", 17: "uint16", 19: "bfloat16",
}  # fmt: skip
"""Element types by the numbers of `LiteRtElementType`."""

OPERATOR_EVENTS: Final = (2, 8)
"""Events of operators: of the interpreter, and inside of a delegate that times its own."""

INTERPRETER_EVENT: Final = 2
READ, WRITE = 0, 1
"""Modes of locking a buffer."""

CPU: Final = 1
"""`kLiteRtHwAcceleratorCpu`."""

_STATUS_OK: Final = 0
_MAX_RANK: Final = 8


class Layout(Structure):
    """`LiteRtLayout`: the rank in seven bits of the first word."""

    _fields_: ClassVar = [
        ("rank_bits", c_uint32),
        ("dimensions", c_int32 * _MAX_RANK),
        ("strides", c_uint32 * _MAX_RANK),
    ]

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the dimensions."""
        return tuple(self.dimensions[: min(self.rank_bits & 0x7F, _MAX_RANK)])


class RankedTensorType(Structure):
    """`LiteRtRankedTensorType`."""

    _fields_: ClassVar = [("element_type", c_int), ("layout", Layout)]


class ProfiledEvent(Structure):
    """`ProfiledEventData`: times in microseconds; the first metadata of an operator is its number."""

    _fields_: ClassVar = [
        ("tag", c_char_p),
        ("event_type", c_int),
        ("start_us", c_uint64),
        ("elapsed_us", c_uint64),
        ("memory", c_int64 * 6),
        ("number", c_uint64),
        ("metadata", c_uint64),
        ("source", c_int),
    ]


class Library:
    """The library of ai-edge-litert.

    Raises:
        RunnerFailure: It cannot be loaded.
    """

    def __init__(self) -> None:
        package = find_spec("ai_edge_litert")
        folders = (package.submodule_search_locations if package is not None else None) or ()
        path = next((Path(folder) / "libLiteRt.so" for folder in folders), Path("libLiteRt.so"))
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise RunnerFailure(ExitStatus.NOT_LOADED, f"cannot load LiteRT's library: {error}") from error
        self._texts: list[ctypes.Array[ctypes.c_char]] = []

    def call(self, name: str, *arguments: object) -> None:
        """Call a function that returns a status.

        Raises:
            RuntimeError: The status tells a failure.
        """
        status = getattr(self._library, name)(*arguments)
        if status != _STATUS_OK:
            raise RuntimeError(f"{name} failed with status {status}")

    def make(self, name: str, *arguments: object) -> c_void_p:
        """Call a function whose last argument receives a handle. Errors as for `call`."""
        handle = c_void_p()
        self.call(name, *arguments, byref(handle))
        return handle

    def text(self, name: str, *arguments: object) -> str:
        """Call a function whose last argument receives a text. Errors as for `call`."""
        value = c_char_p()
        self.call(name, *arguments, byref(value))
        return (value.value or b"").decode("utf-8", "replace")

    def count(self, name: str, handle: c_void_p) -> int:
        """Call a function that counts. Errors as for `call`."""
        value = c_size_t()
        self.call(name, handle, byref(value))
        return value.value

    def add_options(self, options: c_void_p, group: str, text: str) -> None:
        """Add a group of options. Errors as for `call`."""
        content = ctypes.create_string_buffer(text.encode())
        self._texts.append(content)  # the options do not copy it
        group_options = self.make("LiteRtCreateOpaqueOptions", group.encode(), content, _KEEP)
        self.call("LiteRtAddOpaqueOptions", options, group_options)

    def tensor_type(self, tensor: c_void_p) -> RankedTensorType:
        """Return the type of a tensor. Errors as for `call`."""
        described = RankedTensorType()
        self.call("LiteRtGetRankedTensorType", tensor, byref(described))
        return described

    def events(self, profiler: c_void_p) -> list[ProfiledEvent]:
        """Return what a profiler has recorded. Errors as for `call`."""
        count = c_int()
        self.call("LiteRtGetNumProfilerEvents", profiler, byref(count))
        if not count.value:  # asking for none is an error
            return []
        events = (ProfiledEvent * count.value)()
        self.call("LiteRtGetProfilerEvents", profiler, count, ctypes.cast(events, POINTER(ProfiledEvent)))
        return list(events)


def _keep(_: int) -> None:
    """Free nothing: Python owns the text."""


_KEEP: Final = ctypes.CFUNCTYPE(None, c_void_p)(_keep)
