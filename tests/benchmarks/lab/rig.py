"""Rig: a lab of many hosts, each in a network of its own, with faults, beside plain Dask on the same machine.

    python -m tests.benchmarks.lab.rig --hosts 20 --devices 5 --jobs 2000            # makespan, ours and plain Dask
    python -m tests.benchmarks.lab.rig --hosts 20 --devices 5 --jobs 2000 --known    # the same, longest jobs first
    python -m tests.benchmarks.lab.rig --hosts 20 --devices 5 --jobs 2000 --faults   # counts, while things break

A device is used while a program runs that holds a lock of the kernel with its name: a second program on the same
device, or one that outlived its job, is a conflict that the program itself writes down. Results are counted where they
are stored. The makespan is from the first begin of a program to the last end, and the bound is that of the classes: the
longest job, or all jobs of a class divided by its devices. With `--known` a lab does the jobs twice, and knows the
second time how long each takes; plain Dask gets them in that order. CPU seconds are those of the client, and of the
scheduler since it began. It needs root, `ip` and `flock` (util-linux).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

PREFIX: Final = "ehrig"
_BRIDGE: Final = f"{PREFIX}0"
_SCHEDULER: Final = "10.77.0.1"
_PORT: Final = 8786
ADDRESS: Final = f"{_SCHEDULER}:{_PORT}"
_START_S: Final = 600
_HERE: Final = Path(__file__).parent
_ROOT: Final = _HERE.parents[2]


@dataclass
class Rig:
    """Networks, processes and files of one lab."""

    folder: Path
    hosts: int
    devices: int
    classes: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    variables: dict[str, dict[str, str]] = field(default_factory=dict)
    """Further variables of the processes of a host."""
    join_flags: Sequence[str] = ("--platforms", "sleepers")

    @property
    def names(self) -> Sequence[str]:
        return [f"h{number}" for number in range(1, self.hosts + 1)]

    @property
    def diary(self) -> Path:
        return self.folder / "diary"

    def class_sizes(self) -> Counter[int]:
        return Counter(
            (host + device) % self.classes for host in range(1, self.hosts + 1) for device in range(self.devices)
        )

    def environment(self, host: str) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("HARNESS_")},
            "PYTHONPATH": os.pathsep.join((str(self.folder / "site"), str(_ROOT))),
            "PYTHONUNBUFFERED": "1",
            "RIG_HOST": host,
            "RIG_DEVICES": str(self.devices),
            "RIG_CLASSES": str(self.classes),
            "RIG_DIARY": str(self.diary),
            "EDGE_HARNESS_LOCKS": str(self.folder / "locks"),
            "HARNESS_CACHE_DIR": str(self.folder / "caches" / host),
            "HARNESS_LOCAL_REPORTER": str(self.folder / "results"),
            "HARNESS_CONFIG_DIR": str(self.folder / "config"),
            "TMPDIR": str(self.folder / "tmp" / host),
            **self.variables.get(host, {}),
        }

    def start(
        self, name: str, words: Sequence[str], *, inside: str | None = None, variables: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        (self.folder / "tmp" / (inside or "client")).mkdir(parents=True, exist_ok=True)
        prefix = ("ip", "netns", "exec", f"{PREFIX}-{inside}") if inside else ()
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [*prefix, *words],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**self.environment(inside or "client"), **(variables or {})},
                start_new_session=True,
                cwd=self.folder,
            )
        self.processes[name] = process
        return process

    def kill(self, name: str) -> None:
        """Kill a process with all that it started, at once."""
        process = self.processes.pop(name)
        with contextlib.suppress(psutil.NoSuchProcess):
            own = psutil.Process(process.pid)
            for each in (own, *own.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
        process.wait()


def ip(*words: str, check: bool = True) -> None:
    subprocess.run(("ip", *words), check=check, capture_output=True)


@contextlib.contextmanager
def networks(rig: Rig) -> Iterator[None]:
    """A network for each host, joined by a bridge that has the scheduler."""
    clean()
    ip("link", "add", _BRIDGE, "type", "bridge")
    ip("addr", "add", f"{_SCHEDULER}/24", "dev", _BRIDGE)
    ip("link", "set", _BRIDGE, "up")
    try:
        for number, name in enumerate(rig.names, start=1):
            inner, outer = f"{PREFIX}i{number}", f"{PREFIX}o{number}"
            ip("netns", "add", f"{PREFIX}-{name}")
            ip("link", "add", outer, "type", "veth", "peer", "name", inner)
            ip("link", "set", inner, "netns", f"{PREFIX}-{name}")
            ip("link", "set", outer, "master", _BRIDGE, "up")
            inside = ("-n", f"{PREFIX}-{name}")
            ip(*inside, "link", "set", "lo", "up")
            ip(*inside, "addr", "add", f"10.77.0.{number + 1}/24", "dev", inner)
            ip(*inside, "link", "set", inner, "up")
        yield
    finally:
        clean()


def clean() -> None:
    """Remove what an earlier rig left."""
    listed = subprocess.run(("ip", "netns", "list"), capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        if line.startswith(f"{PREFIX}-"):
            ip("netns", "delete", line.split()[0], check=False)
    for link in Path("/sys/class/net").glob(f"{PREFIX}*"):
        ip("link", "delete", link.name, check=False)


def make_keys(rig: Rig) -> Path:
    """Make the folders of a lab and its certificates, and return the folder of these."""
    for name in ("locks", "config", "caches"):
        (rig.folder / name).mkdir(parents=True)
    words = (sys.executable, "-m", "harness", "lab", "certificate", "rig", "--certificates", str(rig.folder / "keys"))
    subprocess.run(words, check=True, capture_output=True, env=rig.environment("client"), cwd=rig.folder)
    return find_keys(rig)


def prepare(rig: Rig, durations: Sequence[float]) -> Path:
    """Write the platform as an installed package, certificates, and the specification of the jobs."""
    make_keys(rig)
    for name in ("busy", "site/sleepers-1.0.dist-info"):
        (rig.folder / name).mkdir(parents=True)
    information = rig.folder / "site" / "sleepers-1.0.dist-info"
    information.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: sleepers\nVersion: 1.0\n")
    information.joinpath("entry_points.txt").write_text(
        "[edge_harness.platforms]\nsleepers = tests.benchmarks.lab.sleepers:create\n"
    )
    rig.diary.touch()
    tests = [
        {"identifier": f"j{number:05}", "metric": "delay", "commands": [f"sh -c '{script(rig, duration)}'"]}
        for number, duration in enumerate(durations)
    ]
    spec = {"model": {"name": "rig", "format": "none", "framework": "generic"}, "tests": tests}
    file = rig.folder / "spec.json"
    file.write_text(json.dumps(spec))
    return file


def script(rig: Rig, duration: float) -> str:
    """A program that uses its device for so long, or writes down that another one does."""
    line = (
        'echo PyTorchObserver \\{\\"type\\": \\"NET\\", \\"metric\\": \\"latency\\", \\"unit\\": \\"s\\", \\"value\\": '
    )
    busy = rig.folder / "busy"
    return (
        f'flock -n -E 77 "{busy}/$RIG_DEVICE" sleep {duration:.3f}; code=$?; '
        f'if [ $code = 77 ]; then echo "$RIG_DEVICE" >> "{rig.folder}/conflicts"; exit 77; fi; '
        f"[ $code = 0 ] || exit $code; {line}{duration:.3f}\\}}"
    )


def unmount(folder: Path) -> None:
    """Remove the full disks that are left."""
    for line in Path("/proc/mounts").read_text().splitlines():
        if line.split()[1].startswith(f"{folder}/"):
            subprocess.run(("umount", "-l", line.split()[1]), check=False)


def wait_for(words: str, log: Path, count: int = 1) -> None:
    began = time.monotonic()
    while not log.exists() or log.read_text(errors="replace").count(words) < count:
        if time.monotonic() - began > _START_S:
            raise TimeoutError(f"{log.name} does not say {words!r} {count} times:\n{log.read_text()[-2000:]}")
        time.sleep(0.1)


def serve(rig: Rig, secrets: Path) -> None:
    flags = ("--host", _SCHEDULER, "--port", str(_PORT), "--certificates", str(secrets))
    rig.start("scheduler", (sys.executable, "-m", "harness", "lab", "serve", *flags))


def join(rig: Rig, name: str, secrets: Path) -> None:
    flags = (ADDRESS, *rig.join_flags, "--certificates", str(secrets))
    rig.start(name, (sys.executable, "-m", "harness", "lab", "join", *flags), inside=name)


def run_ours(rig: Rig, durations: Sequence[float], faults: Faults | None, *, runs: int = 1) -> dict[str, Any]:
    """Run the jobs in a lab so often, and count what became of them. Times are those of the last run."""
    spec = prepare(rig, durations)
    secrets = find_keys(rig)
    with networks(rig):
        try:
            serve(rig, secrets)
            wait_for("the lab is at", rig.folder / "scheduler.log")
            for name in rig.names:
                join(rig, name, secrets)
            for name in rig.names:
                wait_for("joined as", rig.folder / f"{name}.log", rig.devices)
            classes = [f"class-{number}" for number in range(rig.classes)]
            flags = ("--lab", ADDRESS, "--lab-certificates", str(secrets), "--device-class", *classes)
            quiet = ("--no-screen-reporter",)
            for _ in range(runs):
                rig.diary.write_text("")
                began, used = time.monotonic(), children_cpu_s()
                client = rig.start("client", (sys.executable, "-m", "harness", str(spec), *flags, *quiet))
                while client.poll() is None:
                    time.sleep(0.2)
                    if faults is not None:
                        faults.go_on(rig, secrets)
                wall = time.monotonic() - began
            cpu = {"client_cpu_s": children_cpu_s() - used, "scheduler_cpu_s": process_cpu_s(rig, "scheduler")}
        finally:
            for name in list(rig.processes):
                rig.kill(name)
            unmount(rig.folder)
    return {"wall_s": wall, "exit": client.returncode, **cpu, **count(rig, durations, runs), **makespan(rig)}


def children_cpu_s() -> float:
    """CPU seconds of the processes that this one started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def process_cpu_s(rig: Rig, name: str) -> float:
    """CPU seconds of a process so far; 0 where it has ended."""
    with contextlib.suppress(psutil.NoSuchProcess, KeyError):
        times = psutil.Process(rig.processes[name].pid).cpu_times()
        return times.user + times.system
    return 0.0


