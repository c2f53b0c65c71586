"""Values that travel between clients and hosts of a lab, as JSON: nothing that arrives becomes a command line."""

from __future__ import annotations

import functools
import hashlib
import re
import sys
import uuid
from collections import Counter
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, JsonValue, NonNegativeInt

import harness
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.build import BuildInfo
from harness.core.comparison import Parameters
from harness.core.device import Device
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import EnvironmentProblem
from harness.core.result import Report
from harness.core.values import Value

FILES: Final = Path("lab", "files")
"""Folder of the files of jobs, in the cache of a host."""

_UNSAFE: Final = re.compile(r"[^a-z0-9]+")
_UNPRINTABLE: Final = re.compile(r"[^\w .+@=,-]")
_NAMESPACE: Final = uuid.UUID("6f0e4a5c-3f0b-5a55-9d0a-6a1f0d0c8d5e")


class Versions(Value):
    """What has to be equal at both ends: values and pickles of others may mean something else.

    Attributes:
        harness: Version of the harness.
        python: Version of Python, without the patch level.
        distributed: Version of the library.
    """

    harness: str
    python: str
    distributed: str

    def explain_difference(self, other: Versions) -> str:
        """Describe how another end differs; empty where it does not."""
        ends = ((name, getattr(self, name), getattr(other, name)) for name in type(self).model_fields)
        return ", ".join(f"{name} {theirs} instead of {ours}" for name, ours, theirs in ends if ours != theirs)


