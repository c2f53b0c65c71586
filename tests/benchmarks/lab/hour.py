"""A lab of stand-in phones in networks of their own, which people use for an hour while things break.

    python -m tests.benchmarks.lab.hour --minutes 60

Each host has phones of three classes behind an adb server of its own; the first host's clock is three hours ahead where
`faketime` is installed. All the time one client measures lists of benchmarks, one compares two programs on all classes,
of which the first is slower with the second program, and persons ask a server of results for runs. Meanwhile hosts,
processes of devices, scheduler, dispatcher, server and the comparing client are killed, cables are pulled, disks fill,
and phones are unplugged, freeze and become too warm.

What is counted: requests and results that were lost or stored twice, programs that met another one on their phone (each
holds a lock of its phone's kernel), and verdicts by class. Programs do work, which is measured by the CPU time that the
kernel counts, so that a machine that does a dozen things at once can tell them apart. It needs root and `ip`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import requests

from harness.testing.phones import control
from tests.benchmarks.lab.rig import ADDRESS, PREFIX, Faults, Rig, join, make_keys, networks, serve, unmount, wait_for
from tests.server.process import bearer

PRODUCTS: Final = ("Pixel 8", "Galaxy S24", "Moto G84")
CLASSES: Final = ("edge-pixel-8", "edge-galaxy-s24", "edge-moto-g84")
SLOWER: Final = PRODUCTS[0]
PERSONS: Final = ("anna", "bert", "carl")
LISTED: Final = 10
"""Benchmarks of each list."""
_PORT: Final = 8080
_SERVER: Final = f"http://127.0.0.1:{_PORT}"
_HARNESS: Final = (sys.executable, "-m", "harness")
_PROGRAM: Final = """#!/bin/sh
# Adds numbers, alone on its phone, and prints the CPU time of each round in nanoseconds.
touch /data/local/tmp/rig-lock
exec < /data/local/tmp/rig-lock  # the one descriptor that this shell's children share
flock -n 0 || { echo x >> /data/local/tmp/rig-conflicts; exit 77; }
steps=STEPS
[ "$(getprop ro.product.model)" = "SLOWER" ] && steps=$(( steps + EXTRA ))
for round in 1 2 3 4 5 6; do
    read before rest < /proc/$$/schedstat
    step=0
    while [ $step -lt $steps ]; do step=$(( step + 1 )); done
    read after rest < /proc/$$/schedstat
    values="\\"unit\\": \\"ns\\", \\"value\\": $(( after - before ))"
    echo "PyTorchObserver {\\"type\\": \\"NET\\", \\"metric\\": \\"latency\\", $values}"
done
"""


_SLEEP: Final = """
import select
import time

time.sleep = lambda seconds: select.select((), (), (), seconds)
"""

_READ_CONFLICTS: Final = """
import os
import adbutils

for device in adbutils.AdbClient("127.0.0.1", int(os.environ["ANDROID_ADB_SERVER_PORT"])).device_list():
    text = device.shell("touch /data/local/tmp/rig-conflicts && cat /data/local/tmp/rig-conflicts && echo read")
    print("".join(text.split()))
