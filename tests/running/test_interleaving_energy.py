"""Programs that live at the same time share the energy that they draw."""

from __future__ import annotations

import time
from pathlib import Path

from harness.analysis.compare.statistics import launch_statistics
from harness.core.comparison import Interleave
from harness.core.measurement import Job
from harness.running.interleaving import InterleavedProcesses
from harness.running.launcher import Launcher
from harness.running.pairs import PairedLaunches
from harness.testing.progress import RecordedProgress
from platforms.host.platform import Host
from tests.running.players import InterleavablePlayers, benchmark, player


def test_pairs_with_energy_are_measured_in_sequential_launches(tmp_path: Path) -> None:
    host, framework = Host(tmp_path / "work", lock_path=tmp_path / "lock"), InterleavablePlayers(tmp_path / "journal")
    job = Job(benchmark(energy=True), player("good"))
    with host.open(host.devices()[0], RecordedProgress()) as session:
        control, treatment = (Launcher(job, session, framework, tmp_path, time.time) for _ in range(2))
        pairs = PairedLaunches(
            control,
            treatment,
            seed=1,
            key="key",
            statistics=launch_statistics,
            interleaving=InterleavedProcesses(),
            metric="NET latency",
        )
        pairs.begin()
        assert pairs.measure_pair().pair is not None
    assert pairs.interleaving.interleave is Interleave.LAUNCH
    (note,) = pairs.interleaving.notes
    assert "energy" in note.message
