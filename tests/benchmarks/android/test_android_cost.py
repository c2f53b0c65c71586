"""What a phone costs: round trips and time of a benchmark beside FAI-PEP's, pushing beside `adb push`, many phones.

FAI-PEP's side is a replay of its documented adb calls with plain adb, on a phone of the same kind behind the same
server, in the same run. Ratios are printed; only counts are held to a limit.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from harness import shell
from harness.config.settings import Settings
from harness.core.command import Command
from harness.testing.phones import start_phones, unavailable_reason
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from harness.testing.progress import RecordedProgress
from platforms.android.link.adb import AdbServer, adb_program
from platforms.android.link.phone import Phone
from platforms.android.platform import Android
from tests.benchmarks.figures import children_cpu_s, claim, spread
from tests.cli.project import Outcome, Project, generic, one_test
from tests.e2e.desk import Desk, compile_witness, forget_locks, program_starts

pytestmark = pytest.mark.benchmark

DELAY_S = 0.03
ROUNDS = 3
FURTHER = 20
SIZE_BYTES = 64 << 20
PHONES = 20
BENCHMARKS = 200
SEED = 4
FAI_PEP = "FAI-PEP's"


class Cost(NamedTuple):
    """Round trips and seconds of something."""

    round_trips: float
    elapsed_s: float


def _started(count: int) -> Iterator[PhoneLab]:
    if reason := unavailable_reason():
        pytest.skip(reason)
    with start_phones(count) as lab:
        yield lab
        forget_locks(lab)


@pytest.fixture
def two_phones() -> Iterator[PhoneLab]:
    """One for the harness, one for plain adb, which deletes what lies beside its own."""
    yield from _started(2)


@pytest.fixture
def twenty_phones() -> Iterator[PhoneLab]:
    yield from _started(PHONES)


@pytest.fixture
def witness(tmp_path: Path) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    return compile_witness(tmp_path, "runner", STEPS=1000)


def adb(lab: PhoneLab, phone: StandInPhone, *words: str) -> str:
    program = adb_program()
    assert program is not None
    completed = shell.run(Command((str(program), "-P", str(lab.port), "-s", phone.serial, *words), timeout_s=120))
    assert completed.ok, completed.describe()
    return completed.stdout


def like_fai_pep(lab: PhoneLab, phone: StandInPhone, program: Path) -> None:
    """Its calls for a benchmark whose only file is its program (`platforms/android/android_platform.py` there)."""
    target = f"/data/local/tmp/{program.name}"
    adb(lab, phone, "shell", "rm", "-rf", target)
    adb(lab, phone, "push", str(program), target)
    adb(lab, phone, "shell", "chmod", "755", target)
    adb(lab, phone, "logcat", "-b", "all", "-c")
    assert "PyTorchObserver" in adb(lab, phone, "shell", target)
    adb(lab, phone, "logcat", "-d")
    adb(lab, phone, "shell", "rm", "-rf", target)
    adb(lab, phone, "shell", "rm -rf /data/local/tmp/*")


def taken(action: Callable[[], object]) -> float:
    start = time.monotonic()
    action()
    return time.monotonic() - start


def test_a_benchmark_needs_few_round_trips(two_phones: PhoneLab, witness: Path, tmp_path: Path) -> None:
    harness_phone, plain_phone = two_phones.phones
    desk = Desk(two_phones, Project(tmp_path, tmp_path / "cache"))
    single_spec = desk.project.write("one.json", generic(one_test("t0", "{program}")))
    many_spec = desk.project.write("many.json", generic(*(one_test(f"t{n}", "{program}") for n in range(1 + FURTHER))))

    def harness(spec: Path) -> Cost:
        harness_phone.round_trips = 0
        outcomes: list[Outcome] = []
        elapsed_s = taken(
            lambda: outcomes.append(desk.harness("-b", spec, "--program", witness, on=harness_phone.serial))
        )
        assert outcomes[0].code == 0, outcomes[0].stderr
        return Cost(harness_phone.round_trips, elapsed_s)

    def fai_pep() -> Cost:
        plain_phone.round_trips = 0
        elapsed_s = taken(lambda: like_fai_pep(two_phones, plain_phone, witness))
        return Cost(plain_phone.round_trips, elapsed_s)

    harness(single_spec)
    medians: dict[tuple[str, float], float] = {}
    for delay_s in (0.0, DELAY_S):
        for phone in two_phones.phones:
            phone.set_latency(delay_s)
        costs: dict[str, list[Cost]] = {"ours": [], FAI_PEP: []}
        for _ in range(ROUNDS):
            single, several = harness(single_spec), harness(many_spec)
            more = Cost(several.round_trips - single.round_trips, several.elapsed_s - single.elapsed_s)
            costs["ours"].append(Cost(more.round_trips / FURTHER, more.elapsed_s / FURTHER))
            costs[FAI_PEP].append(fai_pep())
        print(f"\na further benchmark with {delay_s * 1000:g} ms of added latency:")
        for name, phone_costs in costs.items():
            trips, times = (
                spread([cost.round_trips for cost in phone_costs]),
                spread([cost.elapsed_s for cost in phone_costs]),
            )
            print(f"  {name}: {trips} round trips, {times} s")
            medians[name, delay_s] = statistics.median(cost.elapsed_s for cost in phone_costs)
        assert {cost.round_trips for cost in costs[FAI_PEP]} == {8}
        claim("round trips of a benchmark whose files are there", max(cost.round_trips for cost in costs["ours"]), 3)
    ratio = medians["ours", DELAY_S] / medians[FAI_PEP, DELAY_S]
    added = {name: medians[name, DELAY_S] - medians[name, 0.0] for name in ("ours", FAI_PEP)}
    print(f"time against FAI-PEP's calls: {ratio:.2f}; what the latency adds: {added['ours'] / added[FAI_PEP]:.2f}")


def test_files_are_pushed_as_fast_as_by_adb(two_phones: PhoneLab, tmp_path: Path) -> None:
    harness_phone, plain_phone = two_phones.phones
    server = AdbServer(two_phones.server)
    phone, platform = (
        Phone(server, harness_phone.serial),
        Android(Settings(cache_dir=tmp_path / "cache"), server, locks=tmp_path),
    )
    rates: dict[str, list[float]] = {"adb push": [], "sent": [], "staged and read back": []}
    file = tmp_path / "model.bin"
    device = next(device for device in platform.devices() if device.name == harness_phone.serial)
    with platform.open(device, RecordedProgress()) as session:
        for _ in range(ROUNDS):
            file.write_bytes(os.urandom(SIZE_BYTES))
            actions: dict[str, Callable[[], object]] = {
                "adb push": lambda: adb(two_phones, plain_phone, "push", str(file), "/data/local/tmp/model.bin"),
                "sent": lambda: phone.send([(file, "/data/local/tmp/model.bin", 0o644)]),
                "staged and read back": lambda: session.stage({"model.bin": file}, {}),
            }
            for name, action in actions.items():
                rates[name].append(SIZE_BYTES / taken(action) / (1 << 20))
        reading = taken(lambda: phone.sh('sha256sum < "$1"', "/data/local/tmp/model.bin"))
        again = taken(lambda: session.stage({"model.bin": file}, {}))
    print()
    for name, samples in rates.items():
        ratio = statistics.median(samples) / statistics.median(rates["adb push"])
        print(f"{name}: {spread(samples)} MiB/s, {ratio:.2f} of adb push")
    print(f"the phone alone reads it back with {SIZE_BYTES / reading / (1 << 20):.0f} MiB/s")
    print(f"staging it again: {again * 1000:.0f} ms")
    with file.open("rb") as content:
        wanted = hashlib.file_digest(content, "sha256").hexdigest()
    assert phone.sh('sha256sum < "$1"', "/data/local/tmp/model.bin").stdout.split()[0] == wanted


@pytest.mark.parametrize("stretch", [1, 5])
def test_many_phones_are_kept_busy(twenty_phones: PhoneLab, witness: Path, tmp_path: Path, stretch: int) -> None:
    """All phones share the CPUs of this machine, so a second time with programs that sleep longer."""
    generator = random.Random(SEED)
    seconds = [round(stretch * generator.uniform(0.2, 1.0), 3) for _ in range(BENCHMARKS)]
    tests = (one_test(f"t{number}", f"{{program}} t{number} {each}") for number, each in enumerate(seconds))
    desk = Desk(twenty_phones, Project(tmp_path, tmp_path / "cache"))
    spec = desk.project.write("spec.json", generic(*tests))
    idle_before, ours_before = psutil.cpu_times().idle, children_cpu_s()
    done: list[Outcome] = []
    whole_s = taken(lambda: done.append(desk.harness("-b", spec, "--program", witness, "--spread")))
    cpus = psutil.cpu_count() or 1
    idle = (psutil.cpu_times().idle - idle_before) / (whole_s * cpus)
    assert done[0].code == 0, done[0].stderr[-2000:]
    starts = [one for phone in desk.phones for one in program_starts(phone)]
    assert len(starts) == BENCHMARKS
    span_s = max(one.ended or 0.0 for one in starts) - min(one.began for one in starts)
    bound_s = max(sum(seconds) / PHONES, *seconds)
    print(f"\n{BENCHMARKS} benchmarks on {PHONES} phones: lower bound {bound_s:.2f} s")
    print(f"first start to last end {span_s:.2f} s ({span_s / bound_s:.2f} times the bound), whole run {whole_s:.2f} s")
    print(f"CPU of the harness {children_cpu_s() - ours_before:.1f} s; the {cpus} CPUs were idle for {idle:.0%} of it")
