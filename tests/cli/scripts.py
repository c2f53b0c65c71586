"""Runners that need no compiler: scripts that report as if they had measured, and a git history of them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cli.project import Project

SCRIPT = """#!{python} -S
import json, os, random, sys, time
launches = "@LAUNCHES@"
with open(launches, "a") as file:
    file.write("x")
chance = random.Random(f"{{os.path.basename(launches)}} {{os.path.getsize(launches)}}")
{before}
for _ in range(12):
    value = {level} * (1 + chance.gauss(0, {noise}))
    value = round(value / {step}) * {step} if {step} else value
    print("PyTorchObserver", json.dumps(dict(type="NET", metric="latency", unit="us", value=str(value))))
"""
RECIPE = 'cp "$1/runner" "$2"\n'


def text(level: float = 1000.0, *, before: str = "", step: float = 0.0, noise: float = 0.002) -> str:
    """A runner whose launches tell figures near the level, rounded to steps: other ones in each launch of one program.

    The noise is the standard deviation of its figures, as a share of the level. It is complete when `_counted` was told
    where to count launches: what a test decides is not left to chance.
    """
    return SCRIPT.format(python=sys.executable, level=level, before=before, step=step, noise=noise)


def script(project: Project, name: str, content: str) -> Path:
    """A program of its own: equal texts in two files are two programs."""
    path = project.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{_counted(project, name, content)}# {name}\n")
    path.chmod(0o755)
    return path


@dataclass(frozen=True)
class History:
    """A git repository of scripts, its recipe, and the hash of each state."""

    folder: Path
    recipes: Path
    commits: dict[str, str]


def git_of_scripts(project: Project, *, slower: float = 1.1, noise: float = 0.002) -> History:
    """`base`, one that is `slower`, `same` as the base, and `broken`, which cannot be built; the branch is `main`."""
    folder = project.folder / "clone"
    folder.mkdir()
    _git(folder, "init", "--quiet", "--initial-branch=main")
    commits = {}
    for state in ("base", "slower", "same", "broken"):
        (folder / "runner").unlink(missing_ok=True)
        if state != "broken":
            runner = _counted(project, state, text(1000.0 * (slower if state == "slower" else 1.0), noise=noise))
            (folder / "runner").write_text(f"{runner}# {state}\n")
            (folder / "runner").chmod(0o755)
        _git(folder, "add", "-A")
        _git(folder, "commit", "--quiet", "-m", f"Make it {state}")
        commits[state] = _git(folder, "rev-parse", "HEAD")
    project.write("recipes/generic/host/build.sh", RECIPE)
    return History(folder, project.folder / "recipes", commits)


def _counted(project: Project, name: str, content: str) -> str:
    folder = project.folder / "launches"
    folder.mkdir(exist_ok=True)
    return content.replace("@LAUNCHES@", str(folder / name.replace("/", "-")))


def _git(folder: Path, *arguments: str) -> str:
    identity = {f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **identity, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, env=environment)
    return done.stdout.strip()
