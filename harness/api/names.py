"""Keyword arguments of `harness.run` and `harness.compare`, with their types. Generated from the options.

`python -m tests.api.names_file` writes this file, and a test compares it with the options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

from harness.core.scalars import Scalar

AnyPath = str | PathLike[str]


class _Options(TypedDict, total=False):
    """Options of every function that measures."""

    only: str | Sequence[str]
    """Keep the benchmarks whose name, with or without `model/`, matches one of these patterns: `*q8*`, or
    `tag:nightly`, `model:mv2`, and any axis of the matrix: `backend:xnnpack_*`.
    """

    skip: str | Sequence[str]
    """Leave out the benchmarks whose name matches one of these patterns."""

    benchmark_digest: str | Sequence[str]
    """Keep the benchmarks with these digests, as lines that reproduce results do; refused where the specification
    has changed.
    """

    file_digest: str | Sequence[str]
    """Refuse files with other MD5s where the specification promises none, as in lines that reproduce a result."""

    build_digest: str | Sequence[str]
    """Refuse to measure runners with other digests, as in lines that reproduce a result; `CONTROL..TREATMENT` names
    those of a comparison.
    """

    framework: str
    """Framework, where the specification names none."""

    program: AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]
    """Ready runner to start as `{program}`; `NAME=PATH` for further programs."""

    meta: Mapping[str, object]
    """Free values, reported with every result."""

    commit: str
    """Name of the given programs, instead of their digest."""

    commit_time: int
    """Unix seconds of that commit."""

    platform: str
    """Kind of device: `host` is this machine, `android` the phones that adb sees."""

    devices: str | Sequence[str]
    """Devices by identity or name, separated by commas, or `all`; one that is absent is an error."""

    excluded_devices: str | Sequence[str]
    """Devices never to use."""

    spread: bool
    """Measure each benchmark once, on whichever device is free, and not on every device."""

    lab: str
    """Measure on devices of the lab whose scheduler is there (`harness lab`), instead of on this machine's."""

    device_class: str | Sequence[str]
    """Classes of devices of the lab, of each of which any device measures each benchmark once."""

    lab_certificates: AnyPath
    """Folder of this machine's certificates for the lab."""

    platform_sig: str
    """Name to report for this machine."""

    cpus: str | Sequence[int]
    """CPUs for programs: `2,3`, `0-3`, or a kind (`prime`, `big`, `little`); `none` forbids pinning."""

    lock_timeout: float
    """Seconds to wait while another job holds the device."""

    return_timeout: float
    """Seconds to wait for a device that is away or not usable yet."""

    cool_timeout: float
    """Seconds to wait for a device that is too warm."""

    submodules: str | Sequence[str]
    """Submodules to check out for a build, by their paths, or `all` or `none` (default: those that the recipe
    needs).
    """

    same_host: bool
    """Do not build the next commit while measuring (default: on for host, off for phones)."""

    timeout: float
    """Seconds that a program may take, where the specification does not say."""

    cooldown: float
    """Seconds between benchmarks, where the specification does not say."""

    env: Mapping[str, str]
    """Variables for every program: `A=1 B=2`."""

    string_map: Mapping[str, Scalar]
    """Further placeholders as a JSON object: `{"size": 224}`."""

    monsoon_map: Mapping[str, str]
    """Serial numbers of the Monsoon power meters that feed devices, as a JSON object: `{"Pixel 6": 12345}`."""

    command_args: str
    """Text appended to each command that starts the program."""

    precision: float | Literal["none"]
    """Keep measuring until the 95 % interval is within this: 0.003 is ±0.3 %. Medians: add launches (default 0.02,
    within the time limit; `none` adds none). Comparisons: add pairs after the verdict (default: none).
    """

    operators: bool
    """Time each operator too, and show which of them changed. Costs up to 3 % of a latency of milliseconds, and may
    double one of a microsecond.
    """

    probe: str | Sequence[str]
    """Tools that observe the program in launches of their own, after the timed ones: `perf-stat`, `perf-record`,
    `simpleperf`, `perfetto`; with options as in `perf-record:frequency=999`.
    """

    backend: str
    """FAI-PEP's: append `--backend NAME` to each command that starts the program."""

    local_reporter: AnyPath
    """Folder of the results: one JSON file each, an index, raw logs."""

    simple_local_reporter: AnyPath
    """Folder for one line of JSON per benchmark, without history."""

    screen_reporter: bool
    """Show the table at the end."""

    simple_screen_reporter: bool
    """One line of JSON per result on standard output; everything else goes to standard error."""

    remote_reporter: str
    """`URL` or `URL|category` to post results to; the token comes from HARNESS_REMOTE_TOKEN."""

    database: str
    """Database to keep results in, too: a file (SQLite) or `postgresql://HOST/NAME`; a password comes from
    ~/.pgpass or PGPASSWORD.
    """

    reporters: Mapping[str, str]
    """Further reporters by name, `NAME` or `NAME=ARGUMENT`."""

    user: str
    """User who ran it; reported."""

    user_identifier: str
    """A number or word of your own; reported."""

    run_type: Literal["benchmark", "verify", "regress"]
    """FAI-PEP's kind of run; reported."""

    regressed_types: str | Sequence[str]
    """Metrics that an earlier run called regressed, by type (`NET`) or name: marked in the results. Also as JSON.
    """

    model_cache: AnyPath
    """Folder of downloaded and exported models."""

    cache_dir: AnyPath
    """Folder of everything that can be made again."""

    root_model_dir: AnyPath
    """Folder that `//` locations are relative to."""

    force_export: bool
    """Export again, even where the cache has the program."""

    verbose: bool
    """Show everything: each note in full, and the commands that are run."""

    debug: bool
    """Show what programs write, keep temporary folders, show tracebacks."""

    reboot: bool
    """Restart each phone before it is measured on."""

    override: str | Sequence[str]
    """Measure in spite of these, and mark the results as not trusted: `battery`, `temperature`, `thermal-status`;
    on iPhones `low-power`; on Android `fixed-performance` to leave that mode alone.
    """

    min_battery: float
    """Least charge in percent of a phone that runs on its battery."""

    min_battery_charging: float
    """Least charge in percent of a phone that is plugged in."""

    max_battery_temperature: float
    """Degrees Celsius below which its battery must be, where no skin sensor can be read."""

    android_dir: str
    """Folder on the phone under which ours is made; nothing beside it is touched."""

    adb_server: str
    """`HOST:PORT` of the adb server (default: that of adb itself)."""

    set_freq: str
    """Fix the clocks of a rooted phone: `max`, `mid`, `min`, or a frequency in kHz; restored afterwards."""

    wipe_cache: bool
    """Drop the page cache of a rooted phone before each launch; not the program's own flag of this name."""

    airplane: bool
    """Turn radios off while measuring; never on a phone that is reached through them."""

    screen: Literal["keep", "on", "off"]
    """State of the screen while measuring; `keep` switches it on where the phone is reached over the network, and
    would sleep.
    """

    max_skin: float
    """Degrees Celsius below which its skin must be (default: its own limit, else 38)."""

    ios_dir: str
    """Folder in an app's container in which files are kept; nothing beside it is touched."""

    ios_app: str
    """Runner app that is installed on the phone, where no .ipa is given (`--program`)."""

    ios_client: Literal["auto", "go-ios", "devicectl"]
    """Program that reaches the phones; `auto` takes go-ios where it is installed."""

    go_ios: str
    """Path of go-ios's program (default: `ios` or `go-ios` in PATH)."""

    usbmuxd: str
    """`HOST:PORT` or path of the socket of usbmuxd (default: the system's)."""

    ios_tunnel: str
    """`HOST:PORT` at which `ios tunnel start` tells about its tunnels (default: 127.0.0.1:60105)."""

    ios_sign: str
    """Command that signs an app again after models were put into it; `{app}` stands for the folder of the app."""

    runner: Literal["auto", "native", "python", "llm"]
    """Kind of runner; `auto` is native where a compiler is there, `llm` ExecuTorch's own for language models."""

    tflite_converter: AnyPath
    """Python interpreter of an environment with litert-torch; by default it is installed in the cache."""

    config_dir: AnyPath
    """Folder of the saved defaults."""


