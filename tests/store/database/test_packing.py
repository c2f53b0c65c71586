"""Packed samples: every bit comes back, in no more bytes than plain numbers take."""

from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.store.database.packing import (
    PackedNumbers,
    pack_body,
    pack_launches,
    pack_numbers,
    unpack_body,
    unpack_launches,
    unpack_numbers,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
CLOCK = st.integers(0, 10**9).map(lambda count: count / 1000)
WHOLE = st.integers(-(2**60), 2**60).map(float)
SINGLE = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.one_of(*(st.lists(kind, max_size=60) for kind in (FINITE, CLOCK, WHOLE, SINGLE, st.just(-0.0)))))
def test_numbers_come_back_bit_for_bit(numbers: list[float]) -> None:
    packed = pack_numbers(numbers)
    back = unpack_numbers(packed)
    assert pack(f"<{len(numbers)}d", *back) == pack(f"<{len(numbers)}d", *numbers)
    assert {*map(type, back)} <= {float}
    assert len(packed.content) <= 8 * len(numbers)


@given(st.lists(st.tuples(st.integers(-(2**70), 2**70), st.integers(1, 300)), max_size=8))
def test_launches_come_back(runs: list[tuple[int, int]]) -> None:
    launches = tuple(launch for launch, count in runs for _ in range(count))
    assert unpack_launches(pack_launches(launches)) == launches


def test_figures_of_a_clock_take_less_than_half() -> None:
    numbers = [8.0 + (index * 7919 % 1000) / 1000 for index in range(1000)]
    assert len(pack_numbers(numbers).content) < 8 * len(numbers) / 2
    assert len(pack_launches([launch for launch in range(100) for _ in range(100)])) == 200


@given(st.text())
def test_bodies_come_back(text: str) -> None:
    assert unpack_body(pack_body(text)) == text.encode()


@pytest.mark.parametrize(
    "packed",
    [
        PackedNumbers(1, 0, b""),
        PackedNumbers(2, 2, b"\0"),
        PackedNumbers(3, 3, b"\0" * 4),
        PackedNumbers(3, 100, b"no zlib"),
        PackedNumbers(3, 9, b"\0" * 24),
        PackedNumbers(3, 1000, b"\0" * 24),
        PackedNumbers(3, -1, b"\0" * 24),
    ],
)
def test_damaged_numbers_are_noticed(packed: PackedNumbers) -> None:
    with pytest.raises(ValueError, match=r".+"):
        unpack_numbers(packed)


@pytest.mark.parametrize("content", [b"\x80", b"\x02"])
def test_damaged_launches_are_noticed(content: bytes) -> None:
    with pytest.raises(ValueError, match="early"):
        unpack_launches(content)


@pytest.mark.parametrize("content", [b"", b"\x07{}", b"\x01damaged"])
def test_damaged_bodies_are_noticed(content: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        unpack_body(content)
