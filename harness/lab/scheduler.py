"""`harness lab serve`: the scheduler, the server of results beside it, and the functions that run in the scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from harness import shell
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.lab.configuration import LOCAL, configure, require_packages

if TYPE_CHECKING:
    from distributed import Scheduler, Security

_LOCAL = frozenset({LOCAL, "::1", "localhost"})

_END_S = 15.0
"""How long the server of results may take to end after it was told to."""


def serve(
    host: str,
    port: int,
    security: Security | None,
    say: Callable[[str], None],
    results: Command | None = None,
) -> ExitCode:
    """Serve until a signal ends it.

    Args:
        host: Address to listen at.
        port: Port; 0 takes any that is free.
        security: Certificates; None for none, which only this machine may use.
        say: Shows a line to whoever started it.
        results: Starts the server of results, which serves as long as the scheduler does; None for none.

    Raises:
        UsageError: Others could reach it without certificates: whoever reaches a scheduler can execute code.
        EnvironmentProblem: The port is taken, or the server of results ended.
    """
    require_packages()
    if security is None and host not in _LOCAL:
        raise UsageError(
            f"--host {host} without certificates: whoever reaches a lab can execute programs on its hosts",
            hint="make certificates with `harness lab certificate HOST`, and name their folder by --certificates",
        )
    configure()
    return asyncio.run(_serve(host, port, security, say, results))


async def _serve(
    host: str, port: int, security: Security | None, say: Callable[[str], None], results: Command | None
) -> ExitCode:
    from distributed import Scheduler  # noqa: PLC0415 - an extra

    stop = stop_event()
    protocol = "tcp" if security is None else "tls"
    try:
        pages = f"{LOCAL}:0"  # which have no route
        scheduler = Scheduler(
            host=host, port=port, protocol=protocol, security=security, dashboard=False, dashboard_address=pages
        )
        async with scheduler:
            say(f"the lab is at {scheduler.address}; bring devices with `harness lab join {scheduler.address}`")
            async with _serve_results(results) as ended:
                both: list[asyncio.Future[Any]] = [ended, asyncio.ensure_future(stop.wait())]
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                if not stop.is_set():
                    raise EnvironmentProblem(f"the server of results ended, with exit status {ended.result()}")
    except (OSError, RuntimeError) as error:
        reason = error if isinstance(error, OSError) else error.__cause__  # the library says that it failed to start
        if not isinstance(reason, OSError):
            raise
        raise EnvironmentProblem(
            f"cannot listen at {host}:{port}: {reason.strerror or reason}",
            hint="another lab may be there: `harness lab status`; --port 0 takes a port that is free",
        ) from error
    return ExitCode.OK


@contextlib.asynccontextmanager
async def _serve_results(command: Command | None) -> AsyncIterator[asyncio.Future[int]]:
    """Start the server of results; the future is done when it ends. It ends with the block, and with this process."""
    if command is None:
        yield asyncio.get_running_loop().create_future()
        return
    environment = {**os.environ, **command.env}
    server = await asyncio.create_subprocess_exec(*shell.kill_with_harness(command).argv, env=environment)
    ended = asyncio.ensure_future(server.wait())
    try:
        yield ended
    finally:
        if not ended.done():
            server.terminate()
        try:
            await asyncio.wait_for(ended, _END_S)
        except TimeoutError:
            server.kill()


def stop_event() -> asyncio.Event:
    """Return an event that is set when the process is told to end."""
    event, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, event.set)
    return event


def list_tasks(dask_scheduler: Scheduler | None = None) -> list[tuple[str, str, str]]:
    """Return key, state and address of the process of each job that the scheduler knows. Runs in the scheduler."""
    tasks: Any = dask_scheduler.tasks if dask_scheduler is not None else {}
    return [
        (str(task.key), str(task.state), task.processing_on.address if task.processing_on is not None else "")
        for task in tasks.values()
    ]


def find_processes(resource: str, dask_scheduler: Scheduler | None = None) -> list[str]:
    """Return the addresses of the processes that have a resource. Runs in the scheduler."""
    workers: Any = dask_scheduler.workers if dask_scheduler is not None else {}
    return [str(address) for address, worker in workers.items() if resource in worker.resources]


def count_devices(dask_scheduler: Scheduler | None = None) -> dict[str, int]:
    """Return how many processes have each resource. Runs in the scheduler."""
    workers: Any = dask_scheduler.workers if dask_scheduler is not None else {}
    return dict(Counter(name for worker in workers.values() for name, amount in worker.resources.items() if amount))


def last_change(dask_scheduler: Scheduler | None = None) -> tuple[str, float]:
    """Return why devices may still be on their way, and since when. Runs in the scheduler.

    Returns:
        What happened, in words for people; and how long ago, in seconds.
    """
    if dask_scheduler is None:
        return "the lab began", 0.0
    events: Any = dask_scheduler.get_events("all")
    left = [when for when, event in events if isinstance(event, dict) and event.get("action") == "remove-worker"]
    began, last_left = float(dask_scheduler.time_started), max(left, default=0.0)
    words, when = ("one of its processes ended", last_left) if last_left > began else ("the lab began", began)
    return words, time.time() - when
