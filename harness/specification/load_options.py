"""Options of loading, and how caller, model and test together determine each launch of a benchmark."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field
from pydantic import JsonValue

from harness.core.placeholders import suggest
from harness.core.probe import ProbeRequest
from harness.core.scalars import Scalar, format_scalar
from harness.specification.document import join
from harness.specification.file_format import ModelSection, Test
from harness.specification.scope import PlaceholderScope, launch_count
from harness.specification.sections import PlatformArgs

_DEFAULT_TIMEOUT_S = 300.0
_DEFAULT_COOLDOWN_S = 0.0
"""Seconds. FAI-PEP paused for one (harness.py:40-234), which buys nothing here."""

_MOST_LAUNCHES = 30
"""Launches at most, where they are added: more cost as much time as a comparison, which answers more."""

_PRECISION = 0.02
"""Precision at which no launches are added: neighbouring launches of one program differ by up to as much."""

NumberT = TypeVar("NumberT", int, float)

STATISTICS = ("mean", "stdev", "MAD", "cv", "min", "max", "n")
_PERCENTILE = re.compile(r"p([0-9]{1,3}(?:\.[0-9]{1,6})?)")

_LARGEST_CPU = 4095
"""Larger CPU numbers are typing errors."""

_CPU_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


class LoadOptions(Struct, frozen=True):
    """Options of the caller, mostly from the command line.

    Attributes:
        string_map: Placeholders that override everything in a specification (`--string-map`).
        root_model_dir: Folder that `//` locations are below.
        framework: The framework to run; must agree with a specification that names one.
        env: Environment variables of every program; a specification's own win.
        timeout_s: Limit of a program where the specification has none, seconds.
        cooldown_s: Pause after a benchmark where the specification has none, seconds.
        command_args: Text appended to each command that starts the program, after the specification's own.
        meta: Defaults for every model (the `meta` of FAI-PEP's info JSON); the specification's own win.
        operators: Whether every benchmark times its operators, even if its test does not ask for it.
        probes: Probes of every benchmark, beside those that its test asks for.
        precision: Precision until which launches are added, instead of that of specifications; infinite adds none.
        programs: Names of programs that are given in addition to `program`.
        protected_flags: Flags that `default_args` may not set, without dashes (`OptionTable.protected_keys`).
    """

    string_map: Mapping[str, Scalar] = field(default_factory=dict)
    root_model_dir: Path | None = None
    framework: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float | None = None
    cooldown_s: float | None = None
    command_args: str = ""
    meta: Mapping[str, JsonValue] = field(default_factory=dict)
    operators: bool = False
    probes: tuple[ProbeRequest, ...] = ()
    precision: float | None = None
    programs: frozenset[str] = frozenset()
    protected_flags: frozenset[str] = frozenset()


class LaunchOptions(Struct, frozen=True):
    """Launch options of one benchmark; the test wins over the model, and both over the caller.

    Attributes:
        model: The model.
        test: The test, with its axes applied.
        pointer: JSON pointer of the test.
        options: Options of the caller.
        scope: The names that values may use; collects problems.
    """

    model: ModelSection
    test: Test
    pointer: str
    options: LoadOptions
    scope: PlaceholderScope

    def timeout_s(self) -> float:
        """Return the time limit of each launch."""
        own, shared = self._platform_args()
        levels = (self.test.timeout, own.timeout, self.model.timeout, shared.timeout, self.options.timeout_s)
        return _first_given(*levels, _DEFAULT_TIMEOUT_S)

    def cooldown_s(self) -> float:
        """Return the pause after the benchmark."""
        return _first_given(self.model.cooldown, self.options.cooldown_s, _DEFAULT_COOLDOWN_S)

    def max_launches(self) -> int | None:
        """Return how many launches there are at most, where launches may be added; None where none are.

        None are where nothing limits their time, unless somebody asks for it.
        """
        asked = (self.test.max_repeat, self.model.max_repeat)
        precisions = (self.options.precision, self.test.repeat_precision, self.model.repeat_precision)
        may_be_added = self.test.time_limit_s is not None or any(value is not None for value in precisions)
        most = _first_given(*asked, _MOST_LAUNCHES if may_be_added else 0)
        fewest = launch_count(self.model, self.test)
        if asked != (None, None) and most < fewest:
            message = f"max_repeat {most} is less than repeat {fewest}"
            self.scope.findings.add(join(self.pointer, "max_repeat"), message, "raise it, or lower repeat")
        return most if most > fewest and self.options.precision != math.inf else None

    def precision(self) -> float | None:
        """Return the precision at which no launches are added; None where none are in any case."""
        if self.max_launches() is None:
            return None
        precisions = (self.options.precision, self.test.repeat_precision, self.model.repeat_precision)
        return _first_given(*precisions, _PRECISION)

    def sleep_before_run_s(self) -> float:
        """Return the pause on the device before each launch."""
        own, shared = self._platform_args()
        return _first_given(own.sleep_before_run, shared.sleep_before_run, 0.0)

    def log_output(self) -> bool:
        """Return whether the program's output is kept in the log."""
        own, shared = self._platform_args()
        levels = (self.test.log_output, own.log_output, shared.log_output, self.model.log_output)
        return next((level for level in levels if level is not None), False) in (True, "true")

    def env(self) -> dict[str, str]:
        """Merge the environment variables of caller, model and test."""
        own, shared = self._platform_args()
        layers = (
            ("/model/platform_args/env", shared.env),
            (join(self.pointer, "platform_args", "env"), own.env),
            (join(self.pointer, "env"), self.test.env),
        )
        env = dict(self.options.env)
        for pointer, variables in layers:
            for name, value in variables.items():
                if "=" in name or "\0" in name:
                    self.scope.findings.add(join(pointer, name), f"{name!r} is not a name of an environment variable")
                env[name] = self.scope.resolve_known(format_scalar(value), join(pointer, name))
        threads = {"MKL_NUM_THREADS": self.test.mkl_num_threads, "OMP_NUM_THREADS": self.test.omp_num_threads}
        return env | {name: str(count) for name, count in threads.items() if count is not None and count > 0}

    def cpus(self) -> tuple[int, ...] | None:
        """Return the CPUs to pin to; `()` forbids pinning, None leaves it to the platform."""
        own, shared = self._platform_args()
        cpu_list, mask = self.test.cpu_list, shared.taskset if own.taskset is None else own.taskset
        if cpu_list is not None and own.taskset is not None:
            message = "`cpu-list` and `platform_args.taskset` are both given"
            self.scope.findings.add(join(self.pointer, "cpu-list"), message, "keep one of them")
        if cpu_list is not None:
            pointer = join(self.pointer, "cpu-list")
        else:
            pointer = join("/model" if own.taskset is None else self.pointer, "platform_args", "taskset")
        try:
            if cpu_list is not None:
                return parse_cpu_list(cpu_list)
            return parse_cpu_mask(str(mask)) if mask is not None else None
        except ValueError as error:
            self.scope.findings.add(pointer, str(error))
            return None

    def statistics(self) -> tuple[str, ...]:
        """Return the names of further statistics, after checking them."""
        for index, name in enumerate(self.test.statistics):
            percentile = _PERCENTILE.fullmatch(name)
            if name not in STATISTICS and not (percentile and float(percentile[1]) <= 100):
                hint = suggest(name, STATISTICS) or f"known: {', '.join(STATISTICS)} and p0 to p100"
                pointer = join(self.pointer, "statistics", index)
                self.scope.findings.add(pointer, f"unknown statistic `{name}`", hint)
        return self.test.statistics

    def _platform_args(self) -> tuple[PlatformArgs, PlatformArgs]:
        """Return `platform_args` of the test and of the model."""
        return self.test.platform_args or PlatformArgs(), self.model.platform_args or PlatformArgs()


def parse_cpu_list(cpus: int | str) -> tuple[int, ...]:
    """Parse a `cpu-list`: a number, `0,2` or `4-7`.

    Returns:
        The CPUs in ascending order; none when the number is 0 or less (FAI-PEP's way to forbid pinning).

    Raises:
        ValueError: It is not a list of CPUs.
    """
    if isinstance(cpus, int) or re.fullmatch(r"-[0-9]+", cpus.strip()):
        number = int(cpus)
        if number > _LARGEST_CPU:
            raise ValueError(f"there is no CPU {number}")
        return (number,) if number > 0 else ()
    numbers: set[int] = set()
    for piece in cpus.split(","):
        match = _CPU_RANGE.fullmatch(piece.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last > _LARGEST_CPU:
            raise ValueError(f"{cpus!r} is not a list of CPUs such as `0,2` or `4-7`")
        numbers.update(range(first, last + 1))
    return tuple(sorted(numbers))


def parse_cpu_mask(mask: str) -> tuple[int, ...]:
    """Parse a hexadecimal mask of CPUs, in which bit n is CPU n.

    Raises:
        ValueError: It is not a mask, or has no CPU.
    """
    if not re.fullmatch(r"(0[xX])?[0-9a-fA-F]{1,1024}", mask) or not int(mask, 16):
        raise ValueError(f"{mask!r} is not a hexadecimal mask of CPUs such as `f0`")
    bits = int(mask, 16)
    return tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def _first_given(*values: NumberT | None) -> NumberT:
    return next(value for value in values if value is not None)
