"""Facts about a program that its file has and the runtime does not tell.

The file is a flatbuffer (https://flatbuffers.dev/internals/) by upstream's `schema/program.fbs`, which only ever grows
at the ends of its tables; the numbers of fields below are those of the schema. The package `flatbuffers` reads the same
with the same numbers, but without types.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

_PLANS, _SEGMENTS, _CONSTANT_SEGMENT, _MUTABLE_SEGMENTS, _NAMED_DATA = 1, 4, 5, 6, 7
"""Of `Program`."""
_NAME, _VALUES, _INPUTS, _OUTPUTS, _DELEGATES, _PLANNED = 0, 2, 3, 4, 7, 8
"""Of `ExecutionPlan`."""
_VALUE_TYPE, _VALUE = 0, 1
"""Of `EValue`."""
_TENSOR_TYPE: Final = 5
"""Of the union `KernelTypes`."""
_SCALAR_TYPE, _SIZES, _DIM_ORDER, _SHAPE_DYNAMISM = 0, 2, 3, 8
"""Of `ProgramTensor`."""

_ID, _PROCESSED = 0, 1
"""Of `BackendDelegate`."""
_LOCATION, _INDEX = 0, 1
"""Of `BackendDelegateDataReference`; its location is 1 where the data are a segment, else they are in the program."""
_SEGMENT_SIZE: Final = 1
"""Of `DataSegment`."""
_SEGMENT_INDEX, _SUBSEGMENT_OFFSETS = 0, 1
"""Of `SubsegmentOffsets`."""
_NAMED_SEGMENT: Final = 1
"""Of `NamedData`."""
_HEADER = struct.Struct("<4sIQQ")
"""Extended header at offset 8 (runtime/schema/extended_header.h): `eh00`, its length, size of the program, and offset
of the segments."""

DTYPES: Final = MappingProxyType(
    {
        0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64",
        11: "bool", 15: "bfloat16", 27: "uint16", 28: "uint32", 29: "uint64",
    }
)  # fmt: skip
"""Names of scalar types by their numbers in runtime/core/portable_type/scalar_type.h."""


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


@dataclass(frozen=True, slots=True)
class ProgramTensor:
    """Input or output of a method.

    Attributes:
        scalar_type: Number of its type (see `DTYPES`).
        sizes: Dimensions; of a dynamic shape the largest.
        dim_order: Dimensions in the order of memory, from the outermost to the innermost.
        is_static: Whether its shape never changes.
    """

    scalar_type: int
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    is_static: bool

    @property
    def is_row_major(self) -> bool:
        """True if its elements lie in memory as in C and NumPy."""
        return self.dim_order == tuple(range(len(self.sizes)))


@dataclass(frozen=True, slots=True)
class Signature:
    """What a method takes, gives and needs.

    Attributes:
        inputs: Its inputs; None where they are not tensors.
        outputs: Its outputs, likewise.
        planned_bytes: Sizes of the buffers for inputs, outputs and intermediate values that its memory plan has.
        backends: Names of the backends that it delegates to.
    """

    inputs: tuple[ProgramTensor | None, ...]
    outputs: tuple[ProgramTensor | None, ...]
    planned_bytes: tuple[int, ...]
    backends: frozenset[str]


def read_signature(program: Path, method: str) -> Signature:
    """Read what a method takes and gives.

    Args:
        program: A file that the runtime has loaded, and so has verified.
        method: A method that it has.
    """
    with _open(program) as root:
        plan = next(plan for plan in root.tables(_PLANS) if plan.text(_NAME) == method)
        values = plan.tables(_VALUES)
        inputs, outputs = (
            tuple(_tensor(values[index]) for index in plan.numbers(field, "<i")) for field in (_INPUTS, _OUTPUTS)
        )
        backends = frozenset(delegate.text(_ID) for delegate in plan.tables(_DELEGATES))
        return Signature(inputs, outputs, plan.numbers(_PLANNED, "<q")[1:], backends)  # the first size is reserved


def names_operators(program: Path, namespace: str) -> bool:
    """Return whether a program names operators of a namespace, such as `llama`; false where it cannot be read.

    Args:
        program: Any file: it is searched and not parsed, for nobody has verified it. Its segments are left out.
        namespace: The namespace.
    """
    try:
        with program.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            end = len(content)
            if end >= 8 + _HEADER.size:
                magic, _, program_bytes, _ = _HEADER.unpack_from(content, 8)
                end = min(end, program_bytes) if magic == b"eh00" else end
            return content.find(f"{namespace}::".encode(), 0, end) >= 0
    except (OSError, ValueError):  # the latter for an empty file
        return False


def read_sections(program: bytes) -> dict[str, int]:
    """Return the sizes in bytes of the parts of a program's file, which add up to that of the file.

    `program` is the flatbuffer with everything inside it; segments follow: `constants`, `delegate XnnpackBackend`,
    `named data` (weights that delegates share), `mutable data`, `other data`; the rest is `padding`.

    Args:
        program: The content of a file that the exporter wrote.
    """
    root = _root(program)
    magic, _, program_bytes, _ = _HEADER.unpack_from(program, 8)
    owners = dict(_segment_owners(root))
    sections = {"program": program_bytes if magic == b"eh00" else len(program)}
    for index, segment in enumerate(root.tables(_SEGMENTS)):
        owner = owners.get(index, "other data")
        sections[owner] = sections.get(owner, 0) + segment.number(_SEGMENT_SIZE, "<Q")
    sections["padding"] = len(program) - sum(sections.values())
    return {name: size_bytes for name, size_bytes in sections.items() if size_bytes}


def _segment_owners(root: Table) -> Iterator[tuple[int, str]]:
    """Yield the number of each segment whose use is known, with its use."""
    for data in root.tables(_NAMED_DATA):
        yield data.number(_NAMED_SEGMENT, "<I"), "named data"
    for mutable in root.tables(_MUTABLE_SEGMENTS):
        yield mutable.number(_SEGMENT_INDEX, "<I"), "mutable data"
    for plan in root.tables(_PLANS):
        for delegate in plan.tables(_DELEGATES):
            processed = delegate.table(_PROCESSED)
            if processed is not None and processed.number(_LOCATION, "<b") == 1:
                yield processed.number(_INDEX, "<I"), f"delegate {delegate.text(_ID)}"
    constants = root.table(_CONSTANT_SEGMENT)
    if constants is not None and constants.numbers(_SUBSEGMENT_OFFSETS, "<Q"):
        yield constants.number(_SEGMENT_INDEX, "<I"), "constants"


@contextlib.contextmanager
def _open(program: Path) -> Iterator[Table]:
    with program.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        yield _root(content)


def _root(content: bytes | mmap.mmap) -> Table:
    return Table(content, struct.unpack_from("<I", content)[0])


def _tensor(value: Table) -> ProgramTensor | None:
    tensor = value.table(_VALUE)
    if tensor is None or value.number(_VALUE_TYPE, "<B") != _TENSOR_TYPE:
        return None
    return ProgramTensor(
        scalar_type=tensor.number(_SCALAR_TYPE, "<b"),
        sizes=tensor.numbers(_SIZES, "<i"),
        dim_order=tensor.numbers(_DIM_ORDER, "<B"),
        is_static=tensor.number(_SHAPE_DYNAMISM, "<b") == 0,
    )
