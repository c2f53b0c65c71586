"""What a build's log tells: the first error, whatever wrote it, and how far the build is."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.builders.build_log import LogFollower, first_error
from harness.testing.progress import RecordedTask

HEADING = "CMake Error at third-party/CMakeLists.txt:8 (add_subdirectory):"
CMAKE = """\
-- Performing Test HAVE_X - Failed, error: no such header
CMake Warning at third-party/x/CMakeLists.txt:3 (message):
  deprecated

CMake Error at third-party/CMakeLists.txt:8 (add_subdirectory):
  The source directory

    /src/third-party/json

  does not contain a CMakeLists.txt file.

-- Configuring incomplete, errors occurred!
"""
LINKER = """\
[7/9] Linking CXX executable runner
FAILED: runner
/usr/bin/ld: main.o: in function `main':
main.cpp:(.text+0x5): undefined reference to `load()'
collect2: error: ld returned 1 exit status
ninja: build stopped: subcommand failed.
"""
TRACEBACK = """\
[3/9] Generating code
FAILED: gen.stamp
Traceback (most recent call last):
  File "/src/gen.py", line 2, in <module>
    import yaml
ModuleNotFoundError: No module named 'yaml'
ninja: build stopped: subcommand failed.
"""


@pytest.mark.parametrize(
    ("log", "error"),
    [
        (CMAKE, f"{HEADING} The source directory /src/third-party/json does not contain a CMakeLists.txt file."),
        ("CMake Error: could not load cache\n", "CMake Error: could not load cache"),
        (LINKER, "main.cpp:(.text+0x5): undefined reference to `load()'"),
        (TRACEBACK, "ModuleNotFoundError: No module named 'yaml'"),
        ("a.c:1: warning: error: is a word\nfatal error: x.h: No such file\n", "fatal error: x.h: No such file"),
        ("ninja: error: unknown target 'runner'\n", "ninja: error: unknown target 'runner'"),
        ("error[E0432]: unresolved import\n", "error[E0432]: unresolved import"),
        ("ERROR: No matching distribution\n", "ERROR: No matching distribution"),
        ("gmake[2]: *** [x] Error 2\na.c:3: error: expected ;\n", "a.c:3: error: expected ;"),
        ("make: *** No rule to make target 'x'.  Stop.\n", "make: *** No rule to make target 'x'.  Stop."),
        ("all is well\n", ""),
    ],
)
def test_the_first_error_is_found_whatever_wrote_it(tmp_path: Path, log: str, error: str) -> None:
    (tmp_path / "log").write_text(log)
    assert first_error(tmp_path / "log") == error


def test_an_error_far_before_the_end_is_found(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("a.c:3: error: expected ;\n" + "x" * 100 + "\n" * 200_000)
    assert first_error(tmp_path / "log") == "a.c:3: error: expected ;"
    assert first_error(tmp_path / "none") == ""


def test_stage_and_steps_of_a_growing_log_are_shown(tmp_path: Path) -> None:
    log, task = tmp_path / "log", RecordedTask("building", None)
    follower = LogFollower(log, task)
    follower.look()
    assert task.text == "building", "there is no log yet"
    shown = []
    for text in (
        "stage: unpacking\n",
        "-- The C compiler is GNU\n",
        "[1/40] a\n[2/40] b\n[3/",
        "40] c\n",
        "[ 50%] x\n",
    ):
        with log.open("a") as stream:
            stream.write(text)
        follower.look()
        shown.append((task.text, task.completed, task.total))
    assert shown == [
        ("unpacking", None, None),
        ("configuring", None, None),
        ("compiling [2/40]", 2, 40),
        ("compiling [3/40]", 3, 40),
        ("compiling", 50, 100),
    ]
