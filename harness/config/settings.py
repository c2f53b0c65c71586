"""One frozen `Settings`, made once from defaults, saved configuration, environment, specification and flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import platformdirs
from pydantic import JsonValue

from harness.core.device import DEFAULT_PLATFORM
from harness.core.values import Scalar

APP = "edge-harness"


def default_cache() -> Path:
    """Where downloads, exports and runners are kept: everything there can be deleted and comes back."""
    return Path(platformdirs.user_cache_dir(APP))


def default_results() -> Path:
    """Where results are kept unless `--local_reporter` names a place."""
    return Path(platformdirs.user_data_dir(APP)) / "results"


def default_config_dir() -> Path:
    """Where `harness init` saves answers."""
    return Path(platformdirs.user_config_dir(APP))


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run was asked to do. Field names are FAI-PEP's flag names where it has one.

    Attributes:
        benchmark_file: Specifications or lists of them.
        framework: Overrides nothing: it must agree with a specification that names one.
        platform: Platform plug-in.
        devices: Identities or names to use; empty means the first (or only) device.
        excluded_devices: Identities or names never to use.
        program: Prebuilt programs by placeholder; `program` is the runner.
        later: Placeholders that each side of a comparison defines for itself.
        meta: Free values reported with every result.
        commit: What to call the given programs, instead of their digest.
        commit_time: Unix seconds of that commit.
        model_cache: Where model files are kept.
        cache_dir: Where runners and other rebuildable things are kept.
        root_model_dir: What `//` locations are relative to.
        local_reporter: Where the local reporter keeps results.
        simple_local_reporter: Where the simple local reporter keeps them, if wanted.
        screen_reporter: Whether the table is shown.
        simple_screen_reporter: Whether one line of JSON per result goes to standard output.
        remote_reporter: `URL|category` to post results to.
        reporters: Further reporters by entry-point name, with their argument.
        timeout: Default limit of a program, seconds; None leaves it to the specification.
        cooldown: Pause between benchmarks, seconds; None leaves it to the specification.
        env: Variables for every program.
        string_map: Placeholders given by the caller.
        command_args: Text appended to each command that starts the runner.
        operators: Whether each operator is timed too.
        cpus: CPUs to pin to; None lets the platform choose, `()` forbids pinning.
        lock_timeout: How long to wait for a device that another job holds, seconds.
        android_dir: Folder on Android devices under which ours is made.
        reboot: Restart devices before they are measured on, where that can be done.
        set_freq: Fix the clocks of rooted devices: `max`, `mid`, `min`, or a frequency in kHz.
        wipe_cache: Drop the page cache of rooted devices before each launch.
        airplane: Turn radios off while measuring, where the device is not reached through them.
        screen: What the screen does while measuring: `keep`, `on` or `off`.
        return_timeout: How long to wait for a device that went away, seconds.
        cool_timeout: How long to wait for a device that is too warm, seconds.
        adb_server: `HOST:PORT` of the adb server; None takes adb's own default.
        spread: Measure each benchmark once, on whichever device is free, and not on every device.
        same_host: Whether what is measured would notice a compiler on this machine, so that nothing is built meanwhile;
            None: it does where this machine is measured.
        runner: `auto`, `native` or `python`.
        force_export: Export again even when the cache has the program.
        only: Keep benchmarks whose title matches one of these patterns (fnmatch).
        skip: Drop benchmarks whose title matches one of these patterns.
        run_type: FAI-PEP's run type, reported.
        regressed_types: Types or whole names of metrics that an earlier run called regressed; marked in the results.
        user: Who ran it, reported.
        user_identifier: FAI-PEP's free identifier, reported.
        platform_sig: Name to report for this host instead of its own.
        dry_run: Show the plan and stop.
        debug: Show what programs write, keep temporary folders.
    """

    benchmark_file: tuple[Path, ...] = ()
    framework: str | None = None
    platform: str = DEFAULT_PLATFORM
    devices: tuple[str, ...] = ()
    excluded_devices: tuple[str, ...] = ()
    program: dict[str, Path] = field(default_factory=dict)
    later: tuple[str, ...] = ()
    meta: dict[str, JsonValue] = field(default_factory=dict)
    commit: str | None = None
    commit_time: int | None = None
    model_cache: Path = field(default_factory=lambda: default_cache() / "models")
    cache_dir: Path = field(default_factory=default_cache)
    root_model_dir: Path | None = None
    local_reporter: Path = field(default_factory=default_results)
    simple_local_reporter: Path | None = None
    screen_reporter: bool = True
    simple_screen_reporter: bool = False
    remote_reporter: str | None = None
    reporters: dict[str, str] = field(default_factory=dict)
    timeout: float | None = None
    cooldown: float | None = None
    env: dict[str, str] = field(default_factory=dict)
    string_map: dict[str, Scalar] = field(default_factory=dict)
    command_args: str = ""
    operators: bool = False
    cpus: tuple[int, ...] | None = None
    lock_timeout: float = 600.0
    android_dir: str = "/data/local/tmp"
    reboot: bool = False
    set_freq: str | None = None
    wipe_cache: bool = False
    airplane: bool = False
    screen: str = "keep"
    return_timeout: float = 300.0
    cool_timeout: float = 900.0
    adb_server: str | None = None
    spread: bool = False
    same_host: bool | None = None
    runner: str = "auto"
    force_export: bool = False
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    run_type: str = "benchmark"
    regressed_types: tuple[str, ...] = ()
    user: str | None = None
    user_identifier: str | None = None
    platform_sig: str | None = None
    dry_run: bool = False
    debug: bool = False
