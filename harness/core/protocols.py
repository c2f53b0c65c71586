"""Protocols of platforms, frameworks and reporters, and of the progress that they show. Keep them narrow.

Plug-ins are found by entry point (groups `edge_harness.platforms`, `edge_harness.frameworks`,
`edge_harness.reporters`); each entry names a factory `create(settings: Settings)` that returns one of these.
`harness.testing` has a contract suite for each. Those of sources are in `harness.core.commit`, those of reporters and
channels of alarms in `harness.core.alarm_protocols`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from harness.core.benchmark import Benchmark, Export
from harness.core.build import Build
from harness.core.cached_files import ExportReport
from harness.core.command import Command, Completed
from harness.core.comparison import Verdict
from harness.core.device import Device, DeviceState, DeviceStatus
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.result import Report


class Task(Protocol):
    """One line of progress."""

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Update its progress. May be called from any thread, often."""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """Row of a board.

    Attributes:
        cells: One for each column; the first is the name of the row, the last its state in words.
        verdict: Verdict, once there is one that stays.
        failed: True when it ended without a verdict.
    """

    cells: tuple[str, ...]
    verdict: Verdict | None = None
    failed: bool = False

    @property
    def is_decided(self) -> bool:
        """True when the row will not change any more."""
        return self.failed or self.verdict is not None


class Board(Protocol):
    """A table that changes while work is in progress."""

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Replace all rows."""

    def update(self, number: int, row: Callable[[], BoardRow], *, is_decided: bool) -> None:
        """Replace one row. May be called often: what it costs does not depend on the number of rows.

        Args:
            number: Index of the row.
            row: Makes the row if it is ever shown: during this call, or during a later one that has no newer row.
            is_decided: Whether that row is decided.
        """


class Progress(Protocol):
    """Messages of stages to a person. Calls are cheap and never raise; any thread may call."""

    def task(self, text: str, total: float | None = None) -> AbstractContextManager[Task]:
        """Begin a line of progress, which ends with the context."""

    def say(self, text: str) -> None:
        """Show one line that stays."""


class Display(Progress, Protocol):
    """A progress that can also show a table."""

    def board(self, title: str, header: Sequence[str]) -> AbstractContextManager[Board]:
        """Begin a table, which ends with the context."""


@dataclass(frozen=True, slots=True)
class Staged:
    """Files of one benchmark on the device.

    Attributes:
        folder: `{TGTDIR}`, without a trailing separator.
        files: Path on the device by name.
        programs: Path on the device by placeholder.
    """

    folder: str
    files: Mapping[str, str]
    programs: Mapping[str, str]


class Session(Protocol):
    """Exclusive use of one device, by one thread."""

    device: Device

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        """Create a fresh folder for one benchmark, with these files in it under the given names.

        A file whose content is already on the device is not transferred again. Programs are made executable.
        Folders are removed at the end of the session at the latest.
        """

    def run(self, command: Command) -> Completed:
        """Run one program to its end, limited by its own wall clock: on expiry its process group is killed there.

        Raises:
            DeviceLost: The device became unreachable.
        """

    def pull(self, remote: str, local: Path) -> None:
        """Fetch a file and remove it on the device, so that no later launch can be credited with it.

        `local` exists only when the whole file arrived.

        Raises:
            FileNotFoundError: The device has no such file.
            DeviceLost: The device became unreachable.
        """

    def state(self) -> DeviceState:
        """Read what may disturb a measurement now: temperature, clocks, load, battery."""


class InteractiveProcess(Protocol):
    """A running program on a device that is controlled line by line."""

    def write_line(self, line: str) -> None:
        """Write a line to its standard input; ignored when the program has ended."""

    def wait_for_line(self, line: str) -> bool:
        """Wait for exactly this line of its standard output; False when it ended without it, or its time is over."""

    def finish(self) -> Completed:
        """Close its standard input, wait for its end, and return how it ended. Called once."""


@runtime_checkable
class Interactive(Session, Protocol):
    """A session that can also run several interactive programs at the same time."""

    def start(self, command: Command) -> AbstractContextManager[InteractiveProcess]:
        """Start a program as `Session.run` would, on the same CPUs.

        Its time limit counts only while somebody waits for it, never while it idles. Its process group is killed on
        expiry, on interruption, and when the context ends.
        """


@runtime_checkable
class Gated(Session, Protocol):
    """A session on a device that is not always ready to be measured on."""

    def wait_until_ready(self) -> None:
        """Wait until the device is cool and charged enough. Called before each launch; returns at once when it is.

        Raises:
            EnvironmentProblem: It is not ready in time; the message says what is wrong, the hint what helps.
            DeviceLost: The device became unreachable.
        """


@runtime_checkable
class Reconnectable(Session, Protocol):
    """A session on a device that can become unreachable and return."""

    def reconnect(self) -> None:
        """After `DeviceLost`: wait for the device and prepare it as `Platform.open` did. Files must be staged again.

        Raises:
            DeviceLost: It does not return in time.
        """


class Platform(Protocol):
    """A kind of device."""

    name: str

    def devices(self) -> Sequence[Device]:
        """List the devices that can be reached now, in a stable order."""

    def open(self, device: Device, progress: Progress) -> AbstractContextManager[Session]:
        """Lock a device for exclusive use. Leaving the context restores everything that was changed, in every case.

        Raises:
            EnvironmentProblem: Another job uses it for too long, or it cannot be prepared.
        """


@runtime_checkable
class DeviceListing(Protocol):
    """A platform whose devices may be connected and not usable: locked, starting, or not yet trusted.

    Flows wait for such a device, and never measure another in its place without saying so.
    """

    def list_devices(self, wanted: Collection[str] = (), known: Collection[Device] = ()) -> Sequence[DeviceStatus]:
        """List every device that is connected, usable or not, in the order of `devices`; the usable ones are the same.

        Args:
            wanted: Names of devices to look for, where a device can be looked for by its name: on a network.
            known: Devices of an earlier list, which need not be described again while they are connected.
        """


@runtime_checkable
class LocalPlatform(Protocol):
    """A platform whose device is the machine that runs the harness.

    A build would disturb what is measured there, so the next commit is not built meanwhile unless the user wants it;
    and recipes build for the machine that they run on. Ask `is_local`: a platform may also say False.
    """

    runs_on_this_machine: bool


def is_local(platform: Platform) -> bool:
    """Return whether the device of a platform is the machine that runs the harness (`LocalPlatform`)."""
    return isinstance(platform, LocalPlatform) and platform.runs_on_this_machine


@runtime_checkable
class Adjustable(Protocol):
    """A platform that can do something to its devices: restart them, fix their clocks.

    Options that ask for it say so (`harness.config.options.Option.of_device`).
    """

    device_options: Collection[str]
    """Names of the options that it heeds. A flag that it does not name is an error."""


def device_options(platform: Platform) -> Collection[str]:
    """Return the names of the options about devices that a platform heeds (`Adjustable`)."""
    return platform.device_options if isinstance(platform, Adjustable) else ()


@runtime_checkable
class AppStarting(Protocol):
    """A platform that can start installed applications in place of programs (`Command.app`)."""

    app_suffix: str
    """Ending of the name of an application's package, such as `.apk`: a program with this name is installed."""


