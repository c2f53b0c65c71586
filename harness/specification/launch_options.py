"""How each launch of one benchmark is started: limits, environment, CPUs, what is kept of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.core.placeholders import suggest
from harness.core.values import format_scalar
from harness.specification.cpus import listed_cpus, masked_cpus
from harness.specification.document import join
from harness.specification.file_format import ModelSection, Test
from harness.specification.options import LoadOptions
from harness.specification.scope import Scope
from harness.specification.sections import PlatformArgs

_DEFAULT_TIMEOUT_S = 300.0
_DEFAULT_COOLDOWN_S = 0.0
"""Seconds. FAI-PEP paused for one (harness.py:40-234), which buys nothing here."""

_STATISTICS = ("mean", "stdev", "MAD", "cv", "min", "max", "n")
_PERCENTILE = re.compile(r"p([0-9]{1,3}(?:\.[0-9]{1,6})?)")


@dataclass(frozen=True, slots=True)
class Launching:
    """What test, model and caller say about starting the program; the test wins over the model, both over the caller.

    Attributes:
        model: The model.
        test: The test, with its axes applied.
        pointer: Where the test stands.
        options: What the caller decides.
        scope: The names that values may use; collects what is wrong.
    """

    model: ModelSection
    test: Test
    pointer: str
    options: LoadOptions
    scope: Scope

    def timeout_s(self) -> float:
        """Limit of each launch."""
        own, shared = self._args()
        given = (self.test.timeout, own.timeout, self.model.timeout, shared.timeout, self.options.timeout_s)
        return _first(*given, _DEFAULT_TIMEOUT_S)

    def cooldown_s(self) -> float:
        """Pause after the benchmark."""
        return _first(self.model.cooldown, self.options.cooldown_s, _DEFAULT_COOLDOWN_S)

    def sleep_before_run_s(self) -> float:
        """Pause on the device before each launch."""
        own, shared = self._args()
        return _first(own.sleep_before_run, shared.sleep_before_run, 0.0)

    def log_output(self) -> bool:
        """Whether what the program writes is kept in the log."""
        own, shared = self._args()
        levels = (self.test.log_output, own.log_output, shared.log_output, self.model.log_output)
        return next((level for level in levels if level is not None), False) in (True, "true")

    def env(self) -> dict[str, str]:
        """Variables of its environment."""
        own, shared = self._args()
        layers = (
            ("/model/platform_args/env", shared.env),
            (join(self.pointer, "platform_args", "env"), own.env),
            (join(self.pointer, "env"), self.test.env),
        )
        env = dict(self.options.env)
        for pointer, variables in layers:
            for name, value in variables.items():
                if "=" in name or "\0" in name:
                    self.scope.findings.add(join(pointer, name), f"{name!r} cannot name a variable")
                env[name] = self.scope.partly(format_scalar(value), join(pointer, name))
        threads = {"MKL_NUM_THREADS": self.test.mkl_num_threads, "OMP_NUM_THREADS": self.test.omp_num_threads}
        return env | {name: str(count) for name, count in threads.items() if count is not None and count > 0}

    def cpus(self) -> tuple[int, ...] | None:
        """CPUs to pin to; `()` forbids pinning, None leaves it to the platform."""
        own, shared = self._args()
        listed, mask = self.test.cpu_list, shared.taskset if own.taskset is None else own.taskset
        if listed is not None and own.taskset is not None:
            message = "`cpu-list` beside `platform_args.taskset`"
            self.scope.findings.add(join(self.pointer, "cpu-list"), message, "keep one of them")
        if listed is not None:
            pointer = join(self.pointer, "cpu-list")
        else:
            pointer = join("/model" if own.taskset is None else self.pointer, "platform_args", "taskset")
        try:
            if listed is not None:
                return listed_cpus(listed)
            return masked_cpus(str(mask)) if mask is not None else None
        except ValueError as error:
            self.scope.findings.add(pointer, str(error))
            return None

    def statistics(self) -> tuple[str, ...]:
        """Names of further statistics."""
        for index, name in enumerate(self.test.statistics):
            percentile = _PERCENTILE.fullmatch(name)
            if name not in _STATISTICS and not (percentile and float(percentile[1]) <= 100):
                hint = suggest(name, _STATISTICS) or f"known: {', '.join(_STATISTICS)} and p0 to p100"
                pointer = join(self.pointer, "statistics", index)
                self.scope.findings.add(pointer, f"unknown statistic `{name}`", hint)
        return self.test.statistics

    def _args(self) -> tuple[PlatformArgs, PlatformArgs]:
        """The test's and the model's `platform_args`."""
        return self.test.platform_args or PlatformArgs(), self.model.platform_args or PlatformArgs()


def _first(*values: float | None) -> float:
    """The first that is given."""
    return next(value for value in values if value is not None)
