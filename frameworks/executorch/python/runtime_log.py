"""What the ExecuTorch runtime logs: passed on to standard error, and read to explain failures."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator, Sequence

from frameworks.executorch.python.failure import ExitStatus, Failure

_OPERATOR_MISSING, _LACK_OF_MEMORY = 0x14, (0x21, 0x31)
"""Numbers of runtime/core/error.h."""


@contextlib.contextmanager
def explained(status: ExitStatus, what: str, log: io.StringIO) -> Iterator[None]:
    """Turn what the runtime raises and logs into a Failure in words: `what`, unless something better is known."""
    try:
        yield
    except MemoryError as error:
        raise Failure(ExitStatus.OUT_OF_MEMORY, f"out of memory: {error}") from error
    except RuntimeError as error:  # every failure of the extension
        said = [re.sub(r"^\[[^]]*\] ", "", line) for line in log.getvalue().splitlines() if line.strip()]
        raise _failure(status, what, said, str(error)) from error


def _failure(status: ExitStatus, what: str, said: Sequence[str], raised: str) -> Failure:
    found = re.search(r"error:? 0x:?([0-9a-f]+)", raised)
    code = int(found.group(1), 16) if found else None
    detail = said[-1] if said else " ".join(raised.split())
    if code in _LACK_OF_MEMORY or "allocate memory" in raised:
        return Failure(ExitStatus.OUT_OF_MEMORY, f"out of memory: {detail}")
    missing = (_missing_operators(said) if code == _OPERATOR_MISSING else None) or _missing_backend(said)
    return Failure(status, missing or f"{what} ({detail})")


def _missing_operators(said: Sequence[str]) -> str | None:
    names = dict.fromkeys(found for line in said for found in re.findall(r"^Missing operator: \[\d+\] (.+)$", line))
    if not names:
        return None
    noun = "operators" if len(names) > 1 else "operator"
    return f"the program needs {noun} {', '.join(names)}, which this runtime does not have"


def _missing_backend(said: Sequence[str]) -> str | None:
    for line in said:
        if missing := re.match(r"Backend (\S+) is not (registered|available)\.$", line):
            here = " on this machine" if missing.group(2) == "available" else ""
            return f"the program uses backend {missing.group(1)}, which this runtime does not have{here}"
    return None
