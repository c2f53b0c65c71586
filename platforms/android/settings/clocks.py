"""Clock frequencies of a phone's cores, and how they are fixed on a rooted phone.

A clock is fixed by its policy's limits, lowest = highest. The governor becomes `performance` as well, because phones
let their power services move the lower limit while somebody touches them; `performance` stays at the upper one. Both
happen only when a frequency is requested (`--set-freq`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from harness.core.errors import EnvironmentProblem, UsageError
from platforms.android.settings.changes import SettingChange, SettingKind

_LEAST_KHZ: Final = 10_000
"""No CPU of a phone has a lower frequency; smaller numbers are meant in MHz."""
_FILE = re.compile(r"(policy[0-9]{1,3})/(?:stats/)?([a-z_]+):(.*)")


class ClockPolicy(Struct, frozen=True):
    """CPUs that share a clock.

    Attributes:
        name: The kernel's name, for example `policy4`.
        governor: The algorithm that chooses the frequency within the limits.
        lowest_khz: Lower limit now.
        highest_khz: Upper limit now.
        frequencies_khz: Possible frequencies, ascending.
        governors: Available governors.
    """

    name: str
    governor: str
    lowest_khz: int
    highest_khz: int
    frequencies_khz: tuple[int, ...]
    governors: tuple[str, ...] = ()

    def nearest_khz(self, frequency: str) -> int:
        """Return the possible frequency that is requested by `max`, `mid`, `min`, or the one nearest to so many kHz."""
        match frequency:
            case "max":
                return self.frequencies_khz[-1]
            case "min":
                return self.frequencies_khz[0]
            case "mid":
                return self.frequencies_khz[len(self.frequencies_khz) // 2]
            case _:
                return min(self.frequencies_khz, key=lambda khz: abs(khz - int(frequency)))


def check_frequency(frequency: str) -> None:
    """Check a requested frequency: `max`, `mid`, `min`, or kHz.

    Raises:
        UsageError: It is none of these.
    """
    is_khz = re.fullmatch("[0-9]{1,9}", frequency) and int(frequency) >= _LEAST_KHZ
    if not is_khz and frequency not in {"max", "mid", "min"}:
        raise UsageError(f"{frequency!r} is no clock frequency", hint="--set-freq takes max, mid, min, or kHz: 1800000")


def parse_policies(lines: Sequence[str]) -> tuple[ClockPolicy, ...]:
    """Parse the policies of a phone; those with missing files are left out.

    Args:
        lines: `path:content`, below `/sys/devices/system/cpu/cpufreq/`.
    """
    files: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        if match := _FILE.fullmatch(line):
            files.setdefault(match[1], {}).setdefault(match[2], []).append(match[3])
    names = sorted(files, key=lambda name: int(name.removeprefix("policy")))
    return tuple(policy for name in names if (policy := _parse_policy(name, files[name])) is not None)


def fix_clocks(policies: Sequence[ClockPolicy], frequency: str) -> tuple[SettingChange, ...]:
    """Return the changes that fix every clock, in an order in which the lower limit never passes the upper one.

    The reverse order restores them.

    Args:
        policies: The phone's policies.
        frequency: As for `ClockPolicy.nearest_khz`.

    Raises:
        EnvironmentProblem: There are no policies.
    """
    if not policies:
        raise EnvironmentProblem("the phone shows no clocks that could be fixed", hint="leave out --set-freq")
    return tuple(change for policy in policies for change in _fix_clock(policy, frequency))


def _fix_clock(policy: ClockPolicy, frequency: str) -> list[SettingChange]:
    khz = policy.nearest_khz(frequency)
    lower = ("scaling_min_freq", str(policy.lowest_khz), str(khz))
    upper = ("scaling_max_freq", str(policy.highest_khz), str(khz))
    changes = [upper, lower] if khz >= policy.lowest_khz else [lower, upper]
    if "performance" in policy.governors:
        changes.append(("scaling_governor", policy.governor, "performance"))
    return [
        SettingChange(kind=SettingKind.CPUFREQ, name=f"{policy.name}/{file}", before=before, ours=ours)
        for file, before, ours in changes
        if before != ours
    ]


def _parse_policy(name: str, files: dict[str, list[str]]) -> ClockPolicy | None:
    words = {file: " ".join(lines).split() for file, lines in files.items()}
    limits = [_parse_khz(words.get(file, [])) for file in ("scaling_min_freq", "scaling_max_freq")]
    governor = words.get("scaling_governor", [])
    frequencies_khz = (
        _parse_khz(words.get("scaling_available_frequencies", []))
        or _parse_khz([line.split()[0] for line in files.get("time_in_state", []) if line.split()])
        or _parse_khz([*words.get("cpuinfo_min_freq", []), *words.get("cpuinfo_max_freq", [])])
    )
    if not (all(limits) and governor and frequencies_khz):
        return None
    governors = tuple(words.get("scaling_available_governors", []))
    return ClockPolicy(name, governor[0], limits[0][0], limits[1][0], frequencies_khz, governors)


def _parse_khz(words: Sequence[str]) -> tuple[int, ...]:
    return tuple(sorted({int(word) for word in words if re.fullmatch("[0-9]{1,9}", word)}))