def find_keys(rig: Rig) -> Path:
    found = sorted({path.parent for path in (rig.folder / "keys").rglob("*") if path.is_file()})
    return next((path for path in found if path.name == "rig"), found[0])


def count(rig: Rig, durations: Sequence[float], runs: int = 1) -> dict[str, Any]:
    """Count the results of so many runs by outcome, and those that are missing or stored once too often."""
    outcomes: Counter[str] = Counter()
    jobs: Counter[tuple[str, str]] = Counter()
    for file in (rig.folder / "results").rglob("result.json"):
        result = json.loads(file.read_text())
        outcomes[result["outcome"]] += 1
        kind = (result["device"] or {}).get("kind", "none")
        jobs[result["benchmark"]["identifier"], kind] += 1
    conflicts = rig.folder / "conflicts"
    return {
        "jobs": len(durations) * rig.classes * runs,
        "outcomes": dict(outcomes),
        "lost": len(durations) * rig.classes * runs - sum(min(count, runs) for count in jobs.values()),
        "twice": sum(max(count - runs, 0) for count in jobs.values()),
        "conflicts": conflicts.read_text().count("\n") if conflicts.exists() else 0,
    }


def makespan(rig: Rig) -> dict[str, Any]:
    lines = [line.split() for line in rig.diary.read_text().splitlines()]
    begins = [float(line[0]) for line in lines if line[1] == "begin"]
    ends = [float(line[0]) for line in lines if line[1] == "end"]
    return {"makespan_s": max(ends) - min(begins), "launches": len(begins)} if begins and ends else {}


