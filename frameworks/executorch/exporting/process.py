"""The process in which one export happens.

    python -m frameworks.executorch.exporting.process REQUEST.json DESTINATION PARENT

It ends with the process whose number is PARENT: a killed harness leaves nothing behind that exports.

Standard error carries lines `progress: WHAT [DONE/ALL]`; after a failure all that libraries wrote, the traceback,
perhaps `hint: ...`, and last `error: ...`, with exit status 1. Libraries are quiet otherwise.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TextIO

from frameworks.executorch.python.machine import die_with_parent
from harness.core.benchmark import Export
from harness.core.errors import ExportFailed


def main(arguments: Sequence[str]) -> None:
    """Export what the request file asks for; see the module for what is printed.

    Args:
        arguments: The request's file (an `Export` as JSON), the program's, and the number of the process that asks.
    """
    began = time.monotonic()
    request, destination, parent = arguments
    die_with_parent(int(parent))
    voice, log = sys.stderr, io.StringIO()
    sys.excepthook = functools.partial(_explain, voice, log)
    sys.path.append(str(Path.cwd()))  # Last, so that nothing there hides an installed package.
    say = functools.partial(_say, voice)
    with contextlib.redirect_stderr(log), contextlib.redirect_stdout(log):
        export = Export.model_validate_json(Path(request).read_bytes())
        say("importing torch and executorch")
        from frameworks.executorch.exporting.program import write_program  # noqa: PLC0415 - its imports are noisy

        write_program(export, Path(destination), say, began)


def _say(voice: TextIO, text: str) -> None:
    print(f"progress: {text}", file=voice, flush=True)


def _explain(
    voice: TextIO,
    log: io.StringIO,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    """The outermost frame: tell any failure in words."""
    voice.write(log.getvalue())
    traceback.print_exception(kind, error, trace, file=voice)
    reason, hint = f"{kind.__name__}: {error}", None
    if isinstance(error, ExportFailed):
        reason, hint = error.message, error.hint
    if hint is not None:
        print(f"hint: {_one_line(hint)}", file=voice)
    print(f"error: {_one_line(reason)}", file=voice, flush=True)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:400]


if __name__ == "__main__":
    main(sys.argv[1:])
