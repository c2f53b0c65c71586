"""Several commits, one comparison after the other; where that disturbs nothing, the next is built meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from harness.builders.cache import BuildCache
from harness.config.settings import Settings
from harness.core.errors import ExitCode, HarnessError, UsageError, gravest
from harness.core.protocols import Display, LocalPlatform, Platform
from harness.flows.compare.compare import ComparisonTask, compare
from harness.flows.compare.requests import CompareRequest, SameCommit, open_cache, resolve_request
from harness.flows.compare.sides import CommitRunner, build_side
from harness.flows.compare.source_fetcher import SourceFetcher
from harness.flows.measure.plan import Plan
from harness.shell import Interrupted


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request whose commits were found. Its builds are held until its cache is closed."""

    title: str
    request: ComparisonTask
    cache: BuildCache


def compare_batch(plan: Plan, requests: Sequence[CompareRequest], settings: Settings, display: Display) -> ExitCode:
    """Compare every request in order. What becomes of one ends none of the others: it is told, and counts.

    Raises:
        UsageError: There is nothing to compare.
        EnvironmentProblem: Of a single request, the source or the device cannot be reached.
    """
    codes: list[ExitCode] = []
    asked = _found(requests, settings, display, codes)
    with ThreadPoolExecutor(1, thread_name_prefix="build-ahead") as ahead:
        coming: Future[None] | None = None
        for number, one in enumerate(asked):
            if coming is not None:
                coming.result()
            more = number + 1 < len(asked) and builds_ahead(settings, plan.platform)
            coming = ahead.submit(_build, plan, asked[number + 1].request, display) if more else None
            with one.cache:
                codes.append(_compared(one, plan, settings, display, alone=not codes and len(asked) == 1))
    return _amounts_to(codes)


def builds_ahead(settings: Settings, platform: Platform) -> bool:
    """Return whether the next commit may be built while one is measured: by default where another machine measures."""
    if settings.same_host is not None:
        return not settings.same_host
    return not isinstance(platform, LocalPlatform)


def _found(
    requests: Sequence[CompareRequest], settings: Settings, display: Display, codes: list[ExitCode]
) -> Sequence[_Asked]:
    """The requests whose commits are there: all are looked up before the first is measured. Of others the codes."""
    found, fetcher = [], SourceFetcher(display)
    for request in requests:
        cache, title = open_cache(request, settings), str(request.treatment)
        try:
            found.append(_Asked(title, resolve_request(request, settings, fetcher, cache), cache))
        except Interrupted:
            raise
        except SameCommit as same:
            if len(requests) == 1:
                raise
            display.say(f"{title}: passed over, because {same.message}")
        except HarnessError as error:
            if len(requests) == 1:
                raise
            display.say(f"✗ {title}: {error}")
            codes.append(error.exit_code)
    if not found and not codes:
        raise UsageError("every commit of the list is the control", hint="name another --control")
    return found


def _compared(one: _Asked, plan: Plan, settings: Settings, display: Display, *, alone: bool) -> ExitCode:
    for side, runner in (("control", one.request.control), ("treatment", one.request.treatment)):
        if isinstance(runner, CommitRunner):
            display.say(f"{side}: {runner.commit.short} {runner.commit.subject}".rstrip())
    try:
        return compare(plan, one.request, settings, display)
    except Interrupted:
        raise
    except HarnessError as error:
        if alone:
            raise
        display.say(f"✗ {one.title}: {error}")
        return error.exit_code


def _build(plan: Plan, request: ComparisonTask, display: Display) -> None:
    """Bring its runners into the cache, as far as they can be had."""
    with contextlib.suppress(HarnessError):  # the comparison itself meets the same, and tells it
        for side in (request.control, request.treatment):
            build_side(plan, side, display)


def _amounts_to(codes: Sequence[ExitCode]) -> ExitCode:
    """The gravest; a name that means nothing stands behind a regression alone, for others were compared without it."""
    if ExitCode.USAGE in codes and ExitCode.REGRESSION not in codes:
        return ExitCode.USAGE
    return gravest(code for code in codes if code is not ExitCode.USAGE)