def bound(rig: Rig, durations: Sequence[float]) -> float:
    return max(max(*durations, sum(durations) / size) for size in rig.class_sizes().values())


_OF_HOSTS: Final = frozenset({"host", "process", "cable", "device", "disk", "phone"})
"""Faults that hit a host; others hit the process of their name."""


@dataclass
class Faults:
    """Faults of every kind in turn, at times and places that a seed decides."""

    chance: random.Random
    every_s: float
    kinds: Sequence[str] = ("host", "process", "cable", "scheduler", "device", "disk")
    counts: Counter[str] = field(default_factory=Counter)
    repairs: list[tuple[float, Any]] = field(default_factory=list)
    next_at: float = 0.0

    def go_on(self, rig: Rig, secrets: Path) -> None:
        now = time.monotonic()
        due = [repair for repair in self.repairs if repair[0] <= now]
        self.repairs = [repair for repair in self.repairs if repair[0] > now]
        for _, repair in due:
            repair()
        if not self.next_at:
            self.next_at = now + self.every_s
        if now < self.next_at:
            return
        self.next_at = now + self.every_s * self.chance.uniform(0.5, 1.5)
        kind = self.chance.choice(self.kinds)
        name = self.chance.choice(rig.names)
        if (name if kind in _OF_HOSTS else kind) in rig.processes:
            self.counts[kind] += getattr(self, f"_{kind}")(rig, name, secrets) is not False

    def later(self, seconds: float, repair: Any) -> None:  # noqa: ANN401 - of any kind
        """Repair something after a while."""
        self.repairs.append((time.monotonic() + seconds, repair))

    def _host(self, rig: Rig, name: str, secrets: Path) -> None:
        rig.kill(name)
        self.later(self.chance.uniform(2, 10), lambda: join(rig, name, secrets))

    def _process(self, rig: Rig, name: str, secrets: Path) -> bool:
        """Kill the process of a device alone: what it started is left to whoever cleans up."""
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(rig.processes[name].pid).children(recursive=True)
            measuring = [child for child in children if _is_device(child)]
            if measuring:
                self.chance.choice(measuring).kill()
                return True
        return False

    def _device(self, rig: Rig, name: str, secrets: Path) -> bool:
        """Kill a program that measures: its job fails, as that of a program that crashed."""
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(rig.processes[name].pid).children(recursive=True)
            sleeping = [child for child in children if child.name() == "sleep"]
            if sleeping:
                self.chance.choice(sleeping).kill()
                return True
        return False

    def _cable(self, rig: Rig, name: str, secrets: Path) -> None:
        link = f"{PREFIX}o{name.lstrip('h')}"
        ip("link", "set", link, "down")
        self.later(self.chance.uniform(2, 45), lambda: ip("link", "set", link, "up"))

    def _scheduler(self, rig: Rig, name: str, secrets: Path) -> None:
        rig.kill("scheduler")
        self.later(self.chance.uniform(1, 5), lambda: serve(rig, secrets))

    def _disk(self, rig: Rig, name: str, secrets: Path) -> None:
        """Fill the cache and the temporary folder of a host."""
        places = [rig.folder / "caches" / name, rig.folder / "tmp" / name]
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(("mount", "-t", "tmpfs", "-o", "size=4k", "full", str(place)), check=True)
            with contextlib.suppress(OSError):
                (place / "fill").write_bytes(b"x" * 8192)

        def empty() -> None:
            for place in places:
                subprocess.run(("umount", "-l", str(place)), check=False)

        self.later(self.chance.uniform(3, 12), empty)


