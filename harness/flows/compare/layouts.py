"""Layout floor: links of the control in other orders, compared with the ordinary one before anything else."""

from __future__ import annotations

import dataclasses
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from harness.config.settings import Settings
from harness.core.build import Build
from harness.core.comparison import Comparison
from harness.core.errors import BuildFailed
from harness.core.layout import LayoutDifference, LayoutFloor
from harness.core.protocols import Display
from harness.core.result import Result
from harness.flows.compare.compare import ComparisonTask, run_comparison
from harness.flows.compare.layout_floors import store_floor
from harness.flows.measure.plan import Builds, Failure, Plan
from harness.flows.measure.reporting import CollectingReporter
from harness.flows.measure.runners import LayoutRunner, build_side, with_layouts
from harness.presentation.numbers import format_percent

_PRECISION: Final = 0.003
"""Half-width of the interval of each layout, where the budget in pairs allows it: a third of the default margin."""

RUN_TYPE: Final = "layout"
"""Kind of run of the results of layouts."""


def measure_layouts(
    plan: Plan, task: ComparisonTask, count: int, settings: Settings, display: Display
) -> tuple[LayoutFloor, ...]:
    """Link the control in further layouts, compare each with the ordinary one, and keep what they differ by.

    Args:
        plan: What to measure where.
        task: The comparison, whose control is linked, and whose parameters decide.
        count: Number of further layouts.
        settings: How to measure.
        display: Shows the progress.

    Raises:
        UsageError: The control is given, and cannot be linked again.
        BuildFailed: No recipe can link it in other layouts.
    """
    side = with_layouts(task.control, count)
    builds = build_side(plan, task.control, display)
    _raise_for_failure(build_side(plan, side, display))
    parameters = task.parameters.model_copy(
        update={"precision": task.parameters.precision or _PRECISION, "gate": False}
    )
    quiet = dataclasses.replace(
        settings,
        screen_reporter=False,
        simple_screen_reporter=False,
        remote_reporter=None,
        reporters={},
        run_type=RUN_TYPE,
    )
    results: dict[tuple[str, str], list[tuple[int, Result]]] = defaultdict(list)
    for number in range(1, count + 1):
        display.say(f"layout {number} of {count} against the ordinary one")
        collected = CollectingReporter()
        layout_task = ComparisonTask(
            LayoutRunner(side, 0),
            LayoutRunner(side, number),
            parameters,
            task.metrics[:1],
            unequal_options=("all",),
            with_outputs=False,
        )
        run_comparison(plan, layout_task, quiet, display, [collected])
        for result in collected.results:
            comparison, device = result.comparison, result.device
            if device is not None and comparison is not None and (result.ok or comparison.identical):
                results[device.identity, result.benchmark.digest].append((number, result))
    floors = tuple(floor for measured in results.values() if (floor := _floor(measured, builds)) is not None)
    for floor in floors:
        store_floor(settings.cache_dir, floor)
        display.say(describe_floor(floor))
    return floors


def describe_floor(floor: LayoutFloor) -> str:
    """Describe a layout floor in a sentence."""
    links, resolution = len(floor.differences) + 1, floor.resolution
    hidden = (
        "" if resolution is None else f" (none differs from the ordinary one by more than {format_percent(resolution)})"
    )
    if not any(difference.is_shown for difference in floor.differences):
        return f"{floor.title}: {links} links of one source cannot be told apart{hidden}"
    return f"{floor.title}: layout floor {format_percent(floor.floor)}: {links} links of one source differ by so much"


def _floor(measured: Sequence[tuple[int, Result]], builds: Builds) -> LayoutFloor | None:
    """Return the layout floor that results of one benchmark on one device show, if its ordinary build is known."""
    result = measured[0][1]
    device, comparison = result.device, result.comparison
    if device is None or comparison is None:
        return None
    build = builds.get((result.benchmark.framework, device.identity))
    if not isinstance(build, Build):
        return None
    return LayoutFloor(
        build=build.digest,
        commit=build.commit,
        device=device.identity,
        benchmark=result.benchmark.digest,
        title=result.benchmark.title,
        metric=comparison.metric,
        time=time.time(),
        differences=tuple(
            _difference(number, layout.comparison) for number, layout in measured if layout.comparison is not None
        ),
    )


def _difference(number: int, comparison: Comparison) -> LayoutDifference:
    """Return how a layout differs from the ordinary one; the same bytes do not."""
    effect = comparison.effect
    if effect is None:
        return LayoutDifference(layout=number, log_ratio=0.0, low_log_ratio=0.0, high_log_ratio=0.0)
    return LayoutDifference(
        layout=number,
        log_ratio=effect.log_ratio,
        low_log_ratio=effect.low_log_ratio,
        high_log_ratio=effect.high_log_ratio,
        is_shown=comparison.verdict.is_change,
        pairs=len(comparison.pairs),
    )


def _raise_for_failure(builds: Builds) -> None:
    """Raise the first failure of builds with layouts: they were asked for, and are needed before anything else."""
    for build in builds.values():
        if isinstance(build, Failure):
            raise BuildFailed(build.reason, hint=build.hint)
