"""The settings of a run: declared once, and made once from defaults, saved defaults, environment, files and flags."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import platformdirs
from annotated_types import Interval

from harness.config import parsing
from harness.config.options import Option
from harness.core import DEFAULT_PLATFORM
from harness.core.scalars import Scalar

if TYPE_CHECKING:
    from pydantic import JsonValue
else:
    JsonValue = object  # `harness --help` reads the annotations, and takes a third longer with pydantic

APP = "edge-harness"

WHAT: Final = "What to measure"
WHERE: Final = "Where to measure"
LAB: Final = "In a lab"
HOW: Final = "How to measure"
REPORT: Final = "Where results go"
FILES: Final = "Files and configuration"

OptionsT = TypeVar("OptionsT")

Limit = Annotated[float, Interval(gt=0, lt=math.inf)]
"""Seconds, more than none."""
Pause = Annotated[float, Interval(ge=0, lt=math.inf)]
"""Seconds, perhaps none."""


def default_cache() -> Path:
    """Return the folder of downloads, exports and runners: everything there can be deleted and comes back."""
    return Path(platformdirs.user_cache_dir(APP))


def default_results() -> Path:
    """Return the folder of results unless `--local-reporter` names another."""
    return Path(platformdirs.user_data_dir(APP)) / "results"


def default_config_dir() -> Path:
    """Return the folder where `harness init` saves answers."""
    return Path(platformdirs.user_config_dir(APP))


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a run. Fields are called like FAI-PEP's flags where it has them.

    Every field but the last three declares an option of the command line, saved defaults, the environment and files.
    """

    benchmark_file: Annotated[
        tuple[Path, ...],
        Option(
            "Specifications, or lists of them (JSON or YAML).",
            WHAT,
            flags=("-b", "--benchmark-file"),
            parse=parsing.parse_files,
            saved=False,
            in_specifications=False,
            value="SPEC",
        ),
    ] = ()
    only: Annotated[
        tuple[str, ...],
        Option(
            "Keep the benchmarks whose name, with or without `model/`, matches one of these patterns: `*q8*`, "
            "or `tag:nightly`, `model:mv2`, and any axis of the matrix: `backend:xnnpack_*`.",
            WHAT,
            value="PATTERN",
        ),
    ] = ()
    skip: Annotated[
        tuple[str, ...],
        Option("Leave out the benchmarks whose name matches one of these patterns.", WHAT, value="PATTERN"),
    ] = ()
    benchmark_digest: Annotated[
        tuple[str, ...],
        Option(
            "Keep the benchmarks with these digests, as lines that reproduce results do; refused where the "
            "specification has changed.",
            WHAT,
            parse=parsing.split_words,
            saved=False,
            in_specifications=False,
            value="DIGEST",
        ),
    ] = ()
    file_digest: Annotated[
        tuple[str, ...],
        Option(
            "Refuse files with other MD5s where the specification promises none, as in lines that reproduce a result.",
            WHAT,
            parse=parsing.split_words,
            saved=False,
            in_specifications=False,
            value="DIGEST",
        ),
    ] = ()
    build_digest: Annotated[
        tuple[str, ...],
        Option(
            "Refuse to measure runners with other digests, as in lines that reproduce a result; "
            "`CONTROL..TREATMENT` names those of a comparison.",
            WHAT,
            parse=parsing.split_words,
            saved=False,
            in_specifications=False,
            value="DIGEST",
        ),
    ] = ()
    framework: Annotated[
        str | None, Option("Framework, where the specification names none.", WHAT, inspecting=True, value="NAME")
    ] = None
    program: Annotated[
        dict[str, Path],
        Option(
            "Ready runner to start as `{program}`; `NAME=PATH` for further programs.",
            WHAT,
            flags=("--program", "--pre-built-binary", "--custom-binary", "-c"),
            parse=parsing.parse_programs,
            words=True,
            inspecting=True,
            in_specifications=False,
            value="PROGRAM",
        ),
    ] = field(default_factory=dict)
    later: Annotated[
        tuple[str, ...],
        Option("Placeholders that each side of a comparison defines for itself.", flags=(), saved=False),
    ] = ()
    meta: Annotated[
        dict[str, JsonValue],
        Option("Free values, reported with every result.", flags=(), parse=parsing.parse_meta, saved=False),
    ] = field(default_factory=dict)
    commit: Annotated[
        str | None, Option("Name of the given programs, instead of their digest.", flags=(), saved=False)
    ] = None
    commit_time: Annotated[int | None, Option("Unix seconds of that commit.", flags=(), saved=False)] = None
    dry_run: Annotated[bool, Option("Show the plan and stop.", WHAT, saved=False, in_specifications=False)] = False

    platform: Annotated[
        str,
        Option(
            "Kind of device: `host` is this machine, `android` the phones that adb sees.",
            WHERE,
            flags=("-p", "--platform"),
            value="NAME",
        ),
    ] = DEFAULT_PLATFORM
    devices: Annotated[
        tuple[str, ...],
        Option(
            "Devices by identity or name, separated by commas, or `all`; one that is absent is an error.",
            WHERE,
            flags=("-d", "--devices", "--device"),
            parse=parsing.parse_devices,
            saved=False,
            value="DEVICE",
        ),
    ] = ()
    excluded_devices: Annotated[
        tuple[str, ...], Option("Devices never to use.", WHERE, parse=parsing.split_words, value="DEVICE")
    ] = ()
    spread: Annotated[
        bool, Option("Measure each benchmark once, on whichever device is free, and not on every device.", WHERE)
    ] = False
    lab: Annotated[
        str | None,
        Option(
            "Measure on devices of the lab whose scheduler is there (`harness lab`), instead of on this machine's.",
            LAB,
            in_specifications=False,
            value="ADDRESS",
        ),
    ] = None
    device_class: Annotated[
        tuple[str, ...],
        Option(
            "Classes of devices of the lab, of each of which any device measures each benchmark once.",
            LAB,
            parse=parsing.split_words,
            in_specifications=False,
            value="CLASS",
        ),
    ] = ()
    lab_certificates: Annotated[
        Path | None,
        Option(
            "Folder of this machine's certificates for the lab.",
            LAB,
            in_specifications=False,
            value="FOLDER",
        ),
    ] = None
    platform_sig: Annotated[
        str | None, Option("Name to report for this machine.", WHERE, of_device=True, value="NAME")
    ] = None
    cpus: Annotated[
        tuple[int, ...] | parsing.CpuKind | None,
        Option(
            "CPUs for programs: `2,3`, `0-3`, or a kind (`prime`, `big`, `little`); `none` forbids pinning.",
            WHERE,
            parse=parsing.parse_cpus,
            words=False,
            value="CPUS",
        ),
    ] = None
    lock_timeout: Annotated[
        Pause, Option("Seconds to wait while another job holds the device.", WHERE, value="SECONDS")
    ] = 600.0
    return_timeout: Annotated[
        Pause, Option("Seconds to wait for a device that is away or not usable yet.", WHERE, value="SECONDS")
    ] = 300.0
    cool_timeout: Annotated[Pause, Option("Seconds to wait for a device that is too warm.", WHERE, value="SECONDS")] = (
        900.0
    )

    submodules: Annotated[
        tuple[str, ...] | None,
        Option(
            "Submodules to check out for a build, by their paths, or `all` or `none` (default: those that the recipe "
            "needs).",
            HOW,
            value="PATH",
        ),
    ] = None
    same_host: Annotated[
        bool | None,
        Option("Do not build the next commit while measuring (default: on for host, off for phones).", HOW),
    ] = None
    timeout: Annotated[
        Limit | None,
        Option("Seconds that a program may take, where the specification does not say.", HOW, value="SECONDS"),
    ] = None
    cooldown: Annotated[
        Pause | None, Option("Seconds between benchmarks, where the specification does not say.", HOW, value="SECONDS")
    ] = None
    env: Annotated[
        dict[str, str],
        Option(
            "Variables for every program: `A=1 B=2`.", HOW, parse=parsing.parse_pairs, words=True, value="NAME=VALUE"
        ),
    ] = field(default_factory=dict)
    string_map: Annotated[
        dict[str, Scalar],
        Option(
            'Further placeholders as a JSON object: `{"size": 224}`.',
            HOW,
            parse=parsing.parse_string_map,
            words=False,
            inspecting=True,
            value="JSON",
        ),
    ] = field(default_factory=dict)
    monsoon_map: Annotated[
        dict[str, str],
        Option(
            'Serial numbers of the Monsoon power meters that feed devices, as a JSON object: `{"Pixel 6": 12345}`.',
            HOW,
            parse=parsing.parse_monsoon_map,
            words=False,
            in_specifications=False,
            value="JSON",
        ),
    ] = field(default_factory=dict)
    command_args: Annotated[
        str, Option("Text appended to each command that starts the program.", HOW, leading_hyphen=True, value="TEXT")
    ] = ""
    precision: Annotated[
        float | None,
        Option(
            "Keep measuring until the 95 % interval is within this: 0.003 is ±0.3 %. Medians: add launches (default "
            "0.02, within the time limit; `none` adds none). Comparisons: add pairs after the verdict (default: none).",
            HOW,
            parse=parsing.parse_precision,
            value="FRACTION",
        ),
    ] = None
    operators: Annotated[
        bool,
        Option(
            "Time each operator too, and show which of them changed. Costs up to 3 % of a latency of milliseconds, and "
            "may double one of a microsecond.",
            HOW,
        ),
    ] = False
    probe: Annotated[
        tuple[str, ...],
        Option(
            "Tools that observe the program in launches of their own, after the timed ones: `perf-stat`, "
            "`perf-record`, `simpleperf`, `perfetto`; with options as in `perf-record:frequency=999`.",
            HOW,
            words=True,
            value="NAME",
        ),
    ] = ()
    backend: Annotated[
        str | None,
        Option(
            "FAI-PEP's: append `--backend NAME` to each command that starts the program.",
            HOW,
            parse=parsing.parse_optional_text,
            value="NAME",
        ),
    ] = None

    local_reporter: Annotated[
        Path,
        Option(
            "Folder of the results: one JSON file each, an index, raw logs.",
            REPORT,
            inspecting=True,
            in_specifications=False,
            value="FOLDER",
        ),
    ] = field(default_factory=default_results)
    simple_local_reporter: Annotated[
        Path | None,
        Option(
            "Folder for one line of JSON per benchmark, without history.",
            REPORT,
            in_specifications=False,
            value="FOLDER",
        ),
    ] = None
    screen_reporter: Annotated[bool, Option("Show the table at the end.", REPORT)] = True
    simple_screen_reporter: Annotated[
        bool,
        Option("One line of JSON per result on standard output; everything else goes to standard error.", REPORT),
    ] = False
    remote_reporter: Annotated[
        str | None,
        Option(
            "`URL` or `URL|category` to post results to; the token comes from HARNESS_REMOTE_TOKEN.",
            REPORT,
            inspecting=True,
            in_specifications=False,
            value="URL",
        ),
    ] = None
    database: Annotated[
        str | None,
        Option(
            "Database to keep results in, too: a file (SQLite) or `postgresql://HOST/NAME`; a password comes from "
            "~/.pgpass or PGPASSWORD.",
            REPORT,
            parse=parsing.parse_database,
            inspecting=True,
            in_specifications=False,
            value="URL|FILE",
        ),
    ] = None
    reporters: Annotated[
        dict[str, str],
        Option(
            "Further reporters by name, `NAME` or `NAME=ARGUMENT`.",
            REPORT,
            flags=("--reporter",),
            parse=parsing.parse_reporters,
            words=True,
            in_specifications=False,
            value="NAME",
        ),
    ] = field(default_factory=dict)
    user: Annotated[
        str | None, Option("User who ran it; reported.", REPORT, flags=("--user", "--user-string"), value="NAME")
    ] = None
    user_identifier: Annotated[str | None, Option("A number or word of your own; reported.", REPORT, value="TEXT")] = (
        None
    )
    run_type: Annotated[
        str,
        Option("FAI-PEP's kind of run; reported.", REPORT, choices=("benchmark", "verify", "regress"), value="KIND"),
    ] = "benchmark"
    regressed_types: Annotated[
        tuple[str, ...],
        Option(
            "Metrics that an earlier run called regressed, by type (`NET`) or name: marked in the results. Also as "
            "JSON.",
            REPORT,
            parse=parsing.parse_metric_names,
            saved=False,
            value="METRIC",
        ),
    ] = ()

    model_cache: Annotated[
        Path,
        Option(
            "Folder of downloaded and exported models.", FILES, inspecting=True, in_specifications=False, value="FOLDER"
        ),
    ] = field(default_factory=lambda: default_cache() / "models")
    cache_dir: Annotated[
        Path,
        Option(
            "Folder of everything that can be made again.",
            FILES,
            inspecting=True,
            in_specifications=False,
            value="FOLDER",
        ),
    ] = field(default_factory=default_cache)
    root_model_dir: Annotated[
        Path | None, Option("Folder that `//` locations are relative to.", FILES, inspecting=True, value="FOLDER")
    ] = None
    force_export: Annotated[
        bool, Option("Export again, even where the cache has the program.", FILES, inspecting=True)
    ] = False
    quiet: Annotated[
        bool,
        Option(
            "Show results and errors only.",
            FILES,
            flags=("--quiet", "-q"),
            inspecting=True,
            in_specifications=False,
        ),
    ] = False
    verbose: Annotated[
        bool,
        Option(
            "Show everything: each note in full, and the commands that are run.",
            FILES,
            flags=("--verbose", "-v"),
            inspecting=True,
            in_specifications=False,
        ),
    ] = False
    debug: Annotated[
        bool,
        Option("Show what programs write, keep temporary folders, show tracebacks.", FILES, inspecting=True),
    ] = False

    plug_ins: tuple[object, ...] = ()
    """Options of plug-ins, at most one object of each class. Plug-ins read them with `of`."""

    requested: frozenset[str] = frozenset()
    """Names of the options that flags or the specification set: the others are defaults, saved ones and variables."""

    places: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Where options are set that stand in a file of the project (`harness.toml:2`) or a variable, by name."""

    def of(self, options: type[OptionsT]) -> OptionsT:
        """Return the options that a plug-in declared, with their defaults where nobody has set them."""
        return next((given for given in self.plug_ins if isinstance(given, options)), None) or options()
