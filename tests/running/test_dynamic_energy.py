"""Energy net of idling: derived, launched between idling, lengthened, compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec.structs import replace

from harness.analysis.energy import assess_energy
from harness.core.command import Command, Completed
from harness.core.measurement import Job
from harness.core.metric import DYNAMIC_ENERGY, Metric, Observation
from harness.core.power import PowerReading, PowerRequest
from harness.core.result import Launch, Outcome
from harness.running.compared_metric import ComparedMetric
from harness.running.derived_metrics import derive_energy
from harness.running.dynamic_energy import derive_dynamic_energy
from harness.running.measure import measure
from harness.running.metered import lengthen
from harness.testing.progress import RecordedProgress
from platforms.host.energy import RaplMeter
from platforms.host.platform import Host
from platforms.host.session import HostSession
from tests.running.players import Players, benchmark, player

LATENCY = Observation(type="NET", metric="latency", unit="s", samples=(0.01,) * 100)


def step(power_w: float, wall_s: float, meter: str = "battery", reason: str | None = None) -> Completed:
    energy = {} if reason else {meter: power_w * wall_s * 1000}
    return Completed(Command(("x",)), 0, wall_s=wall_s, energy_mj=energy, energy_unavailable=reason)


def derive(launch: Completed, *idle: Completed) -> tuple[dict[str, float], list[str]]:
    whole, _ = derive_energy((launch,), (LATENCY,), 0)
    observations, notes = derive_dynamic_energy((launch,), idle, (LATENCY, *whole))
    return {item.name: item.samples[0] for item in observations}, [note.code for note in notes]


def test_the_baseline_is_the_mean_of_idling_before_and_after() -> None:
    values, notes = derive(step(3.0, 1.0), step(0.9, 2.0), step(1.1, 2.0))
    assert values == {
        "NET dynamic_energy": pytest.approx(20.0),
        "RUN mean_power": pytest.approx(3.0),
        "RUN idle_power": pytest.approx(1.0),
        "RUN dynamic_energy": pytest.approx(2000.0),
    }
    assert notes == []


def test_energy_below_the_baseline_is_negative_and_kept() -> None:
    assert derive(step(0.9, 1.0), step(1.0, 2.0), step(1.0, 2.0))[0]["NET dynamic_energy"] == pytest.approx(-1.0)


def test_unsteady_idling_is_noted() -> None:
    assert derive(step(2.0, 1.0), step(0.5, 2.0), step(1.5, 2.0))[1] == ["idle_unsteady"]


@pytest.mark.parametrize("idle", [(), (step(1, 2), step(1, 2, reason="too coarse")), (step(1, 2, "rail"),) * 2])
def test_without_a_baseline_there_is_a_reason_and_no_net_energy(idle: Sequence[Completed]) -> None:
    values, notes = derive(step(2.0, 1.0), *idle)
    assert set(values) == {"RUN mean_power"}
    assert notes == ["baseline_unavailable"]


def energies(*samples: float) -> Metric:
    ranked = sorted(samples)
    return Metric(
        name="NET dynamic_energy",
        type="NET",
        metric=DYNAMIC_ENERGY,
        unit="mJ",
        samples=samples,
        launches=tuple(range(len(samples))),
        summary={"p50": ranked[len(ranked) // 2]},
    )


@pytest.mark.parametrize(
    ("samples", "codes"),
    [
        ((20.0,), ["energy_of_one_launch"]),
        ((20.0, 21.0, 19.5), []),
        ((1.0, 3.0, 0.5), ["energy_not_above_idle"]),
        ((-1.0, 2.0, 1.0, -2.0, 3.0, 0.5, 1.0, -1.0), ["energy_not_above_idle"]),
    ],
)
def test_energy_that_cannot_be_told_from_none_says_so(samples: tuple[float, ...], codes: list[str]) -> None:
    assert [note.code for note in assess_energy((energies(*samples),))] == codes


def test_energy_below_that_of_the_idle_device_is_explained_as_a_baseline_that_was_too_high() -> None:
    (note,) = assess_energy((energies(-8.0, -7.5, -8.5, -8.1, -7.9, -8.2),))
    assert (note.code, note.trust) == ("energy_not_above_idle", False)
    assert "cannot be told" not in note.message
    assert "baseline took more power than the program" in note.message


def observed(whole: float, net: float | None) -> tuple[Observation, ...]:
    items = [Observation(type="NET", metric="energy", unit="mJ", samples=(whole,)), LATENCY]
    if net is not None:
        items.append(Observation(type="NET", metric="dynamic_energy", unit="mJ", samples=(net,)))
    return tuple(items)


@pytest.mark.parametrize(
    ("whole", "net", "name"),
    [(10, 8, "NET dynamic_energy"), (10, 0.5, "NET energy"), (10, -2, "NET energy"), (10, None, "NET energy")],
)
def test_a_test_of_energy_compares_net_energy_unless_little_of_it_is(
    whole: float, net: float | None, name: str
) -> None:
    found = ComparedMetric(is_energy=True).find(observed(whole, net))
    assert found is not None
    assert found.name == name


def test_other_tests_compare_the_latency() -> None:
    assert ComparedMetric().find(observed(10, 8)) == LATENCY


def test_iterations_are_made_as_long_as_the_meter_needs() -> None:
    launched = Launch(index=0, outcome=Outcome.OK, started=0.0, wall_s=1.5)
    typed = benchmark(metric="power", energy=True, power=PowerRequest(window_s=3), warmup=0, timeout_s=300)
    longer = lengthen(typed, launched, (LATENCY,))
    assert longer is not None
    assert longer.iterations == 600, "twelve times the half second beside the iterations"
    assert lengthen(typed.model_copy(update={"commands": ("x",)}), launched, (LATENCY,)) is None
    assert lengthen(typed.model_copy(update={"power": None}), launched, (LATENCY,)) is None
    short = typed.model_copy(update={"timeout_s": 4.0})
    bounded = lengthen(short, launched, (LATENCY,))
    assert bounded is not None
    assert bounded.iterations == 200, "half of the time limit"


def counting_down(folder: Path, powers: list[float]) -> Callable[[], None]:
    """Return what advances the counters of a fake powercap tree by each power in turn (watts for a second)."""
    zone = folder / "intel-rapl:0"
    zone.mkdir()
    (zone / "name").write_text("package-0\n")
    (zone / "max_energy_range_uj").write_text("262143328850\n")
    (zone / "energy_uj").write_text("262143000000\n")

    def advance() -> None:
        counter = int((zone / "energy_uj").read_text()) + int(powers.pop(0) * 1e6)
        (zone / "energy_uj").write_text(f"{counter % 262143328851}\n")

    return advance


class SteppingMeter(RaplMeter, frozen=True):
    """The meter of a fake tree, whose programs take a second each and the powers that a test gives."""

    def measure(self, command: Command, run: Callable[[Command], Completed]) -> Completed:
        def timed(started: Command) -> Completed:
            quick = started.replace_argv(("true",)) if "sleep" in started.argv else started
            completed = replace(run(quick), wall_s=1.0)
            ADVANCE[0]()
            return completed

        return RaplMeter.measure(self, command, timed)


ADVANCE: list[Callable[[], None]] = []


def test_launches_on_a_host_with_rapl_stand_between_idling(tmp_path: Path) -> None:
    tree = tmp_path / "powercap"
    tree.mkdir()
    ADVANCE[:] = [counting_down(tree, [10.0, 25.0, 12.0, 10.0, 27.0, 10.0])]
    host = Host(tmp_path / "work", lock_path=tmp_path / "lock", meter=SteppingMeter(tree, tmp_path))
    assert host.find_meter_obstacle(host.devices()[0], None) is None
    wanted = benchmark(metric="power", energy=True, power=PowerRequest(), launches=2, commands=("true",))
    with host.open(host.devices()[0], RecordedProgress()) as session:
        assert isinstance(session, HostSession)
        measurement = measure(
            Job(wanted, player("good")),
            session,
            Players(tmp_path / "journal"),
            scratch=tmp_path,
            clock=lambda: 0.0,
            progress=RecordedProgress(),
        )
    assert measurement.outcome is Outcome.OK, measurement.reason
    values = [{item.name: item.samples[0] for item in launch} for launch in measurement.observations]
    assert [value["RUN idle_power"] for value in values] == pytest.approx([11.0, 10.0])
    assert [value["RUN dynamic_energy"] for value in values] == pytest.approx([14_000.0, 17_000.0])
    assert [value["package-0 energy"] for value in values] == pytest.approx([25_000.0, 27_000.0])


Made = TypeVar("Made")


class CannedMeter:
    """An external meter that reads what a test gives."""

    name = "monsoon"

    def __init__(self, reading: PowerReading) -> None:
        self._reading = reading

    def record(self, launch: Callable[[], Made]) -> tuple[Made, PowerReading]:
        return launch(), self._reading


@pytest.mark.parametrize(
    ("reading", "names"),
    [
        (PowerReading(3.0, (1.0, 1.0), 2.0), {"RUN dynamic_energy", "RUN idle_power", "monsoon energy"}),
        (PowerReading(reason="its trace has a gap"), set()),
    ],
)
def test_an_external_meter_gives_the_energy_or_a_reason(
    session: HostSession, tmp_path: Path, reading: PowerReading, names: set[str]
) -> None:
    wanted = benchmark(metric="power", energy=True, power=PowerRequest(), commands=("true",))
    measurement = measure(
        Job(wanted, player("good"), meter=CannedMeter(reading)),
        session,
        Players(tmp_path / "journal"),
        scratch=tmp_path,
        clock=lambda: 0.0,
        progress=RecordedProgress(),
    )
    reported = {item.name for item in measurement.observations[0]}
    assert names <= reported
    assert bool(names) or any("a gap" in note.message for note in measurement.notes)
