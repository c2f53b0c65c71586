"""Links a program in another layout: starts a linker's command with its objects in another order and padding between.

    python permute_link.py SEED COMPILER WORD...

The order and the padding follow from the seed. Padding moves code, constants and data by multiples of 16 bytes: what a
compiler aligned stays aligned. CMake starts it in front of a linker by `CXX_LINKER_LAUNCHER`.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

_UNIT_BYTES = 16
"""Alignment of functions and of large objects on usual processors."""

_MOST_UNITS = 128
"""Padding before one object: at most 2 KiB in each section, so that two of them reach every offset of a page."""

_SECTIONS = (".text", '.section .rodata,"a"', ".data", ".bss")


def main() -> int:
    """Start the command, and return its exit code."""
    seed, *command = sys.argv[1:]
    chance = random.Random(int(seed))  # noqa: S311 - layouts, not secrets
    places = [
        place
        for place, word in enumerate(command)
        if word.endswith((".o", ".obj")) and place > 0 and command[place - 1] != "-o"
    ]
    objects = [command[place] for place in places]
    chance.shuffle(objects)
    with tempfile.TemporaryDirectory() as folder:
        for number, (place, name) in enumerate(zip(places, objects, strict=True)):
            padding = Path(folder, f"padding_{number}.s")
            padding.write_text(_padding(chance), encoding="ascii")
            command[place] = f"{padding}\0{name}"
        words = [word for joined in command for word in joined.split("\0")]
        return subprocess.run(words, check=False).returncode


def _padding(chance: random.Random) -> str:
    lines = []
    for section in _SECTIONS:
        lines += [section, f".balign {_UNIT_BYTES}", f".skip {_UNIT_BYTES * chance.randrange(_MOST_UNITS)}"]
    return "\n".join((*lines, '.section .note.GNU-stack,"",%progbits', ""))


if __name__ == "__main__":
    sys.exit(main())
