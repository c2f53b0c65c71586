"""A repository of a real C++ runner: a base, a commit that makes it slower, one that does not build, and a revert."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

CMAKE = """cmake_minimum_required(VERSION 3.16)
project(runner CXX)
add_executable(runner runner.cpp)
target_compile_options(runner PRIVATE -O2)
"""

RUNNER = """// Multiplies and adds for as long as it is told, and says how long it took.
#include <chrono>
#include <cstdio>
#include <cstdlib>
@INCLUDE@
int main(int argc, char** argv) {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 20;
  double value = 1.0 + argc;
  for (int i = 0; i < iterations + 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < @WORK@; ++k) value = value * 1.0000001 + 0.5;
    const auto end = std::chrono::steady_clock::now();
    const long long spent = std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
    if (i >= 3) {
      std::printf("PyTorchObserver {\\"type\\": \\"NET\\", \\"metric\\": \\"latency\\", \\"unit\\": \\"ns\\", ");
      std::printf("\\"value\\": \\"%lld\\"}\\n", spent);
    }
  }
  return value > 0 ? 0 : 1;
}
"""

WORK = 400_000
STATES = {
    "base": {"@WORK@": str(WORK), "@INCLUDE@": ""},
    "slower": {"@WORK@": str(WORK * 110 // 100), "@INCLUDE@": ""},
    "broken": {"@WORK@": str(WORK), "@INCLUDE@": "#include <no_such_header_anywhere.h>"},
    "reverted": {"@WORK@": str(WORK), "@INCLUDE@": ""},
}


@dataclass(frozen=True)
class Repository:
    """Where it is, and the full hash of each state by name."""

    folder: Path
    commits: dict[str, str]


def git_repository(folder: Path) -> Repository:
    """The history in git, on the branch `main`."""
    folder.mkdir()
    run(folder, "git", "init", "--quiet", "--initial-branch=main")
    commits = {}
    for state in STATES:
        write(folder, state)
        run(folder, "git", "add", "-A")
        run(folder, "git", "commit", "--quiet", "--allow-empty", "-m", f"Make it {state}")
        commits[state] = run(folder, "git", "rev-parse", "HEAD")
    return Repository(folder, commits)


def hg_repository(folder: Path) -> Repository:
    """The history in Mercurial."""
    folder.mkdir()
    run(folder, "hg", "init")
    commits = {}
    for state in STATES:
        write(folder, state)
        run(folder, "hg", "addremove", "--quiet")
        run(folder, "hg", "commit", "-m", f"Make it {state}")
        commits[state] = run(folder, "hg", "log", "-r", ".", "--template", "{node}")
    return Repository(folder, commits)


def write(folder: Path, state: str) -> None:
    """The working tree of a state; the comment makes sure that every state differs."""
    text = RUNNER
    for name, value in STATES[state].items():
        text = text.replace(name, value)
    (folder / "runner.cpp").write_text(text)
    (folder / "CMakeLists.txt").write_text(CMAKE)
    (folder / "STATE").write_text(state)


def run(folder: Path, *argv: str) -> str:
    """What a program prints; the identity of the author is ours and not the machine's."""
    identity = {
        "GIT_AUTHOR_NAME": "A. Author",
        "GIT_AUTHOR_EMAIL": "author@example.com",
        "GIT_COMMITTER_NAME": "A. Author",
        "GIT_COMMITTER_EMAIL": "author@example.com",
        "HGUSER": "A. Author <author@example.com>",
        "HGPLAIN": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    done = subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True, env={**os.environ, **identity})
    return done.stdout.strip()


def snapshot(repository: Repository) -> Sequence[str]:
    """Everything of a user's git clone that must stay as it is."""
    folder = repository.folder
    head = (folder / ".git" / "HEAD").read_text()
    references = run(folder, "git", "for-each-ref")
    status = run(folder, "git", "status", "--porcelain", "--ignored")
    worktrees = run(folder, "git", "worktree", "list")
    return (head, references, status, worktrees, str((folder / ".git" / "FETCH_HEAD").exists()))


def need(*programs: str) -> None:
    """Skip where a program is missing; in CI that is a failure."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"CI must have {', '.join(missing)}")
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
