"""The end of the process: at once, when everything that was promised for the end has been done."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

START = """
import atexit, sys
class Witness:
    def __del__(self):
        print("freed")
witness = Witness()
witness.itself = witness
import harness.__main__, harness.cli
{before}
def run():
    {command}
harness.cli.main = run
harness.__main__.main()
"""
"""A process whose command is another one. An object that refers to itself is freed by the usual end only."""


def _run(command: str, before: str = "", *words: str) -> subprocess.CompletedProcess[str]:
    script = START.format(command=command, before=before)
    return subprocess.run(
        (sys.executable, "-c", script, *words), capture_output=True, text=True, timeout=60, check=False
    )


def _outcome(done: subprocess.CompletedProcess[str]) -> tuple[int, Sequence[str], str]:
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_exit_code_and_output_arrive_and_nothing_is_freed() -> None:
    assert _outcome(_run("print('last words'); sys.exit(3)")) == (3, ["last words"], "")


def test_whatever_was_registered_for_the_end_is_called() -> None:
    assert _outcome(_run("atexit.register(print, 'closed'); sys.exit(1)")) == (1, ["closed"], "")


def test_threads_are_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "written"
    command = (
        "import pathlib, threading, time; "
        "write = lambda: (time.sleep(0.3), pathlib.Path(sys.argv[1]).write_text('all')); "
        "threading.Thread(target=write).start(); sys.exit(0)"
    )
    assert _outcome(_run(command, "", str(file))) == (0, [], "")
    assert file.read_text() == "all"


def test_what_was_registered_before_the_harness_began_is_called_too() -> None:
    done = _run("sys.exit(2)", "atexit.register(print, 'lines measured')")
    assert _outcome(done) == (2, ["lines measured", "freed"], "")


def test_an_exit_that_is_no_number_and_an_error_end_as_python_ends_them() -> None:
    assert _outcome(_run("sys.exit('words')")) == (1, ["freed"], "words\n")
    done = _run("raise RuntimeError('broken')")
    assert (done.returncode, done.stdout) == (1, "freed\n")
    assert done.stderr.endswith("RuntimeError: broken\n")


def test_an_output_that_cannot_be_written_changes_no_exit_code_silently() -> None:
    script = START.format(command="sys.stdout.write('x' * 10); sys.exit(0)", before="")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run((sys.executable, "-c", script), stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode != 0
    assert b"No space left" in done.stderr
