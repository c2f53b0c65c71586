"""Protocol between the harness and a runner app: how it is started, and what it leaves.

The app is started with the arguments of a runner, and with the variables below. It then

1. changes its working directory to its container (`NSHomeDirectory()`), where `Documents/...` is what the harness sees;
2. makes a hard link for each file that `LINKS` names, after a check of its size;
3. writes its standard output and error to the files `RESULT` + `.out` and `RESULT` + `.err`;
4. runs its runner with its arguments, as `main` would be called: the first word is that of the command;
5. writes `AppResult` as JSON to `RESULT`, by renaming a whole file, and exits.

There is no exit status on iOS: an app that leaves no result has crashed, was killed, or hangs. docs/ios.md tells it to
those who write an app of their own.
"""

from __future__ import annotations

from typing import Final

from harness.core.values import Value

RESULT: Final = "EDGE_HARNESS_RESULT"
"""Variable: path of the result in the container. An app that is started without it does nothing."""
LINKS: Final = "EDGE_HARNESS_LINKS"
"""Variable: path of a JSON file with a list of `FileLink`; not set where there are none."""
MARK: Final = "EDGE_HARNESS_MARK"
"""Variable: word that the result repeats, so that no older result is credited to a launch."""
SCHEMA: Final = 1
"""Version of `AppResult`."""


class FileLink(Value):
    """A file of a benchmark, and where its content is.

    Attributes:
        path: Path that the benchmark uses, in the container.
        content: Path of its content in the container.
        size_bytes: Its size.
    """

    path: str
    content: str
    size_bytes: int


class AppState(Value):
    """State of a phone that only an app can read. None: it does not say.

    Attributes:
        time: Unix seconds.
        thermal_state: `nominal`, `fair`, `serious` or `critical` (`ProcessInfo.ThermalState`).
        low_power_mode: Whether low power mode is on.
        brightness: Of the screen, 0 to 1.
        battery_percent: Charge.
        battery_state: `unplugged`, `charging`, `full` or `unknown` (`UIDevice.BatteryState`).
        memory_available_bytes: Memory that the app could still get (`os_proc_available_memory`).
        uptime_s: Seconds since boot, including those in which it slept (`mach_continuous_time`).
        awake_s: Seconds since boot in which it did not sleep (`mach_absolute_time`).
    """

    time: float
    thermal_state: str | None = None
    low_power_mode: bool | None = None
    brightness: float | None = None
    battery_percent: float | None = None
    battery_state: str | None = None
    memory_available_bytes: int | None = None
    uptime_s: float | None = None
    awake_s: float | None = None


class AppResult(Value):
    """What a runner app leaves at its end.

    Attributes:
        schema_version: `SCHEMA`.
        mark: The word that it was given (`MARK`).
        exit_code: What its runner returned; None where `problem` says why it did not run.
        problem: Why its runner did not run: a file that is missing, or of another size.
        incomplete: Paths of contents that are missing or of another size: the harness pushes them again, once.
        wall_s: Seconds that its runner took.
        cpu_s: CPU seconds of the process meanwhile.
        peak_memory_bytes: Its peak physical footprint (`phys_footprint`).
        executable_sha256: Digest of its own program file, by which the harness knows which build ran.
        version: `CFBundleVersion`.
        stdout: Its standard output; None leaves it to the file, where it is long.
        stderr: Its standard error, likewise.
        foreground: Whether it was in the foreground from start to end; None where it does not know.
        before: State before the runner started.
        after: State after it ended.
    """

    schema_version: int
    mark: str
    exit_code: int | None = None
    problem: str = ""
    incomplete: tuple[str, ...] = ()
    wall_s: float = 0.0
    cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    executable_sha256: str = ""
    version: str = ""
    stdout: str | None = None
    stderr: str | None = None
    foreground: bool | None = None
    before: AppState | None = None
    after: AppState | None = None
