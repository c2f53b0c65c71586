"""Metrics: observations of a launch, and what a result stores of them."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import chain
from types import MappingProxyType
from typing import Final

from harness.core.values import Value

LATENCY: Final = "NET latency"
"""Name of the metric that nearly every result is about: the latency of the whole model."""

NO_NUMBER_HINT: Final = (
    "a program reports with lines such as "
    'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "123"}'
)
"""What to do about a program that reports no number."""

DECODE_RATE: Final = "LLM decode_rate"
"""Metric that a generation is about: tokens per second after the first one."""
FIRST_TOKEN: Final = "LLM time_to_first_token"  # noqa: S105 - no password
"""Time from the prompt to the first new token: what comparisons of generations judge beside the decode rate."""

PROMPT_METRICS: Final = frozenset({FIRST_TOKEN, "LLM prefill_rate"})
"""Metrics of which each prompt gives one sample."""

OUTPUTS: Final = "OUTPUTS"
"""Type of the metrics that compare a program's outputs with those of the model that it was lowered from."""

ENERGY: Final = "energy"
"""Metric of energy that the harness derives: `RUN energy` of a launch, `NET energy` of an iteration, and each part."""


DYNAMIC_ENERGY: Final = "dynamic_energy"
"""Metric of energy net of the idle baseline, which the harness derives: of a launch and of an iteration."""

IDLE_POWER: Final = "idle_power"
"""Metric of the idle baseline, in watts."""

MEAN_POWER: Final = "mean_power"
"""Metric of the mean power of a launch, in watts, the baseline included."""

ENERGY_METRICS: Final = frozenset({ENERGY, DYNAMIC_ENERGY, IDLE_POWER, MEAN_POWER})
"""Metrics that the harness derives from energy meters, as no program does."""

COMPARED_ENERGIES: Final = (
    f"NET {DYNAMIC_ENERGY}", f"RUN {DYNAMIC_ENERGY}", f"NET {ENERGY}", f"RUN {ENERGY}",
)  # fmt: skip
"""Metrics that a comparison of a test of energy is about: the first that a launch has, and that is well above 0."""


TASK_CLOCK: Final = "task_clock"
"""Metric of the CPU time that a probe counted. It is a time, and no result is about it."""

START_TIME: Final = "start_time"
"""Metric of when each execution began. It is a time, and no figure at all."""


class Direction(StrEnum):
    """Direction in which a metric is better."""

    LOWER = "lower"
    HIGHER = "higher"


class MetricInfo(Value):
    """Identity of a metric, without its values.

    Attributes:
        name: Whole name, for example `NET latency`.
        unit: Unit of its values; empty for a count or a ratio, and where it is not known.
        direction: Which way is better.
    """

    name: str
    unit: str = ""
    direction: Direction = Direction.LOWER


class Observation(Value):
    """Observation of one metric in one launch: samples, a summary, or a text.

    Attributes:
        type: Subject of the observation: `NET` for the whole model, an operator's name, `RUN` for the launch itself.
        metric: `latency`, `cpu_time`, `load_time`, `peak_memory`, ...
        unit: `ns`, `us`, `ms`, `s`, `bytes`, ...; empty for a count or a ratio.
        samples: Values in the order they were measured.
        summary: Statistics the program computed itself; then there are no samples.
        info: A text instead of numbers.
    """

    type: str
    metric: str
    unit: str = ""
    samples: tuple[float, ...] = ()
    summary: dict[str, float] | None = None
    info: str | None = None

    @property
    def name(self) -> str:
        """FAI-PEP's key, for example `NET latency`."""
        return f"{self.type} {self.metric}"

    @property
    def is_of_operator(self) -> bool:
        """True if it is the time of one operator."""
        return is_of_operator(self.type, self.metric, self.unit)


class LaunchInterval(Value):
    """Confidence interval of a median over the launches of one run, in the metric's unit (see `launch_interval`).

    What all launches of a run have in common, such as a machine that is slower today, it cannot show.

    Attributes:
        low: Lower end.
        high: Upper end.
        confidence: Share of such intervals that contain the median.
        launches: Number of launches that it is computed from.
    """

    low: float
    high: float
    confidence: float
    launches: int