@functools.cache
def own_versions() -> Versions:
    """Return the versions of this process, whatever is installed while it runs."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Versions(harness=harness.__version__, python=python, distributed=metadata.version("distributed"))


class RunningJob(Value):
    """Job that a device is doing.

    Attributes:
        title: Title of its benchmark.
        measuring_s: Seconds since it began.
        expected_s: Seconds that it is expected to take; None where that is not known.
    """

    title: str
    measuring_s: float
    expected_s: float | None = None

    @property
    def left_s(self) -> float | None:
        """Seconds until it is expected to end, negative where it takes longer; None where that is not known."""
        return None if self.expected_s is None else self.expected_s - self.measuring_s


class Place(Value):
    """Device of a lab, as its process describes it.

    Attributes:
        device: The device.
        device_class: Class of the devices that a job may choose among.
        host: Name of its host; with the address where hosts share a name.
        address: Address of its process.
        versions: Versions of its process.
        health: Why no job reaches it, or that its health is checked; empty while it is in the pool.
        returns_at: When it comes back into the pool by itself for sure, Unix seconds; None where that is not known.
        is_action_pending: Whether the host has not carried out yet what a person did with it.
        checked_at: When the last check of its health ended, Unix seconds; None without one.
        check_reason: Why that was bad; empty where it was good.
        doubts: When its results are in doubt, because a check of its health was bad.
        job: What it measures now; None while it waits.
        clock: Time of day of its host when it answered, Unix seconds; None where it did not say.
        clock_ahead_s: How far that was ahead of the time of day at the client, in seconds.
    """

    device: Device
    device_class: str
    host: str
    address: str = ""
    versions: Versions
    health: str = ""
    returns_at: float | None = None
    is_action_pending: bool = False
    checked_at: float | None = None
    check_reason: str = ""
    doubts: tuple[DeviceDoubt, ...] = ()
    job: RunningJob | None = None
    clock: float | None = None
    clock_ahead_s: float = 0.0

    def compare_clock(self, asked: float, answered: float) -> Place:
        """Return it with how far its clock is from the time between question and answer, both in Unix seconds."""
        clock = asked if self.clock is None else self.clock
        ahead_s = max(clock - answered, 0.0) + min(clock - asked, 0.0)
        return self.model_copy(update={"clock_ahead_s": ahead_s})


def tell_hosts_apart(places: Sequence[Place]) -> Sequence[Place]:
    """Return devices with the address beside the name of their host, where hosts of several addresses share a name."""
    addresses = {(place.host, urlsplit(place.address).hostname) for place in places}
    shared = Counter(host for host, _ in addresses)
    return [
        place.model_copy(update={"host": f"{place.host} ({urlsplit(place.address).hostname})"})
        if shared[place.host] > 1
        else place
        for place in places
    ]


class LabFile(Value):
    """File that a job needs, by its content.

    Attributes:
        sha256: Digest of its content.
        name: Its name, without a folder.
        size_bytes: Its size.
    """

    sha256: Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]
    name: Annotated[str, Field(min_length=1, max_length=255, pattern=r"\A[^/\\\x00-\x1f]+\z")]
    size_bytes: NonNegativeInt

    def below(self, folder: Path) -> Path:
        """Return its place in a folder of files by content."""
        return folder / self.sha256 / "content"


class ChosenSettings(Value):
    """Settings of a run that go with its jobs, called as `harness.config.settings.Settings` calls them.

    What concerns the specification has been applied to the benchmark; the others are the host's, or the client's own
    business.
    """

    run_type: str
    user: str | None
    user_identifier: int | str | None
    meta: dict[str, JsonValue]
    regressed_types: tuple[str, ...]
    build_digest: tuple[str, ...] = ()
    file_digest: tuple[str, ...] = ()
    verbose: bool
    debug: bool


def _reject_outside(path: str) -> str:
    """Return a path within a folder.

    Raises:
        ValueError: It leads out of it.
    """
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or "\\" in path or ".." in parts:
        raise ValueError(f"{path!r} is no path within a folder")
    return path


RelativePath = Annotated[str, AfterValidator(_reject_outside)]


class SideOfPairs(Value):
    """Side of a comparison, or the runner of a single commit, as it is called wherever it is measured.

    Attributes:
        commit: Id of a commit of the source; None where it is given by programs, or installed.
        programs: Programs that the client sends, by placeholder, of which `program` is the runner: locations, or paths
            within a build.
        build: What is known of a build that the client sends; None where it sends none.
        content: Locations of all files of that build, by their paths within it.
        variables: Placeholders of this side.
        name: Name for people: of the commit, or of the runner among the programs.
        reported_commit: Commit to report of programs, instead of a digest.
        commit_time: Unix seconds of that commit.
    """

    commit: str | None = None
    programs: dict[str, str] = {}
    build: BuildInfo | None = None
    content: dict[RelativePath, str] = {}
    variables: dict[str, str] = {}
    name: str = ""
    reported_commit: str | None = None
    commit_time: int | None = None


class PairsRequest(Value):
    """Batch of pairs to measure on one device: a comparison that is decided elsewhere, with other batches.

    Attributes:
        control: The control; None where both sides are the installed runner.
        treatment: The treatment, likewise.
        source: Source of the commits as `kind:place`; empty where there are none.
        metrics: Metrics to compare by the same launches, the one that the benchmark is about first.
        parameters: How to measure; the budget is that of this batch, and the coin its own.
        unequal_options: Names of build options that are meant to differ.
        with_outputs: Whether to compare the outputs of both sides too.
    """

    control: SideOfPairs | None
    treatment: SideOfPairs | None
    source: str = ""
    metrics: tuple[str, ...] = ()
    parameters: Parameters
    unequal_options: tuple[str, ...] = ()
    with_outputs: bool = True


class LabJob(Value):
    """Benchmark to measure once, or by a batch of pairs.

    Attributes:
        id: Unique; the uid of its result comes from it, so that a job that ran twice is stored once.
        benchmark: What to measure.
        files: The files of the job that exist with the client only, by their locations there.
        pairs: The pairs to measure; None measures the benchmark once.
        runner: The runner to measure it with once; None for the one that is installed.
        source: Source of the commit of that runner as `kind:place`; empty where it is sent.
        settings: Settings of the run that go with it.
        versions: Versions of the client.
        expected_s: Seconds that it is expected to take; None where that is not known.
    """

    id: str
    benchmark: Benchmark
    files: dict[str, LabFile] = {}
    pairs: PairsRequest | None = None
    runner: SideOfPairs | None = None
    source: str = ""
    settings: ChosenSettings
    versions: Versions
    expected_s: float | None = None

    @property
    def uid(self) -> str:
        """Uid of its result."""
        return result_uid(self.id)


class JobReport(Value):
    """Answer to a job.

    Attributes:
        report: The result with its logs; None where the job was not begun.
        further: Results of the further metrics of pairs.
        missing: Digests of files that the host does not have.
        absent: Why the device could not be reached before anything was measured; empty where it could.
        address: Address of the process that answers.
    """

    report: Report | None = None
    further: tuple[Report, ...] = ()
    missing: tuple[str, ...] = ()
    absent: str = ""
    address: str = ""


def result_uid(job_id: str) -> str:
    """Return the uid of the result of a job."""
    return str(uuid.uuid5(_NAMESPACE, job_id))


def choose_settings(settings: Settings) -> ChosenSettings:
    """Return the settings that go with jobs."""
    return ChosenSettings(**{name: getattr(settings, name) for name in ChosenSettings.model_fields})


def describe_file(path: Path, name: str) -> LabFile:
    """Return a file by its content.

    Raises:
        EnvironmentProblem: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return LabFile(sha256=digest, name=_UNPRINTABLE.sub("_", Path(name).name)[:255], size_bytes=path.stat().st_size)
    except OSError as error:
        raise EnvironmentProblem(f"{path} cannot be read: {error.strerror or error}", hint="see its place") from error


def class_of(device: Device) -> str:
    """Return the class of a device: its product or processor, as a word of small letters and digits."""
    return slug(device.kind or device.name)


def slug(text: str) -> str:
    """Return a text as a word of small letters, digits and hyphens; `unnamed` where none is left."""
    return _UNSAFE.sub("-", text.lower()).strip("-") or "unnamed"


def class_resource(device_class: str) -> str:
    """Return the resource that each device of a class has."""
    return f"class-{device_class}"


def device_resource(identity: str) -> str:
    """Return the resource that one device has: a digest, as identities hold any character."""
    return f"device-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
