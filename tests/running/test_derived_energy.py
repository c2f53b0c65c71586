"""Energy of launches as metrics: of the whole, of each part, of an iteration."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import pytest

from harness.core.command import Command, Completed
from harness.core.metric import Direction, Observation, direction_of
from harness.running.derived_metrics import derive_energy


def ended(wall_s: float = 1.0, reason: str | None = None, **energy_mj: float) -> Completed:
    return Completed(Command(("x",)), 0, wall_s=wall_s, energy_mj=energy_mj, energy_unavailable=reason)


def latency(*samples: float, unit: str = "ms") -> Observation:
    return Observation(type="NET", metric="latency", unit=unit, samples=samples)


def derive(completed: Sequence[Completed], *observed: Observation, warmup: int = 0) -> Mapping[str, float]:
    observations, _ = derive_energy(completed, observed, warmup)
    assert all((observation.unit, len(observation.samples)) == ("mJ", 1) for observation in observations)
    return {observation.name: observation.samples[0] for observation in observations}


def codes(completed: Sequence[Completed], *observed: Observation, warmup: int = 0) -> list[str]:
    return [note.code for note in derive_energy(completed, observed, warmup)[1]]


def test_total_energy_is_the_sum_of_all_parts_and_commands() -> None:
    assert derive([ended(big=2.0, little=1.0), ended(big=3.0)]) == {
        "RUN energy": 6.0,
        "big energy": 5.0,
        "little energy": 1.0,
    }


def test_lower_energy_is_better() -> None:
    (whole, *_), _ = derive_energy([ended(battery=1.0)], (), 0)
    assert direction_of(whole.name, whole.unit) is Direction.LOWER


def test_unknown_energy_is_noted_instead_of_zero() -> None:
    observations, (note,) = derive_energy([ended(battery=3.0), ended(reason="it is plugged in")], (), 0)
    assert observations == ()
    assert (note.code, note.trust) == ("energy_unavailable", True)
    assert note.message.endswith("it is plugged in")


def test_a_device_without_energy_is_noted() -> None:
    assert codes([ended()]) == ["energy_unavailable"]


def test_zero_energy_is_reported() -> None:
    assert derive([ended(battery=0.0)])["RUN energy"] == 0.0


@pytest.mark.parametrize(("unit", "size"), [("ms", 1.0), ("us", 1e3), ("s", 1e-3)])
def test_energy_of_an_iteration_is_its_share_of_the_launch(unit: str, size: float) -> None:
    samples = latency(*[19.0 * size] * 50, unit=unit)
    assert derive([ended(battery=1000.0)], samples)["NET energy"] == pytest.approx(19.0)
    assert codes([ended(battery=1000.0)], samples) == []


def test_warm_up_iterations_share_the_energy() -> None:
    samples = latency(*[19.0] * 40)
    assert "NET energy" not in derive([ended(battery=1000.0)], samples)
    assert derive([ended(battery=1000.0)], samples, warmup=10)["NET energy"] == pytest.approx(19.0)


@pytest.mark.parametrize(
    ("count", "words"), [(40, "iterations took 76 % of the launch, and less than 90 %"), (100, "overlap")]
)
def test_energy_of_an_iteration_is_left_out_where_it_cannot_be_derived(count: int, words: str) -> None:
    observations, (note,) = derive_energy([ended(battery=1000.0)], [latency(*[19.0] * count)], 0)
    assert [observation.name for observation in observations] == ["RUN energy", "battery energy"]
    assert note.code == "energy_per_iteration"
    assert words in note.message


@pytest.mark.parametrize("latencies", [(), (latency(1.0, unit="furlongs"),), (latency(),)])
def test_without_latencies_no_energy_of_iterations_is_derived(latencies: tuple[Observation, ...]) -> None:
    assert list(derive([ended(battery=1.0)], *latencies)) == ["RUN energy", "battery energy"]
    assert codes([ended(battery=1.0)], *latencies) == []


def test_energy_that_the_program_reports_is_not_derived() -> None:
    own = Observation(type="NET", metric="energy", unit="mJ", samples=(1.0,))
    assert list(derive([ended(battery=1000.0)], own, latency(*[19.0] * 50))) == ["RUN energy", "battery energy"]


def test_a_launch_without_duration_causes_no_division_by_zero() -> None:
    assert "NET energy" not in derive([ended(wall_s=0.0, battery=sys.float_info.max)], latency(1.0))