def _is_device(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        words = " ".join(process.cmdline())
        return "spawn_main" in words or "multiprocessing" in words
    return False


def run_plain(rig: Rig, durations: Sequence[float], *, known: bool = False) -> dict[str, Any]:
    """Run the same programs by plain Dask, with the same processes, classes and encryption."""
    prepare(rig, durations)
    secrets = find_keys(rig)
    with networks(rig):
        try:
            plain = (sys.executable, "-m", "tests.benchmarks.lab.plain")
            rig.start("scheduler", (*plain, "serve", _SCHEDULER, str(_PORT), str(secrets)))
            wait_for("serving", rig.folder / "scheduler.log")
            for name in rig.names:
                rig.start(name, (*plain, "join", _SCHEDULER, str(_PORT), str(secrets)), inside=name)
            for name in rig.names:
                wait_for("joined", rig.folder / f"{name}.log")
            listed = rig.folder / "jobs.json"
            ordered = sorted(durations, reverse=True) if known else durations
            listed.write_text(json.dumps([script(rig, duration) for duration in ordered]))
            began, used = time.monotonic(), children_cpu_s()
            client = rig.start("client", (*plain, "run", _SCHEDULER, str(_PORT), str(secrets), str(listed)))
            client.wait()
            wall = time.monotonic() - began
            cpu = {"client_cpu_s": children_cpu_s() - used, "scheduler_cpu_s": process_cpu_s(rig, "scheduler")}
        finally:
            for name in list(rig.processes):
                rig.kill(name)
    return {"wall_s": wall, "exit": client.returncode, **cpu, **makespan(rig)}


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--devices", type=int, default=5, help="of each host")
    parser.add_argument("--classes", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2000, help="of all classes together")
    parser.add_argument("--least", type=float, default=0.5, help="seconds of the shortest job")
    parser.add_argument("--most", type=float, default=5.0, help="seconds of the longest job")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1, help="of ours and plain Dask in turn")
    parser.add_argument("--known", action="store_true", help="how long each job takes")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--every", type=float, default=5.0, help="mean seconds between faults")
    parser.add_argument("--keep", type=Path, help="folder to keep the files of the last lab in")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args(words)
    chance = random.Random(given.seed)
    durations = [chance.uniform(given.least, given.most) for _ in range(given.jobs // given.classes)]
    report: dict[str, Any] = {"arguments": {name: str(value) for name, value in vars(given).items()}}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

    def lab(run: Any, *arguments: Any, **options: Any) -> Mapping[str, Any]:  # noqa: ANN401
        with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
            rig = Rig(Path(folder), given.hosts, given.devices, given.classes)
            try:
                return {"bound_s": bound(rig, durations), **run(rig, durations, *arguments, **options)}
            finally:
                if given.keep is not None:
                    shutil.rmtree(given.keep, ignore_errors=True)
                    shutil.copytree(folder, given.keep, ignore_dangling_symlinks=True, symlinks=True)

    if given.faults:
        faults = Faults(chance, given.every)
        report["faulty"] = {**lab(run_ours, faults), "faults": dict(faults.counts)}
    for number in range(0 if given.faults else given.rounds):
        report[f"ours {number + 1}"] = lab(run_ours, None, runs=2 if given.known else 1)
        report[f"plain {number + 1}"] = lab(run_plain, known=given.known)
    text = json.dumps(report, indent=1)
    print(text)
    if given.output is not None:
        given.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
