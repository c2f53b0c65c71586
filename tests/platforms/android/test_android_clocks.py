from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import EnvironmentProblem, UsageError
from platforms.android.settings.clocks import Policy, biggest, checked_wish, fixing, policies, target_khz

_CPU = "/sys/devices/system/cpu"


def cores(**clocks: int) -> str:
    return "".join(f"{_CPU}/{name}/cpufreq/cpuinfo_max_freq:{khz}\n" for name, khz in clocks.items())


OCTA = cores(**{f"cpu{number}": 1_800_000 for number in range(4)}) + cores(
    cpu4=2_400_000, cpu5=2_400_000, cpu7=2_850_000
)


def test_the_fastest_cores_are_taken_and_never_more_than_there_are() -> None:
    assert biggest(OCTA, 1) == (7,)
    assert biggest(OCTA, 3) == (4, 5, 7)
    assert biggest(OCTA, 99) == (0, 1, 2, 3, 4, 5, 7)


def test_cpu_0_comes_last_among_equals() -> None:
    assert biggest(OCTA, 4) == (1, 4, 5, 7)


def test_capacity_wins_over_clock() -> None:
    capacities = f"{_CPU}/cpu0/cpu_capacity:1024\n{_CPU}/cpu7/cpu_capacity:400\n"
    assert biggest(OCTA + capacities, 1) == (0,)


def test_cores_that_are_switched_off_are_none() -> None:
    assert biggest(OCTA + f"{_CPU}/online:0-3,5\n", 2) == (1, 5)


def test_a_phone_that_does_not_tell_gives_no_cores() -> None:
    assert biggest("", 4) == ()


@given(st.text())
def test_garbage_gives_cores_or_none(text: str) -> None:
    assert isinstance(biggest(text, 2), tuple)
    assert isinstance(policies(text.splitlines()), tuple)


LITTLE = [
    "policy0/scaling_governor:schedutil",
    "policy0/scaling_min_freq:300000",
    "policy0/scaling_max_freq:1800000",
    "policy0/scaling_available_frequencies:1800000 300000 900000 1200000 ",
    "policy0/scaling_available_governors:schedutil performance",
]
BIG = [
    "policy4/scaling_governor:schedutil",
    "policy4/scaling_min_freq:2400000",
    "policy4/scaling_max_freq:2850000",
    "policy4/stats/time_in_state:500000 12",
    "policy4/stats/time_in_state:2400000 12",
    "policy4/stats/time_in_state:2850000 1",
]


def test_policies_are_read_and_the_unreadable_left_out() -> None:
    assert policies([*BIG, *LITTLE, "policy7/scaling_governor:schedutil"]) == (
        Policy(
            "policy0", "schedutil", 300000, 1800000, (300000, 900000, 1200000, 1800000), ("schedutil", "performance")
        ),
        Policy("policy4", "schedutil", 2400000, 2850000, (500000, 2400000, 2850000)),
    )


def test_the_hardware_limits_are_taken_where_no_steps_are_told() -> None:
    lines = [*LITTLE[:3], "policy0/cpuinfo_min_freq:300000", "policy0/cpuinfo_max_freq:2000000"]
    assert policies(lines)[0].frequencies_khz == (300000, 2000000)


@pytest.mark.parametrize(
    ("wish", "khz"), [("max", 1800000), ("min", 300000), ("mid", 1200000), ("1000000", 900000), ("99999999", 1800000)]
)
def test_a_wish_is_the_nearest_that_there_is(wish: str, khz: int) -> None:
    assert target_khz(policies(LITTLE)[0], checked_wish(wish)) == khz


@pytest.mark.parametrize("wish", ["", "fast", "-1", "1800", "1.8e6", "1800000; reboot"])
def test_what_is_no_clock_is_refused(wish: str) -> None:
    with pytest.raises(UsageError):
        checked_wish(wish)


def test_a_clock_that_is_fixed_already_needs_nothing() -> None:
    policy = Policy("policy0", "performance", 900000, 900000, (300000, 900000), ("performance",))
    assert fixing([policy], "max") == ()


def test_a_phone_without_clocks_says_so() -> None:
    with pytest.raises(EnvironmentProblem, match="no clocks"):
        fixing(policies([]), "max")


@given(
    st.lists(st.integers(10_000, 4_000_000), min_size=1, max_size=12, unique=True).map(sorted),
    st.data(),
)
def test_the_lower_limit_never_passes_the_upper_one_there_and_back(steps: list[int], data: st.DataObject) -> None:
    low, high = sorted(data.draw(st.tuples(st.sampled_from(steps), st.sampled_from(steps))))
    wish = data.draw(st.sampled_from(["max", "mid", "min", str(data.draw(st.sampled_from(steps)))]))
    policy = Policy("policy0", "schedutil", low, high, tuple(steps), ("performance",))
    limits = {"policy0/scaling_min_freq": low, "policy0/scaling_max_freq": high, "policy0/scaling_governor": 0}
    changes = fixing([policy], wish)

    def assign(name: str, value: str) -> None:
        limits[name] = int(value) if value.isdigit() else 0
        assert limits["policy0/scaling_min_freq"] <= limits["policy0/scaling_max_freq"]

    for change in changes:
        assign(change.name, change.ours)
    assert limits["policy0/scaling_min_freq"] == limits["policy0/scaling_max_freq"] == target_khz(policy, wish)
    for change in reversed(changes):
        assign(change.name, change.before)
    assert (limits["policy0/scaling_min_freq"], limits["policy0/scaling_max_freq"]) == (low, high)
