"""The command in a process that is forked from one that has imported it already.

Most of the time of a short command is importing, and tests start hundreds of them. What happens in such a process is
what happens in one of `python -m harness`, but for what is decided before the first import: the encodings of streams
and other variables of the interpreter. Commands with variables of their own are therefore started as users start them.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_IMPORTED: Final = (
    "cyclopts",
    "rich.console",
    "harness.cli",
    "harness.flows.compare.compare",
    "harness.flows.inspect.reports",
    "harness.flows.measure.run",
)
"""Nothing that starts threads, and nothing that reads settings."""
_processes: Final = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload([__name__, *_IMPORTED])


def run_forked(
    words: Sequence[str], *, folder: Path, environment: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end.

    Args:
        words: Its arguments.
        folder: Its working directory.
        environment: All of its variables.
        timeout_s: Time limit.

    Raises:
        TimeoutExpired: It did not end in time, and was killed.
    """
    with tempfile.TemporaryDirectory() as streams:
        outputs = Path(streams, "stdout"), Path(streams, "stderr")
        process = _processes.Process(target=_run, args=(tuple(words), folder, dict(environment), *outputs))
        process.start()
        process.join(timeout_s)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(words, timeout_s)
        stdout, stderr = (path.read_text("utf-8", errors="replace") for path in outputs)
        return subprocess.CompletedProcess(words, process.exitcode, stdout, stderr)


def _run(words: Sequence[str], folder: Path, environment: Mapping[str, str], stdout: Path, stderr: Path) -> None:
    for number, (path, flags) in enumerate(
        ((Path(os.devnull), os.O_RDONLY), (stdout, os.O_WRONLY | os.O_CREAT), (stderr, os.O_WRONLY | os.O_CREAT))
    ):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path.insert(0, str(folder))
    sys.argv = ["harness", *words]
    from harness.__main__ import main  # noqa: PLC0415 - as the interpreter calls it

    try:
        main()
    finally:  # as the interpreter does it at its end, and multiprocessing does not
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
