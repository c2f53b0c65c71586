"""Facts about a program that its file has and the runtime does not tell.

The file is a flatbuffer (https://flatbuffers.dev/internals/) by upstream's `schema/program.fbs`, which only ever grows
at the ends of its tables; the numbers of fields below are those of the schema. The package `flatbuffers` reads the same
with the same numbers, but without types.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PLANS: Final = 1
"""Of `Program`."""
_NAME, _VALUES, _INPUTS = 0, 2, 3
"""Of `ExecutionPlan`."""
_VALUE_TYPE, _VALUE = 0, 1
"""Of `EValue`."""
_TENSOR_TYPE: Final = 5
"""Of the union `KernelTypes`."""
_DIM_ORDER: Final = 3
"""Of `Tensor`."""


@dataclass(frozen=True, slots=True)
class Table:
    """Table of a flatbuffer.

    Attributes:
        content: The whole file.
        place: Where the table begins.
    """

    content: bytes | mmap.mmap
    place: int

    def field(self, number: int) -> int | None:
        """Return where a field is; None where it is absent, and has its default."""
        vtable = self.place - self._read("<i", self.place)
        offset = 4 + 2 * number
        if offset >= self._read("<H", vtable):
            return None
        return self.place + inside if (inside := self._read("<H", vtable + offset)) else None

    def number(self, number: int, form: str, default: int = 0) -> int:
        """Return a number, whose form is that of `struct`."""
        place = self.field(number)
        return default if place is None else self._read(form, place)

    def table(self, number: int) -> Table | None:
        """Return a table, also one of a union."""
        place = self.field(number)
        return None if place is None else Table(self.content, place + self._read("<I", place))

    def tables(self, number: int) -> tuple[Table, ...]:
        """Return each table of a vector."""
        return tuple(Table(self.content, place + self._read("<I", place)) for place in self._items(number, 4))

    def numbers(self, number: int, form: str) -> tuple[int, ...]:
        """Return each number of a vector."""
        return tuple(self._read(form, place) for place in self._items(number, struct.calcsize(form)))

    def text(self, number: int) -> str:
        """Return a text."""
        return bytes(self.numbers(number, "<B")).decode(errors="replace")

    def _items(self, number: int, size: int) -> Iterator[int]:
        place = self.field(number)
        if place is not None:
            start = place + self._read("<I", place)
            for index in range(self._read("<I", start)):
                yield start + 4 + index * size

    def _read(self, form: str, place: int) -> int:
        value: int = struct.unpack_from(form, self.content, place)[0]
        return value


def input_dim_orders(program: Path, method: str) -> tuple[tuple[int, ...] | None, ...]:
    """Return the order of dimensions in memory of each input of a method, from the outermost to the innermost.

    Args:
        program: A file that the runtime has loaded, and so has verified.
        method: A method that it has.

    Returns:
        For each input its order; None where it is not a tensor.
    """
    with program.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        root = Table(content, struct.unpack_from("<I", content)[0])
        plan = next(plan for plan in root.tables(_PLANS) if plan.text(_NAME) == method)
        values = plan.tables(_VALUES)
        return tuple(_dim_order(values[index]) for index in plan.numbers(_INPUTS, "<i"))


def _dim_order(value: Table) -> tuple[int, ...] | None:
    tensor = value.table(_VALUE)
    if tensor is None or value.number(_VALUE_TYPE, "<B") != _TENSOR_TYPE:
        return None
    return tensor.numbers(_DIM_ORDER, "<B")
