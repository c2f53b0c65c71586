"""The clocks of a phone's cores: which cores are the biggest, and how their clocks are fixed on a rooted phone.

A clock is fixed by its policy's limits, lowest = highest. The governor becomes `performance` as well, because phones
let their power services move the lower limit while somebody touches them; `performance` stays at the upper one. Both
happen only when a clock is asked for (`--set_freq`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.core.errors import EnvironmentProblem, UsageError
from platforms.android.settings.settings_log import Change, Kind

CORES_SCRIPT: Final = """
  cpus=/sys/devices/system/cpu
  grep -sHE '^[0-9]' $cpus/online $cpus/cpu[0-9]*/cpu_capacity $cpus/cpu[0-9]*/cpufreq/cpuinfo_max_freq
"""
"""A fragment for a phone's shell that prints what `biggest` reads."""

_LEAST_KHZ: Final = 10_000
"""No CPU of a phone is clocked lower; who says less means MHz."""

_CORE = re.compile(r"/cpu([0-9]{1,4})/(cpu_capacity|cpufreq/cpuinfo_max_freq):([0-9]{1,9})$")
_ONLINE = re.compile(r"/cpu/online:([0-9,-]+)$")
_CLOCK = re.compile(r"(policy[0-9]{1,3})/(?:stats/)?([a-z_]+):(.*)")


def biggest(cores_text: str, threads: int) -> tuple[int, ...]:
    """The CPUs with the most to give, for so many threads; none when the phone does not say.

    They are ranked by capacity where the kernel tells it (Linux, `sched-capacity.rst`), because clocks of different
    designs do not compare, then by highest clock. CPU 0, which serves most interrupts, comes last among equals.

    Args:
        cores_text: What `CORES_SCRIPT` printed.
        threads: How many are wanted; there may be fewer.
    """
    known: dict[int, dict[str, int]] = {}
    online: set[int] | None = None
    for line in cores_text.splitlines():
        if core := _CORE.search(line):
            known.setdefault(int(core[1]), {})[core[2].rpartition("/")[2]] = int(core[3])
        elif listed := _ONLINE.search(line):
            online = _numbers(listed[1])
    ranked = sorted(
        (cpu for cpu in known if online is None or cpu in online),
        key=lambda cpu: (
            -known[cpu].get("cpu_capacity", 0),
            -known[cpu].get("cpuinfo_max_freq", 0),
            cpu == 0,
            cpu,
        ),
    )
    return tuple(sorted(ranked[: max(1, threads)]))


@dataclass(frozen=True, slots=True)
class Policy:
    """CPUs that share a clock.

    Attributes:
        name: The kernel's name, for example `policy4`.
        governor: What moves the clock within its limits.
        lowest_khz: Lower limit now.
        highest_khz: Upper limit now.
        frequencies_khz: What it can be, ascending.
        governors: Governors there are.
    """

    name: str
    governor: str
    lowest_khz: int
    highest_khz: int
    frequencies_khz: tuple[int, ...]
    governors: tuple[str, ...] = ()


def checked_wish(wish: str) -> str:
    """A wish for a clock, if it is one.

    Args:
        wish: `max`, `mid`, `min`, or kHz.

    Raises:
        UsageError: It is none.
    """
    if wish in {"max", "mid", "min"} or (re.fullmatch("[0-9]{1,9}", wish) and int(wish) >= _LEAST_KHZ):
        return wish
    raise UsageError(f"no clock is {wish!r}", hint="--set_freq takes max, mid, min, or kHz, as in 1800000")


def policies(lines: Sequence[str]) -> tuple[Policy, ...]:
    """The policies that a phone tells of; those that do not tell enough are left out.

    Args:
        lines: `path:content`, below `/sys/devices/system/cpu/cpufreq/`.
    """
    files: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        if found := _CLOCK.fullmatch(line):
            files.setdefault(found[1], {}).setdefault(found[2], []).append(found[3])
    read = (_policy(name, files[name]) for name in sorted(files, key=lambda name: int(name.removeprefix("policy"))))
    return tuple(policy for policy in read if policy is not None)


def fixing(found: Sequence[Policy], wish: str) -> tuple[Change, ...]:
    """The changes that fix every clock, in an order in which the lower limit never passes the upper one.

    The same order backwards puts them back.

    Args:
        found: The phone's policies.
        wish: `max`, `mid`, `min`, or kHz: then the nearest that there is.

    Raises:
        EnvironmentProblem: No clock can be seen.
    """
    if not found:
        raise EnvironmentProblem("the phone shows no clocks that could be fixed", hint="leave --set_freq out")
    return tuple(change for policy in found for change in _fixing(policy, wish))


def target_khz(policy: Policy, wish: str) -> int:
    """What a wish means for one policy.

    Args:
        policy: The policy.
        wish: As for `fixing`.
    """
    there = policy.frequencies_khz
    match wish:
        case "max":
            return there[-1]
        case "min":
            return there[0]
        case "mid":
            return there[len(there) // 2]
        case _:
            return min(there, key=lambda khz: abs(khz - int(wish)))


def _fixing(policy: Policy, wish: str) -> list[Change]:
    khz = target_khz(policy, wish)
    lower = ("scaling_min_freq", str(policy.lowest_khz), str(khz))
    upper = ("scaling_max_freq", str(policy.highest_khz), str(khz))
    wanted = [upper, lower] if khz >= policy.lowest_khz else [lower, upper]
    if "performance" in policy.governors:
        wanted.append(("scaling_governor", policy.governor, "performance"))
    return [
        Change(kind=Kind.CPUFREQ, name=f"{policy.name}/{file}", before=before, ours=ours)
        for file, before, ours in wanted
        if before != ours
    ]


def _policy(name: str, files: dict[str, list[str]]) -> Policy | None:
    words = {file: " ".join(lines).split() for file, lines in files.items()}
    limits = [_khz(words.get(file, [])) for file in ("scaling_min_freq", "scaling_max_freq")]
    governor = words.get("scaling_governor", [])
    there = (
        _khz(words.get("scaling_available_frequencies", []))
        or _khz([line.split()[0] for line in files.get("time_in_state", []) if line.split()])
        or _khz([*words.get("cpuinfo_min_freq", []), *words.get("cpuinfo_max_freq", [])])
    )
    if not (all(limits) and governor and there):
        return None
    governors = tuple(words.get("scaling_available_governors", []))
    return Policy(name, governor[0], limits[0][0], limits[1][0], there, governors)


def _khz(words: Sequence[str]) -> tuple[int, ...]:
    return tuple(sorted({int(word) for word in words if re.fullmatch("[0-9]{1,9}", word)}))


def _numbers(text: str) -> set[int]:
    """A list of the kernel: `0-3,6`."""
    found: set[int] = set()
    for part in text.split(","):
        ends = [int(end) for end in part.split("-") if end][:2]
        if ends and ends[-1] < 4096:
            found.update(range(ends[0], ends[-1] + 1))
    return found