"""


def write_program(folder: Path, name: str, extra: int) -> Path:
    text = _PROGRAM.replace("STEPS", "4000").replace("SLOWER", SLOWER).replace("EXTRA", str(extra))
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    return file


def write_specification(file: Path, program: Path, *identifiers: str) -> Path:
    tests = [{"identifier": name, "metric": "delay", "commands": ["sh {files.program}"]} for name in identifiers]
    files = {"program": {"filename": program.name, "location": str(program)}}
    model = {"name": file.stem, "format": "none", "framework": "generic", "files": files}
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"model": model, "tests": tests}))
    return file


@dataclass
class PhoneFaults(Faults):
    """What happens to a lab of phones."""

    people: People | None = None

    def _phone(self, rig: Rig, name: str, secrets: Path) -> bool:
        """Unplug, freeze or heat a phone, for a while."""
        does, undoes = self.chance.choice((("unplug", "plug"), ("freeze", "thaw"), ("heat", "cool")))
        path, number = Path(rig.variables[name][control.VARIABLE]), str(self.chance.randrange(rig.devices))
        control.request(path, does, number, {})
        self.later(self.chance.uniform(5, 40), lambda: control.request(path, undoes, number, {}))
        self.counts[f"phone: {does}"] += 1
        return True

    def _dispatcher(self, rig: Rig, name: str, secrets: Path) -> None:
        rig.kill("dispatcher")
        self.later(self.chance.uniform(1, 10), lambda: start_dispatcher(rig, secrets))

    def _server(self, rig: Rig, name: str, secrets: Path) -> None:
        rig.kill("server")
        self.later(self.chance.uniform(1, 10), lambda: start_server(rig))

    def _comparer(self, rig: Rig, name: str, secrets: Path) -> None:
        rig.kill("comparer")


_KINDS: Final = (
    *("host", "process", "cable", "scheduler", "disk"),
    *("phone", "phone", "dispatcher", "server", "comparer"),
)


@dataclass
class People:
    """Clients of the lab, and persons who ask for runs: they begin again whenever they are done, until they shall end.

    Attributes:
        rig: The lab.
        secrets: Folder of certificates.
        tokens: Tokens of persons, by name.
        chance: Decides what persons ask for.
        asked: Requests, by their ids.
        clients: Exit codes of clients that ended, by name.
        killed: Times that the comparing client was killed.
    """

    rig: Rig
    secrets: Path
    tokens: dict[str, str]
    chance: random.Random
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)
    clients: dict[str, Counter[int]] = field(default_factory=lambda: {"lister": Counter(), "comparer": Counter()})
    killed: int = 0
    rounds: Counter[str] = field(default_factory=Counter)
    _next_at: float = 0.0
    _refused: Counter[str] = field(default_factory=Counter)

    def go_on(self, *, is_open: bool) -> bool:
        """Start what may begin, and return whether anything goes on."""
        for name in ("lister", "comparer"):
            process = self.rig.processes.get(name)
            if process is None or process.poll() is not None:
                resume = name == "comparer" and (process is None or process.poll() == 130) and self.rounds[name] > 0
                if process is not None:
                    self.clients[name][process.returncode] += 1
                    del self.rig.processes[name]
                elif resume:
                    self.killed += 1
                if is_open or resume:
                    self._start(name, resume=resume)
        if is_open and time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + self.chance.uniform(5, 15)
            self._ask()
        return any(name in self.rig.processes for name in self.clients)

    def _start(self, name: str, *, resume: bool) -> None:
        self.rounds[name] += not resume
        lab = ("--lab", ADDRESS, "--lab-certificates", str(self.secrets), "--device-class", *CLASSES)
        quiet = ("--no-screen-reporter",)
        # The two builds of each round have a text of their own: a comparison goes on only with its own pairs.
        specs, number = self.rig.folder, self.rounds[name]
        if name == "lister":
            files = (str(specs / "listed.json"), *lab, *quiet)
            self.rig.start(name, (*_HARNESS, *files, "--local-reporter", str(specs / "listed" / str(number))))
            return
        programs = ("--control-program", str(specs / "before.sh"), "--treatment-program", str(specs / "after.sh"))
        budget = ("--pairs", "40", "--local-reporter", str(specs / "compared" / str(number)), *quiet)
        page = ("--reporter", f"html={specs / 'compared.html'}")
        words = ("compare", str(specs / "compared.json"), *lab, *programs, *budget, *page)
        self.rig.start(name, (*_HARNESS, *words, *(("--resume",) if resume else ())))

    def _ask(self) -> None:
        person = self.chance.choice(PERSONS)
        body = {
            "key": f"{person}-{len(self.asked)}",
            "specification": "asked",
            "benchmark": "",
            "device_class": self.chance.choice(CLASSES),
        }
        with contextlib.suppress(requests.RequestException):
            answer = requests.post(
                f"{_SERVER}/api/v1/requests", json=body, headers=bearer(self.tokens[person]), timeout=20
            )
            if answer.status_code in {200, 201}:
                self.asked[answer.json()["id"]] = body
            else:
                self._refused[str(answer.status_code)] += 1

    def look(self) -> dict[str, Any]:
        """Return what became of the requests, and what the server has for them."""
        headers = bearer(self.tokens[PERSONS[0]])
        shown = [
            requests.get(f"{_SERVER}/api/v1/requests/{identity}", headers=headers, timeout=60).json()
            for identity in self.asked
        ]
        uids = [uid for each in shown for uid in each["results"]]
        stored = requests.get(f"{_SERVER}/api/v1/results", headers=headers, timeout=60).json()["total"]
        return {
            "asked": len(shown),
            "states": dict(Counter(each["state"] for each in shown)),
            "reasons": dict(Counter(each["reason"][:90] for each in shown if each["reason"])),
            "attempts": dict(Counter(each["attempts"] for each in shown)),
            "refused": dict(self._refused),
            "linked results": len(uids),
            "linked twice": len(uids) - len(set(uids)),
            "stored results": stored,
        }

    @property
    def waiting(self) -> int:
        """How many requests have not ended."""
        headers = bearer(self.tokens[PERSONS[0]])
        try:
            states = [
                requests.get(f"{_SERVER}/api/v1/requests/{each}", headers=headers, timeout=20).json()["state"]
                for each in self.asked
            ]
        except (requests.RequestException, KeyError, ValueError):
            return 1
        return sum(state in {"queued", "running"} for state in states)


def start_server(rig: Rig) -> None:
    database = f"sqlite:///{rig.folder / 'results.db'}"
    rig.start("server", (*_HARNESS, "serve", "--port", str(_PORT), "--database", database))


def start_dispatcher(rig: Rig, secrets: Path) -> None:
    words = ("lab", "dispatch", ADDRESS, "--requests-from", _SERVER, "--specifications", str(rig.folder / "offered"))
    rig.start(
        "dispatcher",
        (*_HARNESS, *words, "--lease", "20", "--certificates", str(secrets)),
        variables={"HARNESS_REMOTE_TOKEN": (rig.folder / "lab.token").read_text()},
    )


def create_token(rig: Rig, name: str, scope: str) -> str:
    words = ("token", "create", name, "--scope", scope, "--database", f"sqlite:///{rig.folder / 'results.db'}")
    rig.start(f"token-{name}", (*_HARNESS, *words)).wait()
    return (rig.folder / f"token-{name}.log").read_text().split()[-1]


@contextlib.contextmanager
def phones(rig: Rig, each: int) -> Iterator[None]:
    """Phones of every host, which no fault ends."""
    names = [f"phones-{name}" for name in rig.names]
    for name in rig.names:
        folder = rig.folder / "phones" / name
        folder.mkdir(parents=True)
        products = [word for number in range(each) for word in ("--product", PRODUCTS[number % len(PRODUCTS)])]
        rig.start(
            f"phones-{name}",
            (sys.executable, "-m", "harness.testing.phones", "--phones", str(each), *products),
            inside=name,
            variables={"TMPDIR": str(folder), "HARNESS_CACHE_DIR": str(rig.folder / "programs")},
        )
    for name in rig.names:
        log = rig.folder / f"phones-{name}.log"
        wait_for("export ", log)
        line = next(line for line in log.read_text().splitlines() if line.startswith("export "))
        rig.variables[name] = dict(word.split("=", 1) for word in line.split()[1:])
    try:
        yield
    finally:
        for name in names:
            with contextlib.suppress(KeyError):
                rig.kill(name)


def count_conflicts(rig: Rig) -> int:
    """Count the programs that met another one on their phone, as all phones wrote it down."""
    for name in rig.names:
        rig.start(f"conflicts-{name}", (sys.executable, "-c", _READ_CONFLICTS), inside=name).wait()
    logs = [(rig.folder / f"conflicts-{name}.log").read_text() for name in rig.names]
    answers = [line for log in logs for line in log.splitlines()]
    if len(answers) != rig.hosts * rig.devices or not all(re.fullmatch("x*read", line) for line in answers):
        raise RuntimeError(f"not every phone can be read: {answers}")
    return sum(line.count("x") for line in answers)


def count_listed(rig: Rig, rounds: int) -> dict[str, Any]:
    """Count what is stored of the lists: each benchmark once for each class, whatever became of it."""
    outcomes: Counter[str] = Counter()
    lost = twice = 0
    for number in range(1, rounds + 1):
        jobs: Counter[tuple[str, str]] = Counter()
        for file in (rig.folder / "listed" / str(number)).rglob("result.json"):
            result = json.loads(file.read_text())
            outcomes[result["outcome"]] += 1
            if result["device"] is not None:
                jobs[result["benchmark"]["identifier"], result["device"]["kind"]] += 1
        lost += LISTED * len(CLASSES) - len(jobs)
        twice += sum(count - 1 for count in jobs.values())
    return {"rounds": rounds, "outcomes": dict(outcomes), "lost": lost, "twice": twice}


def count_verdicts(rig: Rig) -> dict[str, dict[str, int]]:
    verdicts: dict[str, Counter[str]] = {}
    for file in (rig.folder / "compared").rglob("result.json"):
        result = json.loads(file.read_text())
        comparison = result["comparison"]
        verdict = comparison["verdict"] if comparison else result["outcome"]
        verdicts.setdefault(result["device"]["identity"], Counter())[verdict] += 1
    return {name: dict(counts) for name, counts in sorted(verdicts.items())}


def run_hour(rig: Rig, minutes: float, every_s: float, seed: int) -> dict[str, Any]:
    """Run the lab, and count."""
    chance = random.Random(seed)
    secrets = make_keys(rig)
    before = write_program(rig.folder, "before.sh", 0)
    write_program(rig.folder, "after.sh", 400)
    write_specification(rig.folder / "listed.json", before, *(f"l{number:02}" for number in range(LISTED)))
    write_specification(rig.folder / "compared.json", before, "add")
    compared = json.loads((rig.folder / "compared.json").read_text())
    compared["tests"][0]["commands"] = ["{program}"]
    del compared["model"]["files"]
    (rig.folder / "compared.json").write_text(json.dumps(compared))
    write_specification(rig.folder / "offered" / "asked.json", before, "first", "second")
    tokens = {name: create_token(rig, name, "read,request") for name in PERSONS}
    (rig.folder / "lab.token").write_text(create_token(rig, "lab", "lab,read,write"))
    rig.start("fetch", (sys.executable, "-m", "harness.testing.phones", "--fetch"),
              variables={"HARNESS_CACHE_DIR": str(rig.folder / "programs")}).wait()  # fmt: skip
    with networks(rig), phones(rig, rig.devices):
        try:
            serve(rig, secrets)
            wait_for("the lab is at", rig.folder / "scheduler.log")
            if (library := find_faketime()) is not None:
                shifted = rig.names[0]
                rig.variables[shifted] |= shift_clock(rig.folder / "shifted", library, rig.environment(shifted))
            for name in rig.names:
                join(rig, name, secrets)
            for name in rig.names:
                wait_for(": healthy", rig.folder / f"{name}.log", rig.devices)
            start_server(rig)
            wait_for("report to it", rig.folder / "server.log")
            start_dispatcher(rig, secrets)
            print(f"lab {ADDRESS} {secrets}; server {_SERVER}; files {rig.folder}", flush=True)
            people = People(rig, secrets, tokens, chance)
            faults = PhoneFaults(chance, every_s, _KINDS)
            end = time.monotonic() + minutes * 60
            while time.monotonic() < end:
                people.go_on(is_open=True)
                faults.go_on(rig, secrets)
                time.sleep(0.2)
            report = {"faults": dict(faults.counts)}
            faults.every_s = 1e9
            faults.next_at = end + 1e9
            last = time.monotonic() + 900
            while (faults.repairs or people.go_on(is_open=False) or people.waiting) and time.monotonic() < last:
                faults.go_on(rig, secrets)
                time.sleep(0.5)
            return {
                **report,
                "minutes": minutes,
                "clock ahead": rig.names[0] if library else None,
                "requests": people.look(),
                "lists": count_listed(rig, people.rounds["lister"]),
                "verdicts": count_verdicts(rig),
                "comparing clients killed": people.killed,
                "exit codes": {name: dict(codes) for name, codes in people.clients.items()},
                "conflicts": count_conflicts(rig),
                "still going on": [name for name in people.clients if name in rig.processes],
            }
        finally:
            for name in [name for name in rig.processes if not name.startswith("phones-")]:
                rig.kill(name)
            unmount(rig.folder)


def find_faketime() -> str | None:
    """Return the library of faketime; None where it is not installed."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    return str(found[0]) if found else None


