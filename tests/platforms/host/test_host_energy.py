"""RAPL's counters, as files: this machine may have none, and only root may read them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core.command import Command, Completed
from harness.testing.progress import RecordedProgress
from platforms.host.energy import measure_energy
from platforms.host.platform import Host

Zones = Callable[..., None]
RANGE = 262_143_328_850


@pytest.fixture
def zones(tmp_path: Path) -> Zones:
    """Writes zones: their counters by place, each with a name."""

    def write(**counters: int) -> None:
        for word, microjoules in counters.items():
            place, _, name = word.partition("__")
            zone = tmp_path / f"intel-rapl:{place[1:].replace('_', ':')}"
            zone.mkdir(exist_ok=True)
            (zone / "name").write_text(f"{name.replace('_', '-')}\n")
            (zone / "energy_uj").write_text(f"{microjoules}\n")
            (zone / "max_energy_range_uj").write_text(f"{RANGE}\n")

    return write


def program(wall_s: float, between: Callable[[], None] = lambda: None) -> Callable[[], Completed]:
    def run() -> Completed:
        between()
        return Completed(Command(("x",)), 0, wall_s=wall_s)

    return run


def test_packages_and_memory_count_and_their_parts_do_not(zones: Zones, tmp_path: Path) -> None:
    zones(z0__package_0=1_000_000, z0_0__core=0, z0_1__dram=500_000, z1__package_1=0, z2__psys=0)

    def later() -> None:
        zones(z0__package_0=3_500_000, z0_0__core=9, z0_1__dram=600_000, z1__package_1=1000, z2__psys=99)

    assert measure_energy(program(1.0, later), tmp_path).energy_mj == {
        "package-0": 2500.0,
        "package-0 dram": 100.0,
        "package-1": 1.0,
    }


def test_a_counter_may_wrap_around_once(zones: Zones, tmp_path: Path) -> None:
    zones(z0__package_0=RANGE - 999)
    completed = measure_energy(program(1.0, lambda: zones(z0__package_0=1000)), tmp_path)
    assert completed.energy_mj == {"package-0": 2.0}


def test_a_counter_that_may_have_wrapped_around_twice_is_not_used(zones: Zones, tmp_path: Path) -> None:
    zones(z0__package_0=0)
    completed = measure_energy(program(RANGE / 1e6 / 1000 + 1), tmp_path)
    assert completed.energy_mj == {}
    assert "twice" in (completed.energy_unavailable or "")


@pytest.mark.parametrize("spoil", ["nothing", "energy_uj", "words"])
def test_unreadable_counters_are_reported(zones: Zones, tmp_path: Path, spoil: str) -> None:
    if spoil != "nothing":
        zones(z0__package_0=0)
        counter = tmp_path / "intel-rapl:0" / "energy_uj"
        counter.unlink() if spoil == "energy_uj" else counter.write_text("none\n")
    completed = measure_energy(program(1.0), tmp_path)
    assert completed.energy_mj == {}
    assert "RAPL" in (completed.energy_unavailable or "")


def test_this_machine_has_energy_or_a_reason(tmp_path: Path) -> None:
    host = Host(tmp_path / "work", lock_path=tmp_path / "lock")
    with host.open(host.devices()[0], RecordedProgress()) as session:
        asked = session.run(Command(("true",), energy=True))
        unasked = session.run(Command(("true",)))
    assert bool(asked.energy_mj) != bool(asked.energy_unavailable)
    assert (unasked.energy_mj, unasked.energy_unavailable) == ({}, None)
    readable = any(os.access(file, os.R_OK) for file in Path("/sys/class/powercap").glob("intel-rapl:*/energy_uj"))
    assert bool(asked.energy_mj) == readable
