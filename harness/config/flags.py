"""The flags of a run, with the words that `harness --help` shows. FAI-PEP's names; underscores or dashes alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

WHAT = Group("What to measure", sort_key=1)
WHERE = Group("Where to measure", sort_key=2)
ANDROID = Group("On Android phones", sort_key=3)
HOW = Group("How to measure", sort_key=4)
REPORT = Group("Where results go", sort_key=5)
FILES = Group("Files and configuration", sort_key=6)
SIDES = Group("What to compare with what", sort_key=7)
DECIDE = Group("How to decide", sort_key=8)
WATCH = Group("How to watch", sort_key=9)

Paths = Annotated[tuple[Path, ...] | None, Parameter(consume_multiple=True, negative="")]
Words = Annotated[tuple[str, ...] | None, Parameter(consume_multiple=True, negative="")]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the command line says; None where it says nothing."""

    benchmark_file: Annotated[Paths, Parameter(name=["-b", "--benchmark-file"], group=WHAT)] = None
    """Specifications, or lists of them (JSON or YAML)."""

    only: Annotated[Words, Parameter(group=WHAT)] = None
    """Keep the benchmarks whose name (`model/identifier`) matches one of these patterns: `*q8*`, or `tag:nightly`,
    `model:mv2`, and any axis of the matrix: `backend:xnnpack_*`."""

    skip: Annotated[Words, Parameter(group=WHAT)] = None
    """Leave out the benchmarks whose name matches one of these patterns."""

    framework: Annotated[str | None, Parameter(group=WHAT)] = None
    """Framework, where the specification names none."""

    program: Annotated[
        Words, Parameter(name=["--program", "--pre-built-binary", "--custom-binary", "-c"], group=WHAT)
    ] = None
    """Ready runner to start as `{program}`; `NAME=PATH` for further programs."""

    info: Annotated[str | None, Parameter(group=WHAT)] = None
    """FAI-PEP's info JSON (a file or the text): programs, commit, `string_map` and `meta` of the treatment."""

    dry_run: Annotated[bool | None, Parameter(group=WHAT, negative="")] = None
    """Show the plan and stop."""

    platform: Annotated[str | None, Parameter(name=["-p", "--platform"], group=WHERE)] = None
    """Kind of device: `host` is this machine, `android` the phones that adb sees."""

    devices: Annotated[Words, Parameter(name=["-d", "--devices", "--device"], group=WHERE)] = None
    """Devices by identity or name, separated by commas, or `all`; one that is absent is an error."""

    excluded_devices: Annotated[Words, Parameter(group=WHERE)] = None
    """Devices never to use."""

    spread: Annotated[bool | None, Parameter(group=WHERE, negative="")] = None
    """Measure each benchmark once, on whichever device is free, and not on every device."""

    platform_sig: Annotated[str | None, Parameter(group=WHERE)] = None
    """Name to report for this machine."""

    cpus: Annotated[str | None, Parameter(group=WHERE)] = None
    """CPUs to choose from, for example `2,3` or `0-3`; `none` forbids pinning."""

    lock_timeout: Annotated[float | None, Parameter(group=WHERE)] = None
    """Seconds to wait while another job holds the device."""

    return_timeout: Annotated[float | None, Parameter(group=WHERE)] = None
    """Seconds to wait for a device that went away."""

    cool_timeout: Annotated[float | None, Parameter(group=WHERE)] = None
    """Seconds to wait for a device that is too warm."""

    android_dir: Annotated[str | None, Parameter(group=ANDROID)] = None
    """Folder on the phone under which ours is made; nothing beside it is touched."""

    adb_server: Annotated[str | None, Parameter(group=ANDROID)] = None
    """`HOST:PORT` of the adb server, where it is not adb's own default."""

    reboot: Annotated[bool | None, Parameter(group=ANDROID, negative="")] = None
    """Restart each phone before it is measured on."""

    set_freq: Annotated[str | None, Parameter(group=ANDROID)] = None
    """Fix the clocks of a rooted phone: `max`, `mid`, `min`, or a frequency in kHz; restored afterwards."""

    wipe_cache: Annotated[bool | None, Parameter(group=ANDROID, negative="")] = None
    """Drop the page cache of a rooted phone before each launch."""

    airplane: Annotated[bool | None, Parameter(group=ANDROID, negative="")] = None
    """Turn radios off while measuring; never on a phone that is reached through them."""

    screen: Annotated[Literal["keep", "on", "off"] | None, Parameter(group=ANDROID)] = None
    """What the screen does while measuring."""

    same_host: Annotated[bool | None, Parameter(group=HOW)] = None
    """Build no further commit while one is measured; the default where this machine is what is measured."""

    runner: Annotated[Literal["auto", "native", "python"] | None, Parameter(group=HOW)] = None
    """ExecuTorch runner: native where a compiler is there, else Python."""

    timeout: Annotated[float | None, Parameter(group=HOW)] = None
    """Seconds a program may take, where the specification does not say."""

    cooldown: Annotated[float | None, Parameter(group=HOW)] = None
    """Seconds between benchmarks, where the specification does not say."""

    env: Annotated[Words, Parameter(group=HOW)] = None
    """Variables for every program: `A=1 B=2`."""

    string_map: Annotated[str | None, Parameter(group=HOW)] = None
    """Further placeholders as a JSON object: `{"size": 224}`."""

    command_args: Annotated[str | None, Parameter(group=HOW, allow_leading_hyphen=True)] = None
    """Text appended to each command that starts the program."""

    operators: Annotated[bool | None, Parameter(group=HOW, negative="")] = None
    """Time each operator too, and say which of them changed. Costs up to 3 % of the latency."""

    backend: Annotated[str | None, Parameter(group=HOW)] = None
    """FAI-PEP's: appends `--backend NAME` to each command that starts the program."""

    local_reporter: Annotated[Path | None, Parameter(group=REPORT)] = None
    """Folder of the results: one JSON each, an index, raw logs."""

    simple_local_reporter: Annotated[Path | None, Parameter(group=REPORT)] = None
    """Folder for one line of JSON per benchmark, without history."""

    screen_reporter: Annotated[bool | None, Parameter(group=REPORT)] = None
    """Show the table at the end."""

    simple_screen_reporter: Annotated[bool | None, Parameter(group=REPORT, negative="")] = None
    """One line of JSON per result on standard output; everything else goes to standard error."""

    remote_reporter: Annotated[str | None, Parameter(group=REPORT)] = None
    """`URL` or `URL|category` to post results to; the token comes from HARNESS_REMOTE_TOKEN."""

    reporter: Annotated[Words, Parameter(group=REPORT)] = None
    """Further reporters by name, `NAME` or `NAME=ARGUMENT`."""

    user: Annotated[str | None, Parameter(name=["--user", "--user-string"], group=REPORT)] = None
    """Who ran it; reported."""

    user_identifier: Annotated[str | None, Parameter(group=REPORT)] = None
    """A number or word of your own; reported."""

    run_type: Annotated[Literal["benchmark", "verify", "regress"] | None, Parameter(group=REPORT)] = None
    """FAI-PEP's kind of run; reported."""

    regressed_types: Annotated[Words, Parameter(group=REPORT)] = None
    """Metrics that an earlier run called regressed, by type (`NET`) or name: marked in the results. Also as JSON."""

    model_cache: Annotated[Path | None, Parameter(group=FILES)] = None
    """Folder of downloaded and exported models."""

    cache_dir: Annotated[Path | None, Parameter(group=FILES)] = None
    """Folder of everything that can be made again."""

    root_model_dir: Annotated[Path | None, Parameter(group=FILES)] = None
    """What `//` locations are relative to."""

    force_export: Annotated[bool | None, Parameter(group=FILES, negative="")] = None
    """Export again what the cache has."""

    config_dir: Annotated[Path | None, Parameter(group=FILES)] = None
    """Folder of the saved defaults (see `harness init`)."""

    reset_options: Annotated[bool | None, Parameter(group=FILES, negative="")] = None
    """Forget the saved defaults."""

    debug: Annotated[bool | None, Parameter(group=FILES, negative="")] = None
    """Show what programs write, keep temporary folders, show tracebacks."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """What is compared with what, and how it is decided; None where the command line says nothing."""

    control: Annotated[str | None, Parameter(name=["--control", "--base-commit"], group=SIDES)] = None
    """Commit or version to hold the treatment against; the default is where its branch left the main branch."""

    treatment: Annotated[str | None, Parameter(name=["--treatment", "--commit"], group=SIDES)] = None
    """Commit or version to judge; the default is the newest of `--branch`."""

    control_program: Annotated[Words, Parameter(group=SIDES)] = None
    """Ready runner of the control; `NAME=PATH` for further programs."""

    treatment_program: Annotated[Words, Parameter(group=SIDES)] = None
    """Ready runner of the treatment."""

    source: Annotated[str | None, Parameter(group=SIDES)] = None
    """Where commits come from: `releases:PACKAGE`, `git:FOLDER` or `hg:FOLDER`."""

    repo_dir: Annotated[str | None, Parameter(group=SIDES)] = None
    """The framework's repository; it is never changed."""

    repo: Annotated[Literal["git", "hg"] | None, Parameter(group=SIDES)] = None
    """Kind of that repository."""

    remote_repository: Annotated[str | None, Parameter(group=SIDES)] = None
    """Its remote that is asked for new commits."""

    branch: Annotated[str | None, Parameter(group=SIDES)] = None
    """Branch whose newest commit is the treatment, when none is named."""

    frameworks_dir: Annotated[Paths, Parameter(group=SIDES)] = None
    """Folders with further recipes, `<framework>/<platform>/build.sh`."""

    exec_dir: Annotated[Path | None, Parameter(group=SIDES)] = None
    """Folder of the builds."""

    self_check: Annotated[bool | None, Parameter(group=SIDES, negative="")] = None
    """Compare the installed runner with itself: any verdict but `no change` speaks against this machine."""

    ab_testing: Annotated[bool | None, Parameter(group=SIDES, negative="")] = None
    """FAI-PEP's: compare `--base_commit` with `--commit`."""

    metric: Annotated[str | None, Parameter(group=DECIDE)] = None
    """What to compare; the default is `NET latency`."""

    margin: Annotated[float | None, Parameter(group=DECIDE)] = None
    """What `no change` rules out: 0.01 is 1 %. Any slow-down that the pairs prove is a regression, however small."""

    tail_margin: Annotated[float | None, Parameter(group=DECIDE)] = None
    """Relative change of p90 that still counts as no change."""

    alpha: Annotated[float | None, Parameter(group=DECIDE)] = None
    """Largest probability of a false regression, and of a false improvement."""

    beta: Annotated[float | None, Parameter(group=DECIDE)] = None
    """Largest probability of calling a change that matters no change."""

    fdr: Annotated[float | None, Parameter(group=DECIDE)] = None
    """Largest expected share of false ones among the reported regressions of many benchmarks."""

    pairs: Annotated[int | None, Parameter(group=DECIDE)] = None
    """Budget of each benchmark in pairs of launches."""

    seconds: Annotated[float | None, Parameter(group=DECIDE)] = None
    """Budget of each benchmark in seconds of device time."""

    precision: Annotated[float | None, Parameter(group=DECIDE)] = None
    """Go on until the difference is known to so much: 0.003 is 0.3 %."""

    gate: Annotated[bool | None, Parameter(group=DECIDE, negative="")] = None
    """Only ask whether it became slower: needs less time when it did not."""

    interleave: Annotated[Literal["launch", "process"] | None, Parameter(group=DECIDE)] = None
    """What takes turns in a pair: whole launches, or a few iterations of two programs that are both alive (faster)."""

    seed: Annotated[int | None, Parameter(group=DECIDE)] = None
    """Seed of the coin that orders each pair; recorded."""

    resume: Annotated[bool | None, Parameter(group=DECIDE, negative="")] = None
    """Go on where an interrupted comparison was."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """How a repository is watched; None where the command line says nothing."""

    interval: Annotated[float | None, Parameter(group=WATCH)] = None
    """Seconds between two looks for new commits; without it everything there is gets done, and that is the end."""

    since: Annotated[str | None, Parameter(group=WATCH)] = None
    """Commit after which the first start begins; the default measures the newest alone."""

    step: Annotated[int | None, Parameter(group=WATCH)] = None
    """Measure each so many-th commit, and always the newest."""

    merges: Annotated[bool | None, Parameter(group=WATCH)] = None
    """Measure merge commits too (the default), or pass them over."""

    regression: Annotated[bool | None, Parameter(group=WATCH)] = None
    """Look for changes in the series, verify them and find their commits (the default), or only measure."""

    platforms: Annotated[Words, Parameter(group=WATCH)] = None
    """Measure on several kinds of devices, for example `host android`."""

    state: Annotated[Path | None, Parameter(group=WATCH)] = None
    """File of what the watcher remembers; the default is `watch.db` beside the results."""

    commit_file: Annotated[Path | None, Parameter(group=WATCH)] = None
    """FAI-PEP's: file with the last commit that was measured; where a first start begins."""

    status_file: Annotated[Path | None, Parameter(group=WATCH)] = None
    """FAI-PEP's: write 0 into it, and the watcher stops after the launch that runs."""

    on_alarm: Annotated[str | None, Parameter(group=WATCH, allow_leading_hyphen=True)] = None
    """Command for each alarm: the document on its standard input and in $HARNESS_ALARM_FILE."""

    hook: Annotated[str | None, Parameter(group=WATCH)] = None
    """URL that each alarm is posted to; signed with HARNESS_HOOK_SECRET."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceOptions:
    """What the other commands need to know: where things are, and how specifications are read."""

    framework: Annotated[str | None, Parameter(group=WHAT)] = None
    """Framework, where the specification names none."""

    program: Annotated[Words, Parameter(group=WHAT)] = None
    """Names of programs that will be given: `NAME=PATH`."""

    string_map: Annotated[str | None, Parameter(group=WHAT)] = None
    """Further placeholders as a JSON object."""

    root_model_dir: Annotated[Path | None, Parameter(group=FILES)] = None
    """What `//` locations are relative to."""

    local_reporter: Annotated[Path | None, Parameter(group=FILES)] = None
    """Folder of the results."""

    remote_reporter: Annotated[str | None, Parameter(group=FILES)] = None
    """`URL` or `URL|category` that results are posted to."""

    model_cache: Annotated[Path | None, Parameter(group=FILES)] = None
    """Folder of downloaded and exported models."""

    cache_dir: Annotated[Path | None, Parameter(group=FILES)] = None
    """Folder of everything that can be made again."""

    adb_server: Annotated[str | None, Parameter(group=ANDROID)] = None
    """`HOST:PORT` of the adb server, where it is not adb's own default."""

    force_export: Annotated[bool | None, Parameter(group=FILES, negative="")] = None
    """Export again what the cache has."""

    config_dir: Annotated[Path | None, Parameter(group=FILES)] = None
    """Folder of the saved defaults (see `harness init`)."""

    debug: Annotated[bool | None, Parameter(group=FILES, negative="")] = None
    """Show tracebacks."""


FAI_PEP_ELSEWHERE = {
    "ios-dir": "iOS is not supported yet",
    "monsoon-map": "a power meter beside the device is not supported yet: a device measures its own energy",
    "hash-platform-mapping": "name this machine with --platform_sig",
    "device-name-mapping": "name this machine with --platform_sig",
    "shared-libs": "give them as further programs, which lie beside the runner: --program PATH libx.so=PATH",
    "lab": "the device lab is not supported yet",
    "remote": "the device lab is not supported yet",
    "server-addr": "the device lab is not supported yet",
    "logger-level": "progress goes to standard error: redirect it to silence it",
    "remote-access-token": "a token in arguments is seen by every user of the machine: set HARNESS_REMOTE_TOKEN",
}
"""Flags of FAI-PEP that mean nothing here (yet), and what to say: a flag is never accepted and then ignored."""
