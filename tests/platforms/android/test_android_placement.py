from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import BenchmarkUnsupported
from platforms.android.launch.placement import CpuTopology

_CPU = "/sys/devices/system/cpu"


def cores(**clocks: int) -> str:
    return "".join(f"{_CPU}/{name}/cpufreq/cpuinfo_max_freq:{khz}\n" for name, khz in clocks.items())


OCTA = cores(**{f"cpu{number}": 1_800_000 for number in range(4)}) + cores(
    cpu4=2_400_000, cpu5=2_400_000, cpu7=2_850_000
)


def test_the_fastest_cores_are_taken_and_never_more_than_there_are() -> None:
    assert CpuTopology.parse(OCTA).choose(1) == (7,)
    assert CpuTopology.parse(OCTA).choose(3) == (4, 5, 7)
    assert CpuTopology.parse(OCTA).choose(99) == (0, 1, 2, 3, 4, 5, 7)


def test_cpu_0_comes_last_among_equals() -> None:
    assert CpuTopology.parse(OCTA).choose(4) == (1, 4, 5, 7)


def test_capacity_wins_over_clock() -> None:
    capacities = f"{_CPU}/cpu0/cpu_capacity:1024\n{_CPU}/cpu7/cpu_capacity:400\n"
    assert CpuTopology.parse(OCTA + capacities).choose(1) == (0,)


def test_cores_that_are_switched_off_are_not_chosen() -> None:
    assert CpuTopology.parse(OCTA + f"{_CPU}/online:0-3,5\n").choose(2) == (1, 5)


def test_unknown_cores_give_no_choice() -> None:
    assert CpuTopology.parse("").choose(4) == ()


@given(st.text())
def test_any_text_gives_cores_or_none(text: str) -> None:
    assert isinstance(CpuTopology.parse(text).choose(2), tuple)


def test_the_biggest_of_the_candidates_are_taken() -> None:
    topology = CpuTopology.parse(OCTA)
    assert topology.choose(2, candidates=(0, 1, 4)) == (1, 4)
    assert topology.choose(4, candidates=(0, 4)) == (0, 4)
    assert CpuTopology.parse("").choose(1, candidates=(2, 3)) == (2,)


def test_offline_cores_are_described() -> None:
    assert CpuTopology.parse(OCTA).describe_offline() is None
    assert CpuTopology.parse(OCTA + f"{_CPU}/online:0-5\n").describe_offline() == "7 (bigger ones among them)"
    assert CpuTopology.parse(OCTA + f"{_CPU}/online:2-7\n").describe_offline() == "0, 1"


def test_a_core_that_is_not_usable_is_refused_with_those_that_are() -> None:
    with pytest.raises(BenchmarkUnsupported, match="CPU 9 does not exist on the phone") as refused:
        CpuTopology.parse(OCTA).check((9, 1))
    assert "0, 1, 2, 3, 4, 5, 7" in (refused.value.hint or "")
    assert CpuTopology.parse("").check((9, 1)) == (1, 9)


def test_mixed_kinds_of_cpus_are_described_and_equal_ones_are_not() -> None:
    topology = CpuTopology.parse(OCTA)
    assert topology.kinds == ((7,), (4, 5), (0, 1, 2, 3))
    assert topology.describe_mixture((4, 5, 7)) == "CPU 7 up to 2850 MHz; CPU 4, 5 up to 2400 MHz"
    assert topology.describe_mixture((4, 5)) is None
    assert CpuTopology.parse("").describe_mixture((0, 7)) is None
