"""CPU lists and masks, as Linux tools write them."""

from __future__ import annotations

import re

_MOST = 4096
"""Larger CPU numbers are slips of the pen."""

_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def listed_cpus(given: int | str) -> tuple[int, ...]:
    """CPUs of a `cpu-list`: a number, `0,2` or `4-7`.

    Returns:
        The CPUs in ascending order; none when the number is 0 or less (FAI-PEP's way to forbid pinning).

    Raises:
        ValueError: It is no list of CPUs.
    """
    if isinstance(given, int) or re.fullmatch(r"-[0-9]+", given.strip()):
        return (int(given),) if 0 < int(given) < _MOST else _none_below(int(given))
    cpus: set[int] = set()
    for piece in given.split(","):
        found = _RANGE.fullmatch(piece.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if first > last or last >= _MOST:
            raise ValueError(f"{given!r} is not a list of CPUs such as `0,2` or `4-7`")
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def masked_cpus(mask: str) -> tuple[int, ...]:
    """CPUs of a hexadecimal mask: bit n is CPU n.

    Raises:
        ValueError: It is no mask, or has no CPU.
    """
    if not re.fullmatch(r"(0[xX])?[0-9a-fA-F]{1,1024}", mask) or not int(mask, 16):
        raise ValueError(f"{mask!r} is not a hexadecimal mask of CPUs such as `f0`")
    bits = int(mask, 16)
    return tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def _none_below(number: int) -> tuple[int, ...]:
    if number > 0:
        raise ValueError(f"there is no CPU {number}")
    return ()
