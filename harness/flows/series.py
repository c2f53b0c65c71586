"""Several commits, one comparison after the other; where that disturbs nothing, the next is built meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from harness import plugins
from harness.core.errors import ExitCode, HarnessError, gravest
from harness.core.protocols import Display
from harness.flows.compare import Request, compare
from harness.flows.requests import Wish, request_of
from harness.flows.run import make_plan
from harness.flows.sides import build_side
from harness.settings import Settings


def compare_each(wishes: Sequence[Wish], settings: Settings, display: Display) -> ExitCode:
    """Compare every wish in order. What is said of one ends none of the others.

    Raises:
        UsageError: A wish means nothing.
        EnvironmentProblem: A source or a device cannot be reached.
    """
    codes = []
    with ThreadPoolExecutor(1, thread_name_prefix="build-ahead") as ahead:
        coming: Future[Request] | None = None
        for number, wish in enumerate(wishes):
            request = coming.result() if coming else request_of(wish, settings, display)
            coming = None
            if number + 1 < len(wishes) and builds_ahead(settings):
                coming = ahead.submit(_prepared, wishes[number + 1], settings, display)
            codes.append(compare(request, settings, display))
    return gravest(codes)


def builds_ahead(settings: Settings) -> bool:
    """Whether a compiler on this machine leaves alone what is measured: it does where that is another machine."""
    if settings.same_host is not None:
        return not settings.same_host
    return plugins.platform_name(settings.platform) != "host"


def _prepared(wish: Wish, settings: Settings, display: Display) -> Request:
    """The request, with its runners in the cache as far as they can be had. What fails is told when its turn comes."""
    request = request_of(wish, settings, display)
    try:
        plan = make_plan(settings)
        for side in (request.control, request.treatment):
            build_side(plan, side, display)
    except HarnessError:
        return request  # the comparison itself meets the same, and tells it
    return request