@runtime_checkable
class Preflighting(Protocol):
    """A platform that can tell what stands in the way of measuring on a device and needs a person.

    Flows ask it before runners are built and models exported, which takes minutes. It locks and changes nothing.
    """

    def preflight(self, device: Device, package: str | None = None) -> None:
        """Check a device, or one app that must be installed there.

        Args:
            device: The device.
            package: Name of the app; None checks the device.

        Raises:
            EnvironmentProblem: Nothing can be measured there until somebody does something: charge it.
            BenchmarkUnsupported: The app is not installed.
            DeviceLost: It cannot be asked now.
        """


def app_suffix(platform: Platform) -> str:
    """Return the ending of the names of packages of apps (`AppStarting`); empty where a platform starts none."""
    return platform.app_suffix if isinstance(platform, AppStarting) else ""


class Framework(Protocol):
    """A kind of runner: how to build it, start it, and parse its output."""

    name: str

    def build(self, device: Device, progress: Progress) -> Build:
        """Return the installed runner for this kind of device, built on first use and then cached.

        Raises:
            BuildFailed: There is none and it cannot be built; the hint says what to install.
        """

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        """Return the command of a benchmark that has no commands of its own. Pure.

        Args:
            benchmark: The benchmark. Its `time_limit_s` is the time that remains for this launch.
            build: The runner.
            files: Path on the device by key: files (`files.model`, `input_files.X`), outputs to be written
                (`output_files.X`), programs (`program`).

        Raises:
            BenchmarkUnsupported: This framework cannot run it.
            BenchmarkFailed: The specification has a mistake that its author can correct.
        """

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        """Parse the output of one launch, also of a failed one. Never raises, whatever a program printed. Pure."""