class RunKeywords(_Options, total=False):
    """Keyword arguments of `harness.run`: the options, and the commit to build, if any."""

    treatment: str
    """Commit or version to judge (default: the newest of `--branch`)."""

    source: str
    """Source of commits: `releases:PACKAGE`, `git:FOLDER` or `hg:FOLDER`."""

    repo_dir: str
    """Repository of the framework; it is never changed."""

    repo: Literal["git", "hg"]
    """Kind of that repository (default: git)."""

    remote_repository: str
    """Remote of that repository to fetch new commits from."""

    branch: str
    """Branch whose newest commit is the treatment, when none is named."""

    frameworks_dir: AnyPath | Sequence[AnyPath]
    """Folders with further recipes, `<framework>/<platform>/build.sh`."""

    exec_dir: AnyPath
    """Folder of the builds."""


class CompareKeywords(_Options, total=False):
    """Keyword arguments of `harness.compare`: the options, the two sides, and how to decide."""

    control: str
    """Commit or version to compare the treatment with (default: where its branch left the main branch)."""

    treatment: str
    """Commit or version to judge (default: the newest of `--branch`)."""

    control_program: AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]
    """Ready runner of the control; `NAME=PATH` for further programs."""

    treatment_program: AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]
    """Ready runner of the treatment."""

    source: str
    """Source of commits: `releases:PACKAGE`, `git:FOLDER` or `hg:FOLDER`."""

    repo_dir: str
    """Repository of the framework; it is never changed."""

    repo: Literal["git", "hg"]
    """Kind of that repository (default: git)."""

    remote_repository: str
    """Remote of that repository to fetch new commits from."""

    branch: str
    """Branch whose newest commit is the treatment, when none is named."""

    frameworks_dir: AnyPath | Sequence[AnyPath]
    """Folders with further recipes, `<framework>/<platform>/build.sh`."""

    exec_dir: AnyPath
    """Folder of the builds."""

    unequal_options: str | Sequence[str]
    """Build options that are meant to differ, such as `event_tracer`; `all` for every one."""

    layouts: int
    """Link the control in so many further layouts first, and note differences that are no larger than theirs."""

    self_check: bool
    """Compare the installed runner with itself: only `no change` is right, and `undecided` says that more pairs are
    needed.
    """

    metric: str | Sequence[str]
    """Metric to compare (default: `NET latency`; of a generation its decode rate and first token). Repeatable."""

    margin: float
    """Differences that `no change` rules out (default 0.01, i.e. 1 %); a smaller one that is proven is reported."""

    tail_margin: float
    """Equivalence margin of the 90th percentile (default 0.05, i.e. 5 %)."""

    output_tolerance: float
    """Difference between outputs that is rounding, relative to the largest output (default for float: 1e-4)."""

    alpha: float
    """Largest probability of a false regression, and of a false improvement (default 0.01)."""

    beta: float
    """Largest probability of calling a change that matters no change (default 0.05)."""

    fdr: float
    """Largest expected share of false ones among the reported regressions of many benchmarks (default 0.05)."""

    pairs: int
    """Budget of each benchmark in pairs of launches (default 100)."""

    seconds: float
    """Budget of each benchmark in seconds of device time (default: none)."""

    gate: bool
    """Test for a regression only: takes less time when there is none."""

    interleave: Literal["auto", "launch", "process", "duet"]
    """What alternates in a pair: launches, iterations (faster) or milliseconds (a duet, fastest); `auto` chooses.
    """

    seed: int
    """Random seed for the order of the launches in each pair; recorded (default: a random one)."""

    resume: bool
    """Continue an interrupted comparison."""