class ControlSide(Value):
    """The control's half of a metric that was compared, in the metric's unit; the names are FAI-PEP's.

    Of a metric `error` the control are the golden outputs, and `diff_summary` has the statistics of the differences.

    Attributes:
        control_values: The control's samples, in measured order.
        control_launches: For each the index of the control's launch it came from.
        control_summary: The control's statistics.
        diff_summary: Treatment minus control, statistic by statistic; percentile X minus percentile 100 - X.
    """

    control_values: tuple[float, ...] = ()
    control_launches: tuple[int, ...] = ()
    control_summary: dict[str, float | None] = {}
    diff_summary: dict[str, float | None] = {}


class Metric(Value):
    """One metric of a result, over all its launches.

    Attributes:
        name: `<type> <metric>`, for example `NET latency`; unique in a result.
        type: Subject of the metric: `NET` for the whole model, an operator's name, `RUN` for the launch itself.
        metric: `latency`, `cpu_time`, `load_time`, `peak_memory`, ...
        unit: `ns`, `us`, `ms`, `s`, `bytes`, ...; empty for a count, a ratio or a text.
        direction: Which way is better; None for a text.
        samples: Every value, in measured order.
        launches: For each sample the index of the launch it came from (same length as `samples`).
        summary: Statistics by FAI-PEP's names (see `harness.analysis.summary`), in `unit`; `n` counts the samples.
        interval: Confidence interval of the median over launches; None for a single launch, and without samples.
        info: The text of a metric that is one.
        control: The same metric of the control, when the result is that of a treatment.
        regressed: Whether an earlier run called it regressed: FAI-PEP's mark, and no verdict of this one, which the
            comparison has. None where `--regressed-types` says nothing of an earlier run.
    """

    name: str
    type: str
    metric: str
    unit: str
    direction: Direction | None = Direction.LOWER
    samples: tuple[float, ...] = ()
    launches: tuple[int, ...] = ()
    summary: dict[str, float | None] = {}
    interval: LaunchInterval | None = None
    info: str | None = None
    control: ControlSide | None = None
    regressed: bool | None = None

    @property
    def median(self) -> float | None:
        """Its median, in `unit`; None where there is none."""
        return self.summary.get("p50")

    @property
    def precision(self) -> float | None:
        """Larger distance of its interval's ends from the median, relative to it: 0.02 is ±2 %; None where unknown."""
        if self.interval is None or not self.median:
            return None
        return max(self.median - self.interval.low, self.interval.high - self.median) / abs(self.median)

    @property
    def is_timed(self) -> bool:
        """True if it is a time or a rate."""
        return _is_time(self.unit) or re.search(_RATE_UNIT, self.unit) is not None

    @property
    def is_of_operator(self) -> bool:
        """True if it is the time of one operator."""
        return is_of_operator(self.type, self.metric, self.unit)


_WHOLES: Final = frozenset({"NET", "RUN", "LLM"})
"""Types of metrics that are about more than one operator."""


def is_of_operator(type_: str, metric: str, unit: str) -> bool:
    """Return whether a metric is the time of one operator: in FAI-PEP's form its type names it, and it is a latency."""
    return metric == "latency" and type_ not in _WHOLES and _is_time(unit)


def main_metric(metrics: Sequence[Metric]) -> Metric | None:
    """Return the metric that a result is about.

    That is `NET latency`, else `LLM decode_rate`, else the first time or rate, else the energy that comparisons are
    about, else any median.
    """
    numbers = [metric for metric in metrics if metric.summary]
    named = (metric for name in (LATENCY, DECODE_RATE) for metric in numbers if metric.name == name)
    timed = (metric for metric in numbers if metric.is_timed and metric.metric not in {TASK_CLOCK, START_TIME})
    others = [metric for metric in numbers if metric.median is not None]
    energies = (metric for name in COMPARED_ENERGIES for metric in others if metric.name == name)
    return next(chain(named, timed, energies, others), None)


def _is_time(unit: str) -> bool:
    """Return whether a unit is one of time: most metrics have one, and need no pattern to be told."""
    return convert(1.0, unit.strip(), "s") is not None


_RATE_UNIT: Final = r"(?i)(/|\bper[ _])s(ec(ond)?s?)?$|^(fps|ips|qps|rps|tps|[kmgt]?(flop|op)s)$"
"""Patterns are compiled when they are used first: most commands measure nothing."""

