"""Failures of the runtime in words: what it raises, with what it writes to its log."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator, Sequence

from frameworks.python_runner.failure import ExitStatus, RunnerFailure

_OPERATOR_MISSING, _OUT_OF_MEMORY = 0x14, (0x21, 0x31)
"""Numbers of runtime/core/error.h."""


@contextlib.contextmanager
def explain_failures(status: ExitStatus, what: str, log: io.StringIO) -> Iterator[None]:
    """Turn what the runtime raises and logs into a `RunnerFailure`.

    Args:
        status: Its exit status, unless memory ran out.
        what: Its sentence, unless the log of the runtime tells more.
        log: The log of the runtime.
    """
    try:
        yield
    except MemoryError as error:
        raise RunnerFailure(ExitStatus.OUT_OF_MEMORY, f"out of memory: {error}") from error
    except RuntimeError as error:  # every failure of the extension
        raise explain(status, what, log.getvalue(), error) from error


def explain(status: ExitStatus, what: str, log: str, error: Exception) -> RunnerFailure:
    """Return the failure that the extension raised. Arguments as for `explain_failures`."""
    lines = [re.sub(r"^\[[^]]*\] ", "", line) for line in log.splitlines() if line.strip()]
    return _explain(status, what, lines, str(error))


def _explain(status: ExitStatus, what: str, lines: Sequence[str], raised: str) -> RunnerFailure:
    match = re.search(r"error:? 0x:?([0-9a-f]+)", raised)
    code = int(match[1], 16) if match else None
    detail = lines[-1] if lines else " ".join(raised.split())
    if code in _OUT_OF_MEMORY or "allocate memory" in raised:
        return RunnerFailure(ExitStatus.OUT_OF_MEMORY, f"out of memory: {detail}")
    missing = (_missing_operators(lines) if code == _OPERATOR_MISSING else None) or _missing_backend(lines)
    return RunnerFailure(status, missing or f"{what} ({detail})")


def _missing_operators(lines: Sequence[str]) -> str | None:
    names = dict.fromkeys(name for line in lines for name in re.findall(r"^Missing operator: \[\d+\] (.+)$", line))
    if not names:
        return None
    noun = "operators" if len(names) > 1 else "operator"
    return f"the program needs {noun} {', '.join(names)}, which this runtime does not have"


_REMEDIES = {
    "OpenvinoBackend": ": the library cannot be loaded (install the extra `openvino`, whose command "
    "`harness doctor` shows, or name the library in OPENVINO_LIB_PATH)"
}
"""What brings a backend that loads its library when the program starts."""


def _missing_backend(lines: Sequence[str]) -> str | None:
    for line in lines:
        if match := re.match(r"Backend (\S+) is not (registered|available)\.$", line):
            here = " on this machine" if match[2] == "available" else ""
            remedy = _REMEDIES.get(match[1], "")
            return f"the program uses backend {match[1]}, which this runtime does not have{here}{remedy}"
    return None
