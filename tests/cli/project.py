from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.forked import run_forked


@dataclass(frozen=True)
class Outcome:
    """What a run of the command left: exit code, both streams, results."""

    code: int
    stdout: str
    stderr: str
    results: Path

    def read(self) -> list[dict[str, Any]]:
        """Every stored result, in the order in which they were stored."""
        results = [json.loads(path.read_text()) for path in self.results.rglob("result.json")]
        return sorted(results, key=lambda result: result["finished"])

    def outcomes(self) -> dict[str, str]:
        return {result["benchmark"]["identifier"]: result["outcome"] for result in self.read()}


@dataclass(frozen=True)
class Project:
    """A folder with specifications, a cache and results of its own."""

    folder: Path
    cache: Path

    @property
    def environment(self) -> dict[str, str]:
        ours = {
            "HARNESS_CACHE_DIR": str(self.cache),
            "HARNESS_LOCAL_REPORTER": str(self.folder / "results"),
            "HARNESS_CONFIG_DIR": str(self.folder / "config"),
            "COLUMNS": "150",
        }
        return {name: value for name, value in os.environ.items() if not name.startswith("HARNESS_")} | ours

    def write(self, name: str, content: Mapping[str, Any] | str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return path

    def harness(self, *arguments: str | Path, timeout_s: float = 900, **environment: str) -> Outcome:
        """Run the command to its end; with variables of its own as users start it, and else forked, which is faster."""
        if environment:
            return self.started_harness(*arguments, timeout_s=timeout_s, **environment)
        words = tuple(map(str, arguments))
        return self._outcome(run_forked(words, folder=self.folder, environment=self.environment, timeout_s=timeout_s))

    def started_harness(self, *arguments: str | Path, timeout_s: float = 900, **environment: str) -> Outcome:
        """Run the command to its end in a process of its own, as users start it: what it costs is measured so."""
        done = subprocess.run(
            command(*arguments),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return self._outcome(done)

    def _outcome(self, done: subprocess.CompletedProcess[str]) -> Outcome:
        return Outcome(done.returncode, done.stdout, done.stderr, self.folder / "results")


def command(*arguments: str | Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "harness", *map(str, arguments))


def observe(*values: float, before: str = "", after: str = "") -> str:
    """A command line of a program that prints latencies."""
    observations = [
        json.dumps({"type": "NET", "metric": "latency", "unit": "us", "value": str(value)}) for value in values
    ]
    lines = [f"print('PyTorchObserver ' + {observation!r}, flush=True)" for observation in observations]
    return shlex.join((sys.executable, "-c", "\n".join((before, *lines, after))))


def generic(*tests: Mapping[str, Any], **model: object) -> dict[str, Any]:
    """A specification of a generic model."""
    return {"model": {"name": "m", "format": "none", "framework": "generic", **model}, "tests": list(tests)}


def one_test(identifier: str, *commands: str, **fields: object) -> dict[str, Any]:
    return {"identifier": identifier, "metric": "delay", "commands": list(commands), **fields}
