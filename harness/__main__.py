"""Entry point of the command `harness`, and of `python -m harness`: everything else is imported from here.

Importing takes longer than many commands. Ctrl-C in that time, and until a command has handlers of its own
(`harness.shell.handle_signals`), ends the process at once: nothing was measured or changed yet. A `KeyboardInterrupt`
in the midst of an import would appear as whatever that import makes of it, or as a traceback.

Freeing every object, one by one, takes long too. When threads have ended and everything that was
registered for the end has been called, this process ends at once instead: the system frees its memory.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys

TYPE_CHECKING = False  # `typing` takes longer to import than all of the above, and is imported behind the handler
if TYPE_CHECKING:
    from typing import Final, NoReturn

_OBJECTS_BETWEEN_COLLECTIONS: Final = 300_000
"""Importing makes many objects and no garbage; Python would look for some after every 700 of them."""
_INTERRUPTED: Final = 130
"""`harness.core.errors.ExitCode.INTERRUPTED`, which is not imported yet."""


def main() -> None:
    """Run the console command, and end the process with its exit code."""
    code: int | None = None

    def end_at_once() -> None:
        if isinstance(code, int):
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            except (AttributeError, OSError, ValueError):  # closed, or full: Python has its own end for that
                return
            os._exit(code)

    # What was registered first is called last. Where something is registered already (a tool that measures which lines
    # are executed), it would never be called.
    if atexit._ncallbacks() == 0:  # noqa: SLF001 - there is no other way to know
        atexit.register(end_at_once)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a job in the background ignores it
        signal.signal(signal.SIGINT, _exit_at_once)
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    from harness.cli import main as run_command  # noqa: PLC0415 - see above

    try:
        run_command()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else None
        raise


def _exit_at_once(number: int, _frame: object) -> NoReturn:
    try:
        os.write(2, f"harness: interrupted ({signal.Signals(number).name})\n".encode())
    finally:  # also where standard error is closed, or nobody reads it
        os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
