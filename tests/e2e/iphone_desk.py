"""Stand-in iPhones on a desk, a project that measures on them, and apps around a program that works for a while."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.testing.phones.ios.apps.packages import runner_app
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.phones.ios.phone import StandInIPhone
from platforms import machine_lock
from tests.cli.project import Outcome, Project, command
from tests.e2e.desk import Running

WORKER = """// Works for as long as it was compiled to, and says how much of a CPU each iteration took.
#include <cstdio>
#include <ctime>
static long long now() {
  timespec moment;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &moment);
  return moment.tv_sec * 1000000000LL + moment.tv_nsec;
}
int main(int argc, char**) {
  double value = 1.0 + argc;
  for (int i = 0; i < 12; ++i) {
    const long long begin = now();
    for (int k = 0; k < STEPS; ++k) value = value * 1.0000001 + 0.5;
    const long long end = now();
    if (i < 2) continue;
    std::printf("PyTorchObserver {\\"type\\": \\"NET\\", \\"metric\\": \\"latency\\", \\"unit\\": \\"ns\\", ");
    std::printf("\\"value\\": \\"%lld\\"}\\n", end - begin);
  }
  return value > 0 ? 0 : 1;
}
"""


@dataclass(frozen=True)
class IPhoneDesk:
    """iPhones, and a project that measures on them."""

    lab: IPhoneLab
    project: Project
    go_ios: Path

    @property
    def phones(self) -> tuple[StandInIPhone, ...]:
        return tuple(self.lab.phones)

    def harness(self, *arguments: str | Path, on: str = "all", timeout_s: float = 400.0) -> Outcome:
        """The command, on iPhones, to its end."""
        return self.project.harness(*arguments, "-p", "ios", "-d", on, timeout_s=timeout_s, **self.variables)

    @property
    def variables(self) -> dict[str, str]:
        """Variables with which the harness reaches these phones."""
        tunnel = {} if self.lab.tunnel is None else {"HARNESS_IOS_TUNNEL": self.lab.tunnel}
        return {
            "HARNESS_USBMUXD": self.lab.usbmuxd,
            "HARNESS_GO_IOS": str(self.go_ios),
            **self.lab.environment,
            **tunnel,
        }

    @contextlib.contextmanager
    def running(self, *arguments: str | Path, on: str = "all") -> Iterator[Running]:
        """The command, on iPhones, while something happens to them. It is ended with the context."""
        stderr_path = self.project.folder / f"stderr-{len(list(self.project.folder.glob('stderr-*')))}"
        with stderr_path.open("w") as stderr:
            process = subprocess.Popen(
                command(*arguments, "-p", "ios", "-d", on),
                cwd=self.project.folder,
                env=self.project.environment | self.variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        with process:
            try:
                yield Running(process, stderr_path, self.project.folder / "results")
            finally:
                process.kill()

    def app(self, name: str, steps: int, bundle: str | None = None) -> Path:
        """The package of an app around a worker."""
        folder = self.project.folder / name
        folder.mkdir()
        source, program = folder / "worker.cpp", folder / "worker"
        source.write_text(WORKER)
        subprocess.run(("g++", "-O2", f"-DSTEPS={steps}", source, "-o", program), check=True)
        return runner_app(folder, program, bundle=bundle or f"org.example.{name}")

    def forget_locks(self) -> None:
        """Remove the lock files of phones that will never be seen again."""
        for phone in self.phones:
            machine_lock.lock_path(f"ios-{phone.model.udid}").unlink(missing_ok=True)
