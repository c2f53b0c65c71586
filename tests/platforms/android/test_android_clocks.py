from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import EnvironmentProblem, UsageError
from platforms.android.settings.clocks import ClockPolicy, check_frequency, fix_clocks, parse_policies


@given(st.text())
def test_any_text_gives_policies_or_none(text: str) -> None:
    assert isinstance(parse_policies(text.splitlines()), tuple)


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


def test_incomplete_policies_are_left_out() -> None:
    assert parse_policies([*BIG, *LITTLE, "policy7/scaling_governor:schedutil"]) == (
        ClockPolicy(
            "policy0", "schedutil", 300000, 1800000, (300000, 900000, 1200000, 1800000), ("schedutil", "performance")
        ),
        ClockPolicy("policy4", "schedutil", 2400000, 2850000, (500000, 2400000, 2850000)),
    )


def test_hardware_limits_replace_unknown_frequencies() -> None:
    lines = [*LITTLE[:3], "policy0/cpuinfo_min_freq:300000", "policy0/cpuinfo_max_freq:2000000"]
    assert parse_policies(lines)[0].frequencies_khz == (300000, 2000000)


@pytest.mark.parametrize(
    ("frequency", "khz"),
    [("max", 1800000), ("min", 300000), ("mid", 1200000), ("1000000", 900000), ("99999999", 1800000)],
)
def test_the_nearest_possible_frequency_is_taken(frequency: str, khz: int) -> None:
    check_frequency(frequency)
    assert parse_policies(LITTLE)[0].nearest_khz(frequency) == khz


@pytest.mark.parametrize("frequency", ["", "fast", "-1", "1800", "1.8e6", "1800000; reboot"])
def test_an_invalid_frequency_is_refused(frequency: str) -> None:
    with pytest.raises(UsageError):
        check_frequency(frequency)


def test_a_clock_that_is_fixed_already_needs_no_change() -> None:
    policy = ClockPolicy("policy0", "performance", 900000, 900000, (300000, 900000), ("performance",))
    assert fix_clocks([policy], "max") == ()


def test_a_phone_without_clocks_is_refused() -> None:
    with pytest.raises(EnvironmentProblem, match="no clocks"):
        fix_clocks(parse_policies([]), "max")


@given(
    st.lists(st.integers(10_000, 4_000_000), min_size=1, max_size=12, unique=True).map(sorted),
    st.data(),
)
def test_the_lower_limit_never_passes_the_upper_one_there_and_back(steps: list[int], data: st.DataObject) -> None:
    low, high = sorted(data.draw(st.tuples(st.sampled_from(steps), st.sampled_from(steps))))
    frequency = data.draw(st.sampled_from(["max", "mid", "min", str(data.draw(st.sampled_from(steps)))]))
    policy = ClockPolicy("policy0", "schedutil", low, high, tuple(steps), ("performance",))
    limits = {"policy0/scaling_min_freq": low, "policy0/scaling_max_freq": high, "policy0/scaling_governor": 0}
    changes = fix_clocks([policy], frequency)

    def assign(name: str, value: str) -> None:
        limits[name] = int(value) if value.isdigit() else 0
        assert limits["policy0/scaling_min_freq"] <= limits["policy0/scaling_max_freq"]

    for change in changes:
        assign(change.name, change.ours)
    assert limits["policy0/scaling_min_freq"] == limits["policy0/scaling_max_freq"] == policy.nearest_khz(frequency)
    for change in reversed(changes):
        assign(change.name, change.before)
    assert (limits["policy0/scaling_min_freq"], limits["policy0/scaling_max_freq"]) == (low, high)
