"""RAPL of hosts: what stands in its way, and the kernel's events of it by `perf`, on fake trees and a fake perf."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command
from harness.core.power import PowerMethod
from platforms.host import perf_energy
from platforms.host.energy import RaplMeter


def zone(folder: Path, energy: str = "5\n") -> Path:
    folder = folder / "intel-rapl:0"
    folder.mkdir(parents=True)
    (folder / "name").write_text("package-0\n")
    (folder / "max_energy_range_uj").write_text("100\n")
    (folder / "energy_uj").write_text(energy)
    return folder


def test_without_counters_there_is_a_reason(tmp_path: Path) -> None:
    obstacle = RaplMeter(tmp_path, tmp_path).find_obstacle()
    assert obstacle is not None
    assert "no RAPL counters" in obstacle


def test_counters_that_only_root_may_read_are_told_with_both_remedies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (zone(tmp_path) / "energy_uj").unlink()
    monkeypatch.setattr(os, "access", lambda *_: False)
    obstacle = RaplMeter(tmp_path, tmp_path).find_obstacle()
    assert obstacle is not None
    assert "chmod a+r" in obstacle
    assert "perf_event_paranoid" in obstacle


def test_counters_without_numbers_are_no_meter(tmp_path: Path) -> None:
    zone(tmp_path, "many\n")
    assert RaplMeter(tmp_path, tmp_path).find_obstacle() == "the RAPL counters of this machine show no numbers"


def test_a_phones_method_is_none_of_hosts(tmp_path: Path) -> None:
    zone(tmp_path)
    assert RaplMeter(tmp_path, tmp_path).find_obstacle(PowerMethod.RAPL) is None
    assert "rails or battery" in str(RaplMeter(tmp_path, tmp_path).find_obstacle(PowerMethod.SOFTWARE))


@pytest.fixture
def events(tmp_path: Path) -> Path:
    folder = tmp_path / "events"
    folder.mkdir()
    (folder / "energy-pkg").write_text("event=0x02\n")
    return folder


@pytest.mark.parametrize(("paranoid", "readable"), [("-1", True), ("0", True), ("2", False), ("x", False)])
def test_events_are_read_where_the_kernel_lets_this_user(
    events: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paranoid: str, *, readable: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/perf")
    (tmp_path / "paranoid").write_text(paranoid)
    assert perf_energy.is_readable(events, tmp_path / "paranoid") is readable
    (events / "energy-pkg").unlink()
    assert not perf_energy.is_readable(events, tmp_path / "paranoid")


@pytest.mark.parametrize(
    ("written", "energy_mj"),
    [
        ("# started\n\n2.50;Joules;power/energy-pkg/;1;100.00;;\n", {"package": 2500.0}),
        ("<not counted>;Joules;power/energy-pkg/;0;0.00;;\n", {}),
        ("", {}),
    ],
)
def test_a_program_under_perf_has_the_energy_that_perf_writes(
    events: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, energy_mj: dict[str, float]
) -> None:
    fake = tmp_path / "bin" / "perf"
    fake.parent.mkdir()
    fake.write_text(
        "#!/bin/sh\n"
        'while [ "$1" != -- ]; do [ "$1" = -o ] && out=$2; shift; done\n'
        f'shift; printf %b {json.dumps(written)} >$out; exec "$@"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    completed = perf_energy.measure(Command(("sh", "-c", "echo ran; exit 3")), shell.run, events)
    assert (completed.stdout, completed.exit_code, completed.energy_mj) == ("ran\n", 3, energy_mj)
    assert completed.command.argv[0] == "sh"
    assert (completed.energy_unavailable is None) is bool(energy_mj)
