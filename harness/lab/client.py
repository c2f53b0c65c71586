"""Connection of a client to a lab: devices, files, submit, cancel, progress. All else is `dask.distributed`."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.lab import scheduler, tasks
from harness.lab.answers import ProcessEnded, Unanswered
from harness.lab.configuration import configure, require_packages, scheduler_address
from harness.lab.jobs import JobReport, LabFile, LabJob, Place, tell_hosts_apart
from harness.lab.pool import PersonalAction
from harness.lab.progress import TOPIC
from harness.lab.sending import FileSender

if TYPE_CHECKING:
    from distributed import Client, Future, Security

_CONNECT_S = 15.0
_ROUND_TRIP_S = 30.0
_FORGET_S = 0.3
"""How long processes have to forget jobs that were cancelled, before it is asked which of them have begun one."""

OnProgress = Callable[[str, str, str], None]
"""Called with the name of a device, `say` or `warn`, and a line. From any thread."""


@dataclass(eq=False, slots=True)
class LabTask:
    """Job that was submitted.

    Attributes:
        job: The job.
        resource: What the process needs that may do it (`harness.lab.jobs.class_resource`).
        future: Its future.
        attempts: How often it was submitted.
    """

    job: LabJob
    resource: str
    future: Future
    attempts: int = 1

    @property
    def is_done(self) -> bool:
        """Whether it has ended, as far as this process knows."""
        return bool(self.future.done())


class LabLost(EnvironmentProblem):
    """The connection to a lab that had answered was lost."""


class LabSilent(EnvironmentProblem):
    """A lab does not answer, or not to this client."""


class AnswerLost(EnvironmentProblem):
    """A job is done, and its answer cannot be fetched: the process that has it went away meanwhile."""


class LabClient:
    """Client of a lab. Made by `connect`.

    Args:
        client: Client of the library.
        address: Address of the scheduler.
    """

    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._address = address
        self._files = FileSender(self.ask, self.ask_all)

    def places(self) -> Sequence[Place]:
        """Return the devices whose processes answer, by name.

        Raises:
            LabLost: The scheduler went away.
        """
        asked = time.time()
        texts = (answer for answer in self.ask_all(tasks.describe_place).values() if isinstance(answer, str))
        answers, now = tuple(map(Place.model_validate_json, texts)), time.time()
        places = tell_hosts_apart([place.compare_clock(asked, now) for place in answers])
        return sorted(places, key=lambda place: (place.device_class, place.device.name))

    def count_devices(self) -> Mapping[str, int]:
        """Return how many devices may get jobs, by what a job may need of them. Asks the scheduler alone.

        Raises:
            LabLost: The scheduler went away.
        """
        with self._reaching_scheduler():
            return dict(self._client.run_on_scheduler(scheduler.count_devices))

    def last_change(self) -> tuple[str, float]:
        """Return why devices may still be on their way: what happened, and how long ago in seconds.

        Raises:
            LabLost: The scheduler went away.
        """
        with self._reaching_scheduler():
            words, ago_s = self._client.run_on_scheduler(scheduler.last_change)
            return str(words), float(ago_s)

    def list_tasks(self) -> Sequence[tuple[str, str, str]]:
        """Return name, state and address of the process of each job that the lab knows.

        Raises:
            LabLost: The scheduler went away.
        """
        with self._reaching_scheduler():
            return [tuple(task) for task in self._client.run_on_scheduler(scheduler.list_tasks)]

    def send_files(self, files: Mapping[Path, LabFile], places: Collection[Place]) -> Sequence[str]:
        """Let each host have the files that it lacks (`FileSender`)."""
        return self._files.send(files, places) if files else ()

    def send_files_to(self, address: str, files: Mapping[Path, LabFile]) -> None:
        """Let the host of one process have the files that it lacks. Raises as `ask`."""
        self._files.send_to(address, files)

    def find_processes(self, resource: str) -> Sequence[str]:
        """Return the addresses of the processes that have a resource.

        Raises:
            LabLost: The scheduler went away.
        """
        with self._reaching_scheduler():
            return list(self._client.run_on_scheduler(scheduler.find_processes, resource))

    def ask(self, address: str, function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - of any kind
        """Call a function in a process, whatever it is doing.

        Raises:
            ProcessEnded: The process has ended.
            Unanswered: It failed.
        """
        try:
            answers = self._client.run(function, *arguments, workers=[address], on_error="return")
        except (OSError, ValueError) as error:  # the scheduler knows no such process
            raise Unanswered(str(error)) from error
        if address not in answers:
            raise ProcessEnded("its process has ended")
        answer = answers[address]
        if isinstance(answer, Exception):
            raise Unanswered(str(answer)) from answer
        return answer

    def ask_all(self, function: Callable[..., Any], *arguments: object) -> Mapping[str, Any]:
        """Call a function in every process, and return the answers by address; none of those that failed.

        Raises:
            LabLost: The scheduler went away.
        """
        with self._reaching_scheduler():
            return dict(self._client.run(function, *arguments, on_error="ignore"))

    def submit_build(self, order: str, key: str, resource: str) -> Future:
        """Submit an order to a process that builds. Whoever submits the same key meanwhile gets the same answer."""
        from harness.lab.builds.tasks import run_build  # noqa: PLC0415 - most commands build nothing

        return self._client.submit(run_build, order, key=key, resources={resource: 1}, pure=False)

    def is_done(self, future: Future, timeout_s: float) -> bool:
        """Wait for an order for so long, and return whether it has an answer.

        Raises:
            LabLost: The scheduler went away, and forgot it.
        """
        from distributed import wait  # noqa: PLC0415 - an extra

        try:
            with contextlib.suppress(TimeoutError):
                wait([future], timeout=timeout_s)
        except CancelledError as error:
            raise self.lost() from error
        return bool(future.done())

    def text_of(self, future: Future) -> str:
        """Return the answer to an order, and forget the order.

        Raises:
            EnvironmentProblem: There is none.
        """
        from distributed import KilledWorker  # noqa: PLC0415 - an extra

        try:
            return str(future.result(timeout=_ROUND_TRIP_S))
        except KilledWorker as error:
            raise EnvironmentProblem("the processes of several hosts ended while they built it") from error
        except CancelledError as error:
            raise self.lost() from error
        except Exception as error:  # whatever the process raised
            raise EnvironmentProblem(f"the lab could not build it: {type(error).__name__}: {error}") from error
        finally:
            future.release()

    def submit(self, job: LabJob, resource: str, *, attempts: int = 1) -> LabTask:
        """Submit a job to the processes that have a resource."""
        future = self._client.submit(
            tasks.run_job,
            job.model_dump_json(),
            key=f"{job.benchmark.title} {job.id}",
            resources={resource: 1},
            pure=False,
        )
        return LabTask(job, resource, future, attempts)

    def finished(self, pending: Collection[LabTask], timeout_s: float) -> Sequence[LabTask]:
        """Wait for the next jobs to finish, and return them; none where that takes longer.

        Raises:
            LabLost: The scheduler went away, and forgot them.
        """
        from distributed import wait  # noqa: PLC0415 - an extra

        try:
            with contextlib.suppress(TimeoutError):
                wait([task.future for task in pending], timeout=timeout_s, return_when="FIRST_COMPLETED")
        except CancelledError as error:
            raise self.lost() from error
        return [task for task in pending if task.is_done]

    def result(self, task: LabTask) -> JobReport:
        """Return the answer to a job that finished, and forget the job: a lab computes again what is remembered.

        Raises:
            DeviceLost: Processes ended one after the other while they did it.
            LabLost: The scheduler went away, and forgot it.
            AnswerLost: The answer does not come.
            EnvironmentProblem: The lab could not do it.
        """
        from distributed import KilledWorker  # noqa: PLC0415 - an extra
        from distributed.comm.core import CommClosedError  # noqa: PLC0415 - an extra

        try:
            return JobReport.model_validate_json(task.future.result(timeout=_ROUND_TRIP_S))
        except KilledWorker as error:
            raise DeviceLost(
                "the processes of several devices ended while they measured it",
                hint="`harness lab status` shows which are left",
            ) from error
        except (CancelledError, CommClosedError) as error:
            raise self.lost() from error
        except TimeoutError as error:
            raise AnswerLost(f"the answer of {task.job.benchmark.title} did not come") from error
        except Exception as error:  # whatever the process of a device raised
            raise EnvironmentProblem(f"the lab could not do it: {type(error).__name__}: {error}") from error
        finally:
            task.future.release()

    def request_action(self, place: Place, action: PersonalAction) -> None:
        """Leave what a person does with a device to its host.

        Raises:
            EnvironmentProblem: The host cannot be asked.
        """
        try:
            self.ask(place.address, tasks.leave_to_host, action.model_dump_json())
        except Unanswered as error:
            raise EnvironmentProblem(
                f"{place.device.name}: {error}", hint="`harness lab status` shows who is there"
            ) from error

    def retire(self, address: str) -> None:
        """End the process of a device that is not there: its host starts another one when the device is back."""
        self._client.retire_workers([address], close_workers=True)

    def cancel(self, pending: Collection[LabTask]) -> None:
        """Cancel jobs: those that have not begun are forgotten, and the processes of the others start anew."""
        if not pending:
            return
        keys = {task.future.key for task in pending}
        jobs = {task.job.id for task in pending}
        given = {address for key, _, address in self.list_tasks() if key in keys and address}
        self._client.cancel([task.future for task in pending], force=True)
        time.sleep(_FORGET_S)
        busy = [address for address in given if self._has_begun(address, jobs)]
        if busy:  # others do the job of somebody else, which would have to be done again
            self._client.restart_workers(busy, timeout=_ROUND_TRIP_S, raise_for_error=False)

    def _has_begun(self, address: str, jobs: Collection[str]) -> bool:
        """Return whether a process has begun one of the jobs; one that has ended meanwhile has not."""
        try:
            return any(identity in jobs for identity in self.ask(address, tasks.begun_jobs))
        except Unanswered:
            return False

    @contextlib.contextmanager
    def progress(self, jobs: Collection[str], show: OnProgress) -> Iterator[None]:
        """Show what jobs, by their ids, say while they run."""

        def receive(event: tuple[float, Any]) -> None:
            _, message = event
            if isinstance(message, Mapping) and message.get("job") in jobs:
                show(str(message["device"]), str(message["kind"]), str(message["text"]))

        self._client.subscribe_topic(TOPIC, receive)
        try:
            yield
        finally:
            self._client.unsubscribe_topic(TOPIC)

    @contextlib.contextmanager
    def _reaching_scheduler(self) -> Iterator[None]:
        """Raise `LabLost` for whatever the library raises when it does not reach the scheduler.

        That is a `ValueError` too: tornado's, of a connection that breaks in its TLS handshake.
        """
        from distributed.comm.core import CommClosedError  # noqa: PLC0415 - an extra

        if self._client.scheduler is None:
            raise self.lost()
        try:
            yield
        except (OSError, CommClosedError, ValueError) as error:
            raise self.lost() from error

    def lost(self) -> LabLost:
        """Return the error that its connection was lost."""
        return LabLost(
            f"the connection to the lab at {self._address} was lost",
            hint="what was reported is kept; start the command again when the lab is there",
        )


@contextlib.contextmanager
def connect(address: str, security: Security | None = None) -> Iterator[LabClient]:
    """Connect to the scheduler of a lab.

    Args:
        address: `lab`, `lab:8786` or with a scheme.
        security: Certificates; None for none.

    Raises:
        LabSilent: It does not answer, or not to this client.
        LabLost: It answered, and then went away.
    """
    require_packages()
    configure()
    from distributed import Client  # noqa: PLC0415 - an extra
    from distributed.comm.core import CommClosedError  # noqa: PLC0415 - an extra

    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # a lost connection is said in our words
    place = scheduler_address(address, encrypted=security is not None)
    try:
        client = Client(place, security=security, timeout=_CONNECT_S)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise LabSilent(
            f"the lab at {place} does not answer: {error}",
            hint="start it by `harness lab serve`, and look at address and certificates",
        ) from error
    lab_client = LabClient(client, place)
    with client:
        try:
            yield lab_client
        except (CommClosedError, OSError) as error:
            raise lab_client.lost() from error
