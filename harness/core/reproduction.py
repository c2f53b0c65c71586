"""Reproduction: the command that measures one result once more."""

import glob
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from harness.core.values import Value

SHORT_DIGEST: Final = 16
"""Hexadecimal digits of a digest in a command: 64 bits."""

SIDES: Final = ".."
"""What stands between the digests of a comparison's control and of its treatment in a command."""

_SEPARATORS: Final = re.compile(r"[,\s]|^\{")
"""Characters that `--devices` gives a meaning."""


class Reproduction(Value):
    """Command that measures exactly one benchmark on one device once more, as it was measured.

    Attributes:
        command: Its words, which all results of a run share, from `harness` on.
        benchmark: Title of the benchmark.
        benchmark_digest: Digest of its definition.
        build_digests: Digests of the runners, of the control first; those that are not known are left out.
        file_digests: MD5s of the files that took part and were not exported.
        device: Identity of the device; null where there was none.
        beside: Others that have to be measured with it, such as the other programs of a ranking.
    """

    command: tuple[str, ...]
    benchmark: str
    benchmark_digest: str
    build_digests: tuple[str, ...] = ()
    device: str | None = None
    file_digests: tuple[str, ...] = ()
    beside: tuple["Reproduction", ...] = ()

    @property
    def line(self) -> str:
        """The command as it is typed into a shell."""
        return _format_line((self,))


def format_lines(reproductions: Iterable[Reproduction]) -> tuple[str, ...]:
    """Return the fewest lines that measure these once more: results of one command are measured by one."""
    cells: dict[tuple[str, ...], list[Reproduction]] = {}
    for reproduction in reproductions:
        cells.setdefault(reproduction.command, []).append(reproduction)
    return tuple(map(_format_line, cells.values()))


def _format_line(cells: Sequence[Reproduction]) -> str:
    """Return the line for cells of one command, and what has to be measured with them."""
    cells = [each for cell in cells for each in (cell, *cell.beside)]
    flags = {
        "--only": [glob.escape(cell.benchmark) for cell in cells],
        "--benchmark-digest": [cell.benchmark_digest[:SHORT_DIGEST] for cell in cells],
        "--build-digest": [_format_builds(cell.build_digests) for cell in cells if cell.build_digests],
        "--file-digest": [digest[:SHORT_DIGEST] for cell in cells for digest in cell.file_digests],
        "--devices": [format_device(cell.device) for cell in cells if cell.device is not None],
    }
    words = [word for flag, values in flags.items() if values for word in (flag, *dict.fromkeys(values))]
    return shlex.join((*cells[0].command, *words))


def _format_builds(digests: Sequence[str]) -> str:
    """Return the word for the runners of a cell: one digest where both sides of a comparison are the same."""
    return SIDES.join(dict.fromkeys(digest[:SHORT_DIGEST] for digest in digests))


def format_device(identity: str) -> str:
    """Return the word that names a device: in FAI-PEP's form where its identity has separators."""
    return json.dumps({"hash": identity}) if _SEPARATORS.search(identity) else identity
