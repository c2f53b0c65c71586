"""Compact forms of what a result has much of: samples as packed numbers, launches as run lengths, JSON compressed.

Every form gives the same bits back. The code of an encoding of numbers is `kind + 10 * digits + 100 * compressed`:

    kind 0  float64, little-endian
    kind 1  float32, where each number is the same as float64
    kind 2, 3, 4  int16, int32, int64: the number times 10 to the power of `digits`, where dividing gives it back
    compressed  zlib, of the bytes in the order of their significance (first bytes of all numbers, then second, ...)

Launches are pairs of varints (LEB128): the zigzag form of the difference to the launch before, and how many samples
follow with it. The first byte of a body tells its form: 0 is plain, 1 is zlib.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from struct import pack, unpack
from typing import Final

import numpy as np
from msgspec import Struct

_LEVEL: Final = 6
_KINDS: Final = ("<f8", "<f4", "<i2", "<i4", "<i8")
_MOST_DIGITS: Final = 6
_COMPRESSED: Final = 100
_FEW: Final = 8
"""Up to so many numbers, no other form is tried: nothing is saved, and trying costs more than storing."""

_EXACT: Final = 2.0**53


class PackedNumbers(Struct, frozen=True):
    """Numbers in one of the encodings.

    Attributes:
        count: How many.
        encoding: Code of the encoding.
        content: The bytes.
    """

    count: int
    encoding: int
    content: bytes


def pack_numbers(numbers: Sequence[float]) -> PackedNumbers:
    """Pack finite floats into the smallest of the forms that give each bit back."""
    if len(numbers) <= _FEW:
        return PackedNumbers(len(numbers), 0, pack(f"<{len(numbers)}d", *numbers))
    values = np.array(numbers, "<f8")
    kind, digits, array = _narrow(values)
    plain = array.tobytes()
    squeezed = zlib.compress(array.view(np.uint8).reshape(len(values), -1).T.tobytes(), _LEVEL)
    code = kind + 10 * digits
    if len(squeezed) < len(plain):
        return PackedNumbers(len(values), code + _COMPRESSED, squeezed)
    return PackedNumbers(len(values), code, plain)


def unpack_numbers(packed: PackedNumbers) -> tuple[float, ...]:
    """Return packed numbers.

    Raises:
        ValueError: The content is not what encoding and count say.
    """
    compressed, code = divmod(packed.encoding, _COMPRESSED)
    digits, kind = divmod(code, 10)
    if packed.encoding < 0 or compressed > 1 or kind >= len(_KINDS):
        raise ValueError(f"encoding {packed.encoding} is not known")
    if packed.encoding == 0:
        if len(packed.content) != 8 * packed.count:
            raise ValueError("the number of samples is wrong")
        return unpack(f"<{packed.count}d", packed.content)
    content = packed.content
    width = np.dtype(_KINDS[kind]).itemsize
    if compressed:
        try:
            shuffled = np.frombuffer(zlib.decompress(content), np.uint8)
        except zlib.error as error:
            raise ValueError(str(error)) from error
        if len(shuffled) != width * packed.count:
            raise ValueError("the number of samples is wrong")
        content = shuffled.reshape(width, -1).T.tobytes()
    array = np.frombuffer(content, _KINDS[kind])
    if len(array) != packed.count:
        raise ValueError("the number of samples is wrong")
    return tuple(_widen(array, kind, digits).tolist())


def pack_launches(launches: Sequence[int]) -> bytes:
    """Pack the launch of each sample as lengths of runs."""
    content, last = bytearray(), 0
    for launch, group in groupby(launches):
        difference, last = launch - last, launch
        _add_varint(content, 2 * difference if difference >= 0 else -2 * difference - 1)
        _add_varint(content, sum(1 for _ in group))
    return bytes(content)


def unpack_launches(content: bytes) -> tuple[int, ...]:
    """Return packed launches.

    Raises:
        ValueError: The content ends within a number.
    """
    launches: list[int] = []
    last = 0
    numbers = _read_varints(content)
    for zigzag in numbers:
        last += zigzag // 2 if zigzag % 2 == 0 else -(zigzag + 1) // 2
        count = next(numbers, None)
        if count is None:
            raise ValueError("the launches end early")
        launches.extend([last] * count)
    return tuple(launches)


def pack_body(text: str) -> bytes:
    """Compress the JSON of a result without its samples, where that saves anything."""
    plain = text.encode()
    squeezed = zlib.compress(plain, _LEVEL)
    return b"\x01" + squeezed if len(squeezed) < len(plain) else b"\x00" + plain


def unpack_body(content: bytes) -> bytes:
    """Return the JSON of a result without its samples.

    Raises:
        ValueError: It is in no known form, or damaged.
    """
    match content[:1]:
        case b"\x00":
            return content[1:]
        case b"\x01":
            try:
                return zlib.decompress(content[1:])
            except zlib.error as error:
                raise ValueError(str(error)) from error
        case _:
            raise ValueError("the form of a body is not known")


def _narrow(values: np.ndarray) -> tuple[int, int, np.ndarray]:
    """Return the kind, the digits and the array of the narrowest form that gives the same bits."""
    largest = float(np.abs(values).max())
    for digits in range(_MOST_DIGITS + 1):
        if largest * 10**digits >= _EXACT:
            break
        scaled = np.rint(values * 10**digits)
        if not _is_same(scaled / 10**digits, values):
            continue
        top = float(np.abs(scaled).max())
        kind = 2 if top < 2**15 else 3 if top < 2**31 else 4
        array = scaled.astype(_KINDS[kind])
        if _is_same(_widen(array, kind, digits), values):  # an integer has no -0.0
            return kind, digits, array
    if largest < float(np.finfo(np.float32).max):
        single = values.astype("<f4")
        if _is_same(single.astype("<f8"), values):
            return 1, 0, single
    return 0, 0, values


def _widen(array: np.ndarray, kind: int, digits: int) -> np.ndarray:
    wide = array.astype("<f8")
    return wide / 10**digits if kind >= 2 else wide


def _is_same(left: np.ndarray, right: np.ndarray) -> bool:
    return left.tobytes() == right.tobytes()


def _add_varint(content: bytearray, number: int) -> None:
    while number >= 0x80:
        content.append(number & 0x7F | 0x80)
        number >>= 7
    content.append(number)


def _read_varints(content: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in content:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number
            number = shift = 0
    if shift:
        raise ValueError("a number ends early")
