"""Reproduce lines: the command that measures the cell of a result once more, from the settings of its run.

It is made where results are reported, from what the run was asked for, and stored with the result: nothing that was
forgotten can be found out afterwards.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from harness import plugins
from harness.config.options import DeclaredOption
from harness.config.settings import FILES, REPORT, Settings
from harness.core import DEFAULT_PLATFORM
from harness.core.build import NO_PROGRAM
from harness.core.protocols import Platform, device_options
from harness.core.reproduction import Reproduction
from harness.core.result import Result
from harness.core.scalars import format_scalar
from harness.core.values import mask_secrets
from harness.flows.measure.runners import CommitRunner, Programs, Side, installed_runner

_MD5: Final = re.compile(r"[0-9a-f]{32}")

RUN: Final = ("harness", "run")
"""Command of a plain run."""

_MEASURING_FILES: Final = frozenset({"root_model_dir"})
"""Options below `FILES` that change what is measured."""

_NOT_MEASURING: Final = frozenset(
    {
        *("benchmark_file", "only", "skip", "benchmark_digest", "build_digest", "file_digest", "dry_run"),
        *("platform", "devices", "excluded_devices", "spread", "same_host"),
        *("lock_timeout", "return_timeout", "cool_timeout"),
    }
)
"""Options that a line names otherwise, or that do not change a number."""


def reproduce_run(
    result: Result, settings: Settings, side: Side, platform: Platform, command: Sequence[str] = RUN
) -> Reproduction | None:
    """Return the command that measures a result once more.

    Args:
        result: The result.
        settings: The settings of its run.
        side: Source of its runner.
        platform: Its platform.
        command: First words of the command, with flags that are no settings.

    Returns:
        None where nothing names the runner, or no file is the specification, which was a dictionary.
    """
    if result.benchmark.is_of_dictionary:
        return None
    if result.build is not None and result.build.source == NO_PROGRAM:
        settings = dataclasses.replace(settings, program={})
    if isinstance(side, CommitRunner):
        runner = ["--source", side.source.name, "--treatment", side.commit.id, *recipe_words(side.recipes)]
    elif side is installed_runner and settings.commit is None:
        runner = []
    elif side is installed_runner:
        given = Programs(settings.program, settings.commit, settings.commit_time)
        settings, runner = dataclasses.replace(settings, program={}), info_words(settings, given)
    else:
        return None
    return make_reproduction((*command, *shared_words(settings, platform), *runner), result)


def shared_words(settings: Settings, platform: Platform) -> tuple[str, ...]:
    """Return the words of a command for everything that it measures: specifications, platform, changed options."""
    files = [word for file in settings.benchmark_file for word in ("-b", str(file.absolute()))]
    name = [] if settings.platform == DEFAULT_PLATFORM else ["-p", settings.platform]
    return (*files, *name, *option_words(settings, device_options(platform)))


def info_words(settings: Settings, treatment: Programs, control: Programs | None = None) -> list[str]:
    """Return the words that give programs under names of commits: FAI-PEP's info JSON, which no other flag can replace.

    Args:
        settings: The settings, with the free values of an info JSON: they may be keys of a model.
        treatment: Programs that were measured.
        control: Programs that they were compared with, if any.
    """
    info = {
        "treatment": _describe_side(treatment),
        **({"control": _describe_side(control)} if control is not None else {}),
        **({"meta": dict(settings.meta)} if settings.meta else {}),
    }
    return ["--info", json.dumps(info)]


def _describe_side(side: Programs) -> dict[str, object]:
    """Return a side as in an info JSON, without values that look like secrets."""
    variables = {name: value for name, value in side.variables.items() if _is_public(name, value)}
    return {
        "programs": {name: {"location": str(path.absolute())} for name, path in side.programs.items()},
        **({"commit": side.commit} if side.commit is not None else {}),
        **({"commit_time": side.commit_time} if side.commit_time is not None else {}),
        **({"string_map": variables} if variables else {}),
    }


def recipe_words(folders: Sequence[Path]) -> tuple[str, ...]:
    """Return the flag that names folders of further recipes."""
    return ("--frameworks-dir", *(str(folder.absolute()) for folder in folders)) if folders else ()


def option_words(settings: Settings, heeded: Collection[str]) -> tuple[str, ...]:
    """Return the flags of all options, also of plug-ins, that change what is measured and are not at their defaults.

    Values that look like secrets are left out: a line is printed and stored.

    Args:
        settings: The settings.
        heeded: Names of the options about devices that the platform carries out.
    """
    options = plugins.load_options(lambda _: None).options  # the command line has reported what cannot be loaded
    return tuple(word for option in options for word in _words(option, settings, heeded))


def make_reproduction(command: Sequence[str], result: Result) -> Reproduction:
    """Return the command for the benchmark, the runners and the device of a result."""
    builds = (result.comparison.control if result.comparison is not None else None, result.build)
    given = (file.md5 for file in result.files.values() if file.export is None)
    return Reproduction(
        command=tuple(command),
        benchmark=result.benchmark.title,
        benchmark_digest=result.benchmark.digest,
        build_digests=tuple(build.digest for build in builds if build is not None and build.digest),
        device=result.device.identity if result.device is not None else None,
        file_digests=tuple(dict.fromkeys(filter(_MD5.fullmatch, given))),
    )


def _words(option: DeclaredOption, settings: Settings, heeded: Collection[str]) -> Iterator[str]:
    if not option.flags or option.name in _NOT_MEASURING or option.heading == REPORT:
        return
    if option.heading == FILES and option.name not in _MEASURING_FILES:
        return
    if option.option.of_device and option.name not in heeded:
        return  # a saved default for other platforms, which this one ignored
    owner = settings if option.owner is Settings else settings.of(option.owner)
    value = getattr(owner, option.name)
    if value == option.default or value in ({}, None):
        return
    if isinstance(value, bool):
        yield option.flag if value else option.negative_flags[0]
        return
    words = _format(option, value)
    if not option.takes_words:
        for word in words:
            yield from (f"{option.flag}={word}",) if word.startswith("-") else (option.flag, word)
    elif words:
        yield option.flag
        yield from words


def _format(option: DeclaredOption, value: object) -> list[str]:
    """Return the words of a value, as its parser takes them."""
    if isinstance(value, dict) and option.takes_words:
        texts = {name: str(item.absolute()) if isinstance(item, Path) else str(item) for name, item in value.items()}
        return [f"{name}={text}" for name, text in texts.items() if _is_public(name, text)]
    if isinstance(value, dict):
        return [json.dumps({name: item for name, item in value.items() if _is_public(name, item)})]
    if isinstance(value, tuple):
        words = [_format_word(item) for item in value]
        return words if option.takes_words else [",".join(words) or "none"]
    return [_format_word(value)]


def _is_public(name: str, value: object) -> bool:
    """Return whether a variable does not look like a secret: a line is printed and stored."""
    return mask_secrets({name: str(value)})[name] == str(value)


def _format_word(value: object) -> str:
    if isinstance(value, Path):
        return str(value.absolute())
    if value == math.inf:  # of all options only the precision may be: any suffices
        return "none"
    return format_scalar(value) if isinstance(value, (str, bool, int, float)) else str(value)
