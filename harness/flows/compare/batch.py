"""Comparisons of several commits, one after the other; where that disturbs nothing, the next is built meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from msgspec import Struct

from harness.builders.cache import BuildCache
from harness.config.settings import Settings
from harness.core.errors import ExitCode, HarnessError, UsageError, most_severe
from harness.core.protocols import Display, Platform, Reporter, is_local
from harness.flows.compare.compare import ComparisonTask, compare
from harness.flows.compare.layouts import measure_layouts
from harness.flows.compare.requests import CompareRequest, SameCommit, open_cache, resolve_request
from harness.flows.compare.source_fetcher import SourceFetcher
from harness.flows.measure.reporting import prepare_reporters
from harness.flows.measure.runners import CommitRunner, build_sides
from harness.flows.measure.workload import Workload
from harness.shell import Interrupted
from harness.shell.threads import wait_for_all


class _BatchItem(Struct, frozen=True):
    """Comparison whose commits are resolved. Its builds stay in use until its cache is closed."""

    title: str
    task: ComparisonTask
    cache: BuildCache
    layouts: int = 0


def compare_batch(
    workload: Workload,
    requests: Sequence[CompareRequest],
    settings: Settings,
    display: Display,
    listeners: Sequence[Reporter] = (),
) -> ExitCode:
    """Compare every request in order. The failure of one ends none of the others: it is shown, and counts.

    Devices are looked for before each comparison: a long list outlives the address of a phone. Listeners receive each
    result, beside the reporters of the settings.

    Raises:
        UsageError: There is nothing to compare.
        EnvironmentProblem: Results cannot be written, or the source or the device of a single request is out of reach.
    """
    prepare_reporters(settings)  # before commits are fetched and built
    codes: list[ExitCode] = []
    items = _resolve_all(requests, settings, display, codes)
    with ThreadPoolExecutor(1, thread_name_prefix="build-ahead") as executor:
        ahead: Future[None] | None = None
        for number, item in enumerate(items):
            if ahead is not None:
                wait_for_all([ahead])
                ahead.result()
            has_next = number + 1 < len(items) and builds_ahead(settings, workload.platform)
            ahead = executor.submit(_build_ahead, workload, items[number + 1].task, display) if has_next else None
            with item.cache:
                alone = not codes and len(items) == 1
                codes.append(_compare(item, workload, settings, display, listeners, alone=alone))
    return combine_codes(codes)


def builds_ahead(settings: Settings, platform: Platform) -> bool:
    """Return whether the next commit may be built while one is measured: by default where another machine measures."""
    if settings.same_host is not None:
        return not settings.same_host
    return not is_local(platform)


def _resolve_all(
    requests: Sequence[CompareRequest], settings: Settings, display: Display, codes: list[ExitCode]
) -> Sequence[_BatchItem]:
    """Resolve the commits of all requests before the first is measured; of those that fail, append the exit codes."""
    items, fetcher = [], SourceFetcher(display)
    for request in requests:
        cache, title = open_cache(request, settings), str(request.treatment)
        try:
            items.append(_BatchItem(title, resolve_request(request, settings, fetcher, cache), cache, request.layouts))
        except Interrupted:
            raise
        except SameCommit as same:
            if len(requests) == 1:
                raise
            display.say(f"{title}: skipped, because {same.message}")
        except HarnessError as error:
            if len(requests) == 1:
                raise
            display.warn(f"✗ {title}: {error}")
            codes.append(error.exit_code)
    if not items and not codes:
        raise UsageError("every commit of the list is the control", hint="name another --control")
    return items


def _compare(
    item: _BatchItem,
    workload: Workload,
    settings: Settings,
    display: Display,
    listeners: Sequence[Reporter],
    *,
    alone: bool,
) -> ExitCode:
    for side, runner in (("control", item.task.control), ("treatment", item.task.treatment)):
        if isinstance(runner, CommitRunner):
            display.say(f"{side}: {runner.title}")
    try:
        if item.layouts:
            measure_layouts(workload.plan(display), item.task, item.layouts, settings, display)
        return compare(workload.plan(display), item.task, settings, display, listeners)
    except Interrupted:
        raise
    except HarnessError as error:
        if alone:
            raise
        display.warn(f"✗ {item.title}: {error}")
        return error.exit_code


def _build_ahead(workload: Workload, task: ComparisonTask, display: Display) -> None:
    """Build both runners into the cache, as far as possible."""
    with contextlib.suppress(HarnessError):  # the comparison itself meets the same error, and reports it
        build_sides(workload.plan(display), task.control, task.treatment, display)


def combine_codes(codes: Sequence[ExitCode]) -> ExitCode:
    """Return the most severe code; a usage error ranks below a regression, which other commits showed without it."""
    if ExitCode.USAGE in codes and ExitCode.REGRESSION not in codes:
        return ExitCode.USAGE
    return most_severe(code for code in codes if code is not ExitCode.USAGE)