def shift_clock(folder: Path, library: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which processes see another time of day.

    With them the library lets each `clock_nanosleep` fail, which is what `time.sleep` calls (0.9.10); so Python waits
    otherwise.
    """
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_SLEEP)
    return {
        "LD_PRELOAD": library,
        "FAKETIME": "+3h",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "PYTHONPATH": os.pathsep.join((str(folder), environment["PYTHONPATH"])),
    }


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--phones", type=int, default=3, help="of each host")
    parser.add_argument("--every", type=float, default=20.0, help="mean seconds between faults")
    parser.add_argument("--check-every", default="24", help="hours between checks of the health of each phone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder to keep the files in")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder:
        flags = ("--platforms", "android", "--check-every", given.check_every)
        rig = Rig(Path(folder), given.hosts, given.phones, len(PRODUCTS), join_flags=flags)
        try:
            report = run_hour(rig, given.minutes, given.every, given.seed)
        finally:
            if given.keep is not None:
                shutil.rmtree(given.keep, ignore_errors=True)
                skip = shutil.ignore_patterns("phones", "programs", "tmp", "caches")
                shutil.copytree(folder, given.keep, ignore_dangling_symlinks=True, symlinks=True, ignore=skip)
    text = re.sub(re.escape(folder), "...", json.dumps(report, indent=1))
    print(text)
    if given.output is not None:
        given.output.write_text(text + os.linesep)


if __name__ == "__main__":
    main()