@runtime_checkable
class StepParser(Protocol):
    """A framework that knows that steps on the host are no runners: what else they print is no mistake.

    The output of steps is read by `Framework.parse` where a framework does not have this.
    """

    def parse_step(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        """Parse what the commands of one step printed. Never raises, whatever they printed. Pure."""


@runtime_checkable
class Interleavable(Protocol):
    """A framework whose runners can be interleaved with another process: they iterate on request, idle in between.

    Such a runner loads, warms up, and says `ready`. For each line `run N` of its standard input it makes N timed
    iterations and says `done N`. At a line `end`, or at the end of its standard input, it prints everything that it
    prints when it runs alone, and ends. Until then it writes nothing else to standard output.
    """

    def interleaved_command(self, command: Command) -> Command:
        """Return the command that starts the same runner interleaved. Pure.

        The runner itself shows whether it can: one that cannot ends, or fails, without having said `ready`.
        """


@runtime_checkable
class Exporter(Protocol):
    """A framework that can also export model files."""

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        """Return everything beside the request that determines the bytes: versions, digests of sources.

        Fast: imports nothing heavy.

        Raises:
            ExportFailed: No such definition or recipe (the hint lists those that exist), or it cannot be loaded.
        """

    def export(self, export: Export, destination: Path, progress: Task) -> ExportReport:
        """Write the model file to `destination` in a process of its own, and return how it was made.

        Raises:
            ExportFailed: With the last line of the process, and a remedy.
        """


@runtime_checkable
class RunnerSources(Protocol):
    """A framework that comes with the sources of a runner of its own, which build recipes may compile."""

    def runner_sources(self) -> Path | None:
        """Return the folder of these sources; None when this installation lacks them."""


@runtime_checkable
class OptionReader(Protocol):
    """A framework that finds in a finished runner which options it was compiled with."""

    def read_options(self, build: Build) -> Mapping[str, str]:
        """Return the options that the programs of a build show, by name; nothing of what they do not show.

        The runner is not started. What its recipe recorded (`Build.options`) is preferred.
        """

    def explain_options(self, names: Collection[str]) -> str | None:
        """Return how two runners that differ in these options can be had alike; None where nothing is known."""


class Reporter(Protocol):
    """A receiver of results, which gets them one by one as they appear. Used by one thread at a time."""

    name: str

    def report(self, report: Report) -> str | None:
        """Report one result, and return its place, if it has one.

        Raises:
            ReporterFailed: It could not be reported; the result is safe elsewhere.
        """

    def close(self) -> None:
        """Report the rest: a table, an index. Called once, also after failures.

        Raises:
            ReporterFailed: As above.
        """


@runtime_checkable
class ResultArchive(Protocol):
    """A reporter that keeps results for good: a result counts as stored when `report` has returned.

    It gets results before the other reporters, which find the place that it returned in `Report.place`: a folder of
    this machine. Where there are several, the first that returns one names the place. Ask `is_archive`: a reporter may
    also say False.
    """

    keeps_results: bool


def is_archive(reporter: Reporter) -> bool:
    """Return whether a reporter keeps results for good (`ResultArchive`)."""
    return isinstance(reporter, ResultArchive) and reporter.keeps_results


@runtime_checkable
class Preparable(Protocol):
    """A reporter that can find out before the first measurement that it will not be able to report."""

    def prepare(self) -> None:
        """Check that results can be written where they are to go, by writing there. Called before anything is measured.

        Raises:
            EnvironmentProblem: They cannot; the hint says what to do. Nothing is measured then.
        """


@runtime_checkable
class DeliveryCounting(Protocol):
    """A reporter that knows what it could not report: one that tries again later, or that reports all results at once.

    Of other reporters the failures of `report` are counted.
    """

    @property
    def unreported(self) -> int:
        """Number of results that it was given in this run and that are not reported now."""


@dataclass(frozen=True, slots=True)
class FlushOutcome:
    """Outcome of sending everything that waited.

    Attributes:
        sent: Results that were received.
        waiting: Results that still wait.
        refused: Results that were refused for good.
        reasons: Why results wait or were refused; each reason once.
    """

    sent: int = 0
    waiting: int = 0
    refused: int = 0
    reasons: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """True when everything was received."""
        return self.waiting == 0 and self.refused == 0


@runtime_checkable
class Spooling(Protocol):
    """A reporter that keeps results that it could not deliver, to send them later."""

    def flush(self, progress: Progress) -> FlushOutcome:
        """Send everything that waits, instead of reporting: no other method is called before or after.

        Raises:
            ReporterFailed: What waits cannot be read.
        """


Clock = Callable[[], float]
"""Unix seconds."""


class Finding(NamedTuple):
    """One line of `harness doctor`.

    Attributes:
        name: Name of the requirement.
        ok: True when it is met; None when a failure has a cost but stops nothing.
        found: Observation, in words.
        remedy: What to do when it is not met.
    """

    name: str
    ok: bool | None
    found: str
    remedy: str = ""


@runtime_checkable
class Diagnosable(Protocol):
    """A plug-in that can check its requirements."""

    def diagnose(self) -> Sequence[Finding]:
        """Check everything that this plug-in needs. Never raises."""