_TIME_OR_ENERGY: Final = (
    r"[nuµμm]?s(ec(ond)?s?)?|(nano|micro|milli)seconds?|min(ute)?s?|h(our)?s?|[num]?j(oules?)?|m?w(h|atts?)?"
)
_METERED_UNIT: Final = rf"(?i)({_TIME_OR_ENERGY})(/.*| per .*)?"
_COST_UNIT: Final = rf"(?i)({_TIME_OR_ENERGY}|cycles?|[kmg]?i?b|([kmg]i?)?bytes?)(/.*| per .*)?"
"""Units of what a run costs: time, memory, energy; also for each of something, as in `ms/token`."""


def is_metered(unit: str) -> bool:
    """Return whether figures of this unit are read off a clock or a meter, which rounds them, and not counted."""
    return _is_time(unit) or bool(re.search(_RATE_UNIT, unit.strip()) or re.fullmatch(_METERED_UNIT, unit.strip()))


_TIMED_NAME: Final = r"latency|time|duration|delay|throughput|speed|[fiqrt]ps"


def is_counted(name: str, unit: str) -> bool:
    """Return whether the figures of a metric are counted; those of a time or rate without a unit are not."""
    return not is_metered(unit) and (bool(unit.strip()) or re.search(_TIMED_NAME, name.lower()) is None)


_COST: Final = (
    r"latency|time|duration|delay|loss|err(ors?)?|incorrect|wrong|disagreement|mismatch(es)?|miss(es)?|failures?|drop|"
    r"degradation|perplexity|distance|divergence|memory|size|bytes|wer|cer|mae|mse|rmse"
)
_GAIN: Final = (
    r"throughput|bandwidth|speed(up)?|rate|[fiqrt]ps|acc(uracy)?|precision|recall|f1|auc|map|m?iou|bleu|rouge|score|"
    r"psnr|sq?nr|ssim|cosine|similarity|agreement|correct|hits"
)
_TOP: Final = r"(?i)\btop[-_ ]?(\d+|k)(?![a-z0-9])"
_PER_SECOND: Final = r"(?i)(?<![a-z])per[-_ ]sec(ond)?s?(?![a-z])"
_WORD: Final = r"[A-Za-z0-9]+"
_HUMP: Final = r"(?<=[a-z0-9])(?=[A-Z])"


def direction_of(name: str, unit: str, stated: Mapping[str, Direction] = MappingProxyType({})) -> Direction:
    """Return the direction in which a metric is better: as stated, else by the conventions of the field.

    The unit decides where it can: rates up; time, memory and energy down. Else the whole words of the name do, and a
    word for a cost wins over one for a gain: `top1_error` is an error. Unknown metrics default to lower-is-better.

    Args:
        name: The metric's whole name, for example `NET latency`.
        unit: Its unit.
        stated: Directions that are known for certain, by whole name or without the type (`latency`).
    """
    known = stated.get(name) or stated.get(name.partition(" ")[2])
    if known is not None:
        return known
    if _is_time(unit):
        return Direction.LOWER
    if re.search(_RATE_UNIT, unit.strip()):
        return Direction.HIGHER
    words = _words(name)
    if re.fullmatch(_COST_UNIT, unit.strip()) or any(re.fullmatch(_COST, word) for word in words):
        return Direction.LOWER
    gains = (
        any(re.fullmatch(_GAIN, word) for word in words)
        or re.search(_TOP, name.replace("_", " "))
        or re.search(_PER_SECOND, name)
    )
    return Direction.HIGHER if gains else Direction.LOWER


def _words(name: str) -> set[str]:
    """Return its words in lower case, also those of `camelCase`; but `mAP` is one and `heatMap` has no `map`."""
    whole = re.findall(_WORD, name)
    humps = {hump.lower() for word in whole for hump in re.split(_HUMP, word)}
    return {word.lower() for word in whole} | (humps - {"map"})


_NANOSECONDS = {
    **dict.fromkeys(("ns", "nsec", "nanoseconds"), 1.0),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microseconds"), 1e3),
    **dict.fromkeys(("ms", "msec", "milliseconds"), 1e6),
    **dict.fromkeys(("s", "sec", "seconds"), 1e9),
}


def convert(value: float, unit: str, to: str) -> float | None:
    """Convert a value to another unit of the same kind (time only); None where the units do not convert."""
    if unit == to:
        return value
    if unit in _NANOSECONDS and to in _NANOSECONDS:
        return value * _NANOSECONDS[unit] / _NANOSECONDS[to]
    return None
