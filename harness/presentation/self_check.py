"""Self-check of a device in words: a sentence, a table, and remedies in order of what they are for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from harness.core.self_check import BenchmarkCheck, Rate, SelfCheck, Sensitivity, VerdictCost
from harness.presentation.numbers import format_percent, format_quantity
from harness.presentation.tables import Column
from harness.presentation.text import Span, Tone, make_printable

_EXPECTED: Final = 0.02
"""False alarms that are allowed at the default level, in both directions together."""

_CHANCE: Final = 0.01
"""Probability below which differences of equal programs are no chance: at most 1 / e that of an e-value of e."""

_UNITS: Final = ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"))

_MOST: Final = 0.5
"""Share of comparisons of equal programs below which their budget is called too small."""

_MINUTES_HELP: Final = "--minutes measures longer"


class MachineVerdict(Struct, frozen=True):
    """Verdict on a machine.

    Attributes:
        is_good: Whether equal programs were not told apart more often than chance allows.
        text: The verdict in a sentence.
    """

    is_good: bool
    text: str


def conclude(sensitivity: Sensitivity) -> MachineVerdict:
    """Return the verdict on a machine in one sentence."""
    checks = sensitivity.benchmarks
    if not checks:
        return MachineVerdict(is_good=False, text="nothing could be measured")
    false, compared = total_told_apart(checks)
    differing = [check.title for check in checks if check.evidence >= 2 * len(checks) / _CHANCE]
    counts = (
        f"equal programs were told apart in {false} of {compared} comparisons"
        if compared
        else "there were too few pairs to compare equal programs"
    )
    if differing or is_no_chance(false, compared):
        named = f" ({', '.join(differing)})" if differing else ""
        return MachineVerdict(
            False, f"{counts}{named}: do not trust verdicts of this machine before the cause is found"
        )
    if false:
        counts = f"{counts}, which may be chance"
    known = [check.smallest_change for check in checks if check.detectable]
    if not known:
        return MachineVerdict(True, f"{counts}; too few pairs to say what can be shown: {_MINUTES_HELP}")
    finite = sorted(change for change in known if change is not None)
    if len(finite) < len(known):
        text = "not even a doubling of the time is shown reliably" if not finite else "some benchmarks show no change"
        return MachineVerdict(True, f"{text} with {checks[0].budget} pairs; {counts}")
    span = (
        _format_share(finite[0])
        if finite[0] == finite[-1]
        else f"{_format_share(finite[0])} to {_format_share(finite[-1])}"
    )
    shown = f"changes of {span} can be shown with {checks[0].budget} pairs{_name_undecided(checks)}"
    return MachineVerdict(True, f"nothing speaks against verdicts of this machine: {shown}; {counts}")


def _name_undecided(checks: Sequence[BenchmarkCheck]) -> str:
    """Return where most comparisons of equal programs end without a verdict, because their budget is too small."""
    titles = [
        check.title for check in checks if (cost := _find_cost(check, 0.0)) is not None and cost.rate.share < _MOST
    ]
    if not titles:
        return ""
    where = titles[0] if len(titles) == 1 else f"{len(titles)} of {len(checks)} benchmarks"
    return f", too few to show that nothing changed in {where} (`--pairs` allows more)"


def total_told_apart(checks: Sequence[BenchmarkCheck]) -> tuple[int, int]:
    """Return how many comparisons of equal programs found a difference, and of how many."""
    return sum(check.told_apart.count for check in checks), sum(check.told_apart.trials for check in checks)


def is_no_chance(count: int, trials: int) -> bool:
    """Return whether so many false alarms are improbable where 2 % are allowed."""
    below = math.fsum(
        math.comb(trials, k) * _EXPECTED**k * (1 - _EXPECTED) ** (trials - k) for k in range(min(count, trials + 1))
    )
    return count > 0 and 1 - below < _CHANCE


def build_columns(checks: Sequence[BenchmarkCheck]) -> list[Column]:
    """Return the table of benchmarks."""

    def column(name: str, texts: Sequence[str], *, right: bool = True) -> Column:
        return Column(name, [Span(make_printable(text)) for text in texts], right=right)

    changed = [Tone.BAD if check.verdict.is_change else Tone.NORMAL for check in checks]
    return [
        column("benchmark", [check.title for check in checks], right=False),
        column("pairs", [f"{check.pairs}" for check in checks]),
        column("spread", [format_percent(check.spread) for check in checks]),
        Column(
            "told apart",
            [Span(_format_count(check.told_apart), tone) for check, tone in zip(checks, changed, strict=True)],
            right=True,
        ),
        column("re-tossed", ["" if check.relabelled is None else _format_rate(check.relabelled) for check in checks]),
        Column("smallest change", [Span(_format_smallest(check), Tone.STRONG) for check in checks], right=True),
        *(
            column(heading, [_format_cost(check, change) for check in checks])
            for change, heading in ((0.0, "no change after"), (0.02, "2 % shown after"))
        ),
    ]


def explain_columns(checks: Sequence[BenchmarkCheck]) -> Iterator[str]:
    """Yield what the headings mean."""
    if not checks:
        return
    budget = checks[0].budget
    told_apart = (
        f"told apart: of the recorded pairs, decided as comparisons of up to {budget} pairs, one after the other"
    )
    re_tossed = (
        "; re-tossed: the same for random parts of the recording in which a coin decided again which launch is the "
        "control's, with a 95 % interval"
    )
    yield told_apart + (re_tossed if any(check.relabelled is not None for check in checks) else "")
    if any(check.detectable for check in checks):
        yield (
            f"smallest change: nine of ten comparisons of {budget} pairs call it a regression (in brackets what eight "
            "and nineteen of twenty need); imposed on the recording, so it holds for a machine as it was then"
        )
        yield (
            "no change after, 2 % shown after: device time of a comparison in the median, in brackets its pairs and "
            "how often it said so within its budget"
        )


def list_remedies(sensitivity: Sensitivity) -> Iterator[str]:
    """Yield what disturbed and what to do about it, the largest first."""
    for number, disturbance in enumerate(sensitivity.disturbances, 1):
        yield f"{number}. {disturbance.message}: {disturbance.remedy}"
    for failure in sensitivity.failures:
        yield f"not checked: {failure}"


def describe_check(check: SelfCheck) -> str:
    """Return the heading of a self-check: device, specification, minutes."""
    sensitivity = check.sensitivity
    if sensitivity is None:
        return check.device
    return f"{check.device}, {sensitivity.specification}, {sensitivity.wall_s / 60:.1f} minutes"


def format_age(seconds: float) -> str:
    """Format how long ago something was, in its largest unit."""
    for size, name in _UNITS:
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def _format_share(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _format_count(rate: Rate) -> str:
    if not rate.trials:
        return "too few pairs"
    return f"{rate.count} of {rate.trials} (at most {100 * rate.high:.0f} %)"


def _format_rate(rate: Rate) -> str:
    return f"{100 * rate.share:.2g} % ({100 * rate.low:.1f} … {100 * rate.high:.1f} %)"


def _format_smallest(check: BenchmarkCheck) -> str:
    if not check.detectable:
        return "too few pairs" if check.relabelled is None else ""
    low, middle, high = (
        None if (change := check.detectable.get(share)) is None else change for share in ("0.8", "0.9", "0.95")
    )
    texts = [">100 %" if change is None else _format_share(change) for change in (low, middle, high)]
    return f"{texts[1]} ({texts[0]}, {texts[2]})"


def _format_cost(check: BenchmarkCheck, change: float) -> str:
    cost = _find_cost(check, change)
    return "" if cost is None else _describe_cost(cost)


def _find_cost(check: BenchmarkCheck, change: float) -> VerdictCost | None:
    return next((cost for cost in check.costs if cost.change == change), None)


def _describe_cost(cost: VerdictCost) -> str:
    return f"{format_quantity(cost.seconds, 's')} ({cost.pairs:.0f} pairs, {100 * cost.rate.share:.0f} %)"
