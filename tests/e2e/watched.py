"""A repository of a real C++ runner that somebody works on, a project that watches it, and what became of both."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.core.alarm import Alarm, AlarmStage
from harness.core.errors import HarnessError
from harness.core.series import Series
from harness.watch.store.commits import CommitStatus
from harness.watch.store.notifications import DeliveryStatus
from harness.watch.store.state import State, read_state
from tests.cli.project import Outcome, Project, command, generic, one_test
from tests.processes import wait_until

WORK = 300_000
"""Steps of an iteration: a launch of ten takes about ten milliseconds."""

MONDAY = 1_767_571_200
"""2026-01-05 00:00 UTC."""

RUNNER = """// Multiplies and adds for as long as it is told, and says how long that took of its CPU.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#if __has_include("extra.h")
#include "extra.h"
#else
#define EXTRA 0
#endif
@HEAD@
extern const char note[] = "@NOTE@";
static long long now() {
  timespec moment;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &moment);
  return moment.tv_sec * 1000000000LL + moment.tv_nsec;
}
int main(int argc, char** argv) {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 10;
  double value = 1.0 + argc;
  for (int i = 0; i < iterations + 3; ++i) {
    const long long begin = now();
    for (int k = 0; k < @WORK@ + EXTRA; ++k) value = value * 1.0000001 + 0.5;
    const long long end = now();
    if (i >= 3) {
      std::printf("PyTorchObserver {\\"type\\": \\"NET\\", \\"metric\\": \\"latency\\", \\"unit\\": \\"ns\\", ");
      std::printf("\\"value\\": \\"%lld\\"}\\n", end - begin);
    }
  }
  return value > 0 ? 0 : 1;
}
"""

BREAKS = "#include <no_such_header_anywhere.h>"
CRASHES = "static const int crashed = (std::abort(), 0);"

RECIPE = """#!/bin/sh
set -eu
exec g++ -O2 "$1/runner.cpp" -o "$2"
"""

DIARY = """set -eu
mkdir -p "$1"
cat > "$1/$HARNESS_ALARM_KEY.json"
cmp "$1/$HARNESS_ALARM_KEY.json" "$HARNESS_ALARM_FILE"
echo "$HARNESS_ALARM_KEY" >> "$1/told"
"""
"""A command that is told of alarms: keeps each document, and writes down each time."""


@dataclass
class WatchedRepository:
    """A clone that somebody commits to.

    Attributes:
        folder: Where it is.
        commits: Full hashes, oldest first.
        every_s: Seconds from one commit to the next, as their dates say.
        steps: Steps of an iteration now.
    """

    folder: Path
    commits: list[str] = field(default_factory=list)
    every_s: int = 3600
    steps: int = WORK

    def commit(
        self, subject: str, *, slower: float = 0.0, breaks: bool = False, crashes: bool = False, same: bool = False
    ) -> str:
        """Commit something; the runner's bytes differ from all before.

        Args:
            subject: What its message says.
            slower: By so much more work, relative; -0.03 is 3 % less.
            breaks: Whether it does not build. The next one does again.
            crashes: Whether the runner does nothing but crash. The next one works again.
            same: Whether the runner stays as it is, byte by byte.
        """
        self.steps = round(self.steps * (1 + slower))
        number = len(self.commits)
        if not same:
            head = BREAKS if breaks else CRASHES if crashes else ""
            changed = {"@WORK@": str(self.steps), "@NOTE@": f"{number:04}", "@HEAD@": head}
            text = RUNNER
            for name, value in changed.items():
                text = text.replace(name, value)
            (self.folder / "runner.cpp").write_text(text)
        (self.folder / "NEWS").write_text(f"{number}: {subject}\n")
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", subject)
        return self._remember()

    def merge(self, subject: str, *changes: Mapping[str, str], base: str = "main") -> str:
        """Merge a branch into the main one.

        Args:
            subject: What the message of the merge says.
            changes: Files of each commit of the branch; by default one that changes nothing.
            base: Where the branch leaves the main one.
        """
        self.git("checkout", "--quiet", "-b", "side", base)
        for number, files in enumerate(changes or ({"SIDE": subject},)):
            for name, content in files.items():
                (self.folder / name).write_text(content)
            self.git("add", "-A")
            self.git("commit", "--quiet", "-m", f"Aside {number}: {subject}")
            self._remember()
        self.git("checkout", "--quiet", "main")
        self.git("merge", "--quiet", "--no-ff", "-m", subject, "side")
        self.git("branch", "--quiet", "-d", "side")
        return self._remember()

    def git(self, *words: str) -> str:
        """What git prints, with an author and a date that are ours."""
        moment = f"{MONDAY + len(self.commits) * self.every_s} +0000"
        ours = {
            "GIT_AUTHOR_NAME": "A. Author",
            "GIT_AUTHOR_EMAIL": "author@example.com",
            "GIT_COMMITTER_NAME": "A. Author",
            "GIT_COMMITTER_EMAIL": "author@example.com",
            "GIT_AUTHOR_DATE": moment,
            "GIT_COMMITTER_DATE": moment,
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        arguments = ("git", "-C", str(self.folder), *words)
        return subprocess.run(
            arguments, check=True, capture_output=True, text=True, env=os.environ | ours
        ).stdout.strip()

    def _remember(self) -> str:
        self.commits.append(self.git("rev-parse", "HEAD"))
        return self.commits[-1]


@dataclass(frozen=True)
class Watch:
    """A project that watches a repository.

    Attributes:
        project: It.
        work: The repository.
    """

    project: Project
    work: WatchedRepository

    @property
    def state(self) -> Path:
        return self.project.folder / "results" / "watch.db"

    def arguments(self, *arguments: str | Path, command: str = "watch") -> tuple[str | Path, ...]:
        """The command line."""
        places = ("--repo_dir", self.work.folder, "--frameworks_dir", self.project.folder / "recipes")
        return (command, "-b", self.project.folder / "spec.json", *places, *arguments)

    def harness(
        self, *arguments: str | Path, command: str = "watch", timeout_s: float = 900.0, **environment: str
    ) -> Outcome:
        """The command, to its end."""
        return self.project.harness(*self.arguments(*arguments, command=command), timeout_s=timeout_s, **environment)

    @contextlib.contextmanager
    def running(self, *arguments: str | Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """The command, while something happens. It is killed with the context."""
        with self.started(*self.arguments(*arguments), **environment) as process:
            yield process

    @contextlib.contextmanager
    def started(self, *words: str | Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """A command line of its own, in the same way."""
        with (self.project.folder / "stderr").open("a") as stderr:
            process = subprocess.Popen(
                command(*words),
                cwd=self.project.folder,
                env=self.project.environment | environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                text=True,
            )
        with process:
            try:
                yield process
            finally:
                process.kill()

    @property
    def stderr(self) -> str:
        """What running commands said on standard error."""
        return (self.project.folder / "stderr").read_text()

    @contextlib.contextmanager
    def open_state(self) -> Iterator[State]:
        with read_state(self.state) as state:
            yield state

    def counts(self) -> dict[CommitStatus, int]:
        """How many commits are where; none before there is a state."""
        try:
            with self.open_state() as state:
                return dict(state.commits.counts())
        except HarnessError:
            return {}

    def is_processed(self, commit: str) -> bool:
        """Whether a commit was dealt with, and nothing else waits."""
        try:
            with self.open_state() as state:
                entry = state.commits.find(commit)
                open_ = state.commits.counts()
                alarms = state.alarms.in_stages(AlarmStage.OPENED, AlarmStage.CONFIRMED, AlarmStage.BISECTED)
        except HarnessError:
            return False
        settled = not (open_[CommitStatus.WAITING] or open_[CommitStatus.RUNNING] or alarms)
        return settled and entry is not None

    def alarms(self) -> Sequence[Alarm]:
        """Every alarm that was raised and not refuted, oldest first: a comparison may be wrong, and is verified."""
        with self.open_state() as state:
            alarms = state.alarms.in_stages(*AlarmStage)
        return [alarm for alarm in alarms if alarm.verification is None or alarm.verification.confirmed]

    def series(self) -> Sequence[Series]:
        with self.open_state() as state:
            return state.points.every_series()

    def deliveries(self) -> Counter[DeliveryStatus]:
        with self.open_state() as state:
            return state.deliveries.counts()

    def status(self) -> dict[str, Any]:
        """What `harness status --json` says."""
        done = self.project.harness("status", "--json")
        assert done.code == 0, done.stderr
        return dict(json.loads(done.stdout))

    def report(self, alarm: Alarm) -> dict[str, Any]:
        """The last report of an alarm, as programs read it."""
        folder = self.state.parent / "alarms" / alarm.identity
        assert (folder / "alarm.md").is_file()
        return dict(json.loads((folder / "alarm.json").read_text()))

    @property
    def diary(self) -> tuple[str, str]:
        """The flag that has a command told of alarms."""
        return ("--on_alarm", f"sh {self.project.folder / 'diary.sh'} {self.project.folder / 'diary'}")

    def notified_keys(self) -> list[str]:
        """Keys of what the command was told, in order."""
        keys_file = self.project.folder / "diary" / "told"
        return keys_file.read_text().split() if keys_file.exists() else []

    def wait_for(self, commit: str, process: subprocess.Popen[str], within_s: float = 300.0) -> None:
        """Wait until a running watcher dealt with a commit, and told every alarm."""
        self.wait_until(lambda: self.is_processed(commit), process, within_s)

    def wait_until(
        self, condition: Callable[[], bool], process: subprocess.Popen[str], within_s: float = 300.0
    ) -> None:
        """Wait for something that a running watcher does."""

        def has_happened() -> bool:
            if condition():
                return True
            assert process.poll() is None, self.stderr
            return False

        wait_until(has_happened, within_s)


def watch_of(project: Project, every_s: int = 3600) -> Watch:
    """A project with a specification and a recipe, and a repository with a first commit."""
    project.write("spec.json", generic(one_test("work", "{program} {iter}", iter=10, threads=1)))
    project.write("recipes/generic/build.sh", RECIPE)
    project.write("diary.sh", DIARY)
    folder = project.folder / "user"
    folder.mkdir()
    work = WatchedRepository(folder, every_s=every_s)
    work.git("init", "--quiet", "--initial-branch=main")
    work.commit("Begin")
    return Watch(project, work)


def culprits(report: dict[str, Any]) -> list[str]:
    """The commits that a report names."""
    search = report["alarm"]["search"]
    return [commit for culprit in (search["culprits"] if search else []) for commit in culprit["commits"]]


def documents(watch: Watch) -> list[tuple[str, dict[str, Any]]]:
    """What the command was told: key and document, in order."""
    folder = watch.project.folder / "diary"
    return [(key, json.loads((folder / f"{key}.json").read_text())) for key in dict.fromkeys(watch.notified_keys())]
