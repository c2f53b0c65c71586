"""Plug-ins by entry point: ours are found the same way as a third party's, and imported only when they are used."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib.metadata import EntryPoint
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from harness.config.options import OptionTable
from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.placeholders import suggest
from harness.files.distributions import find_entry_points
from harness.files.installation import find_impostor

if TYPE_CHECKING:  # `harness --help` imports this module, and needs none of them
    from harness.core.alarm_protocols import AlarmChannel, AlarmChannelFactory, AlarmReporter
    from harness.core.commit import Source, SourceFactory
    from harness.core.probe import ProbeRequest
    from harness.core.protocols import ForeignFormat, Framework, Platform, Probe, Reporter
    from harness.data.provider import DataProvider

_ASKED_REPORTERS: Final = "edge_harness.reporters"
_NAMED_REPORTERS: Final = "edge_harness.named_reporters"
_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "platform": ("edge_harness.platforms",),
    "framework": ("edge_harness.frameworks",),
    "reporter": (_ASKED_REPORTERS, _NAMED_REPORTERS),
    "source": ("edge_harness.sources",),
    "data provider": ("edge_harness.data",),
    "model definition": ("edge_harness.definitions",),
    "alarm reporter": ("edge_harness.alarm_reporters",),
    "alarm channel": ("edge_harness.alarm_channels",),
    "format": ("edge_harness.foreign_formats",),
    "probe": ("edge_harness.probes",),
}
_OPTIONS = "edge_harness.options"
KINDS: Final = tuple(_GROUPS)
"""Every kind of plug-in. The harness itself brings some of each, so that none of a kind is a broken installation."""

REINSTALL: Final = "reinstall the package edge-harness: its plug-ins are read from the installed metadata"
_NONE: Final = f"none ({REINSTALL})"


def installed_names(kind: str) -> tuple[str, ...]:
    """Return the names of the installed plug-ins of one of the `KINDS`."""
    return tuple(sorted({entry.name for entry in _entries(kind)}))


def names_of_framework(framework: str, kind: str) -> tuple[str, ...]:
    """Return the names of what is installed for one framework, such as its export `recipes`."""
    return tuple(sorted({entry.name for entry in find_entry_points(f"edge_harness.{framework}.{kind}")}))


def load_options(report: Callable[[str], None], reserved: Collection[str] = ()) -> OptionTable:
    """Return the options of the harness and of every installed plug-in.

    Imports the modules that declare them, and no plug-in.

    Args:
        report: Is given a sentence about each plug-in whose options cannot be used; the others can.
        reserved: Flags that are no options (`harness.config.flags.reserved_flags`).
    """
    table = _make_table((Settings,), frozenset(reserved))
    for entry in sorted(set(find_entry_points(_OPTIONS)), key=lambda entry: (entry.name, entry.value)):
        try:
            owner = cast("type", _load("options of", entry))
            table = _make_table((*table.owners, owner), frozenset(reserved))
        except EnvironmentProblem as error:
            report(f"{error.message}: its flags, keys and variables are unknown")
        except Exception as error:  # noqa: BLE001 - code of somebody else's: it must not stop commands that need none
            reason = f"{type(error).__name__}: {error}"
            report(
                f"the options of `{entry.name}` ({entry.value}) cannot be used: {reason}: "
                "its flags, keys and variables are unknown"
            )
    return table


@functools.lru_cache(maxsize=64)
def _make_table(owners: tuple[type, ...], reserved: frozenset[str]) -> OptionTable:
    """Make a table once, from that without its last class: every result asks for it."""
    if len(owners) == 1:
        return OptionTable(*owners, reserved=reserved)
    return _make_table(owners[:-1], reserved).with_options_of(owners[-1])


def framework(name: str, settings: Settings) -> Framework:
    """Return the framework of a name.

    Raises:
        UsageError: It is not installed.
        EnvironmentProblem: It is installed and cannot be imported.
    """
    return cast("Framework", _create("framework", name, settings))


def platform(name: str, settings: Settings) -> Platform:
    """Return the platform of a name; FAI-PEP's `linux` and `mac` mean this host.

    Raises:
        UsageError: It is not installed.
        EnvironmentProblem: It is installed and cannot be imported.
    """
    return cast("Platform", _create("platform", platform_name(name), settings))


def reject_unknown_platform(name: str) -> None:
    """Reject the name of a platform that is not installed.

    Raises:
        UsageError: It is none.
    """
    if platform_name(name) not in installed_names("platform"):
        raise _unknown("platform", name)


def reporters(settings: Settings) -> tuple[Reporter, ...]:
    """Return every reporter that the settings ask for.

    Those that only `--reporter` asks for are not even imported where it does not name them. Each other one is asked:
    its factory returns None when it is not wanted.

    Raises:
        UsageError: `--reporter` names one that is not installed.
        EnvironmentProblem: None is installed, or one is wanted and cannot be made.
    """
    asked = {entry.name for entry in find_entry_points(_ASKED_REPORTERS)}
    if not asked:
        raise EnvironmentProblem("no reporter is installed, and results would be lost", hint=REINSTALL)
    known = installed_names("reporter")
    for wanted in settings.reporters:
        if wanted not in known:
            raise _unknown("reporter", wanted)
    asked |= set(settings.reporters)
    made = (cast("Reporter | None", _create("reporter", name, settings)) for name in sorted(asked))
    return tuple(reporter for reporter in made if reporter is not None)


def named_reporters(settings: Settings) -> tuple[Reporter, ...]:
    """Return the reporters that `--reporter` names, and no other.

    Raises:
        UsageError: One is not installed, or other flags ask for it.
        EnvironmentProblem: One cannot be made.
    """
    made = {name: cast("Reporter | None", _create("reporter", name, settings)) for name in settings.reporters}
    for name, reporter in made.items():
        if reporter is None:
            raise UsageError(
                f"--reporter {name} asks for nothing here", hint="name one that shows results, as html=FILE"
            )
    return tuple(reporter for reporter in made.values() if reporter is not None)


def source(kind: str, place: str, *, remote: str | None, cache_dir: Path) -> Source:
    """Open a source of commits.

    Args:
        kind: Name of the plug-in: `git`, `hg`, `releases`.
        place: What it opens, such as the folder of a repository.
        remote: The remote that it asks for new commits; None for the usual one.
        cache_dir: The harness's cache.

    Raises:
        UsageError: There is no such plug-in, or nothing of its kind at the place.
        EnvironmentProblem: The plug-in cannot be imported, or misses a program.
    """
    return cast("SourceFactory", _factory("source", kind))(place, remote=remote, cache_dir=cache_dir)


def data_provider(name: str, settings: Settings) -> DataProvider:
    """Return the provider of examples of a name.

    Raises:
        UsageError: It is not installed.
        EnvironmentProblem: It is installed and cannot be imported.
    """
    return cast("DataProvider", _create("data provider", name, settings))


def alarm_reporters(settings: Settings) -> tuple[AlarmReporter, ...]:
    """Return every reporter of alarms that is installed and wanted; a factory returns None where it is not.

    Raises:
        EnvironmentProblem: None is installed, or one is wanted and cannot be made.
    """
    known = installed_names("alarm reporter")
    if not known:
        raise EnvironmentProblem("no reporter of alarms is installed, and alarms would reach nobody", hint=REINSTALL)
    made = (cast("AlarmReporter | None", _create("alarm reporter", name, settings)) for name in known)
    return tuple(reporter for reporter in made if reporter is not None)


def alarm_channel(form: str, target: str, environment: Mapping[str, str], *, is_named: bool) -> AlarmChannel | None:
    """Open a channel for messages about alarms.

    Args:
        form: Name of the plug-in: `slack`, `mail`, ...
        target: What it opens, such as the URL of a web hook.
        environment: Variables, which contain passwords and tokens.
        is_named: Whether the user named the form.

    Returns:
        The channel; None where no form was named and the target is not certainly of this one.

    Raises:
        UsageError: There is no such plug-in, or the target is wrong.
        EnvironmentProblem: The plug-in cannot be imported.
    """
    return cast("AlarmChannelFactory", _factory("alarm channel", form))(target, environment, is_named=is_named)


def foreign_format(name: str) -> ForeignFormat:
    """Return the format of files of other tools that has a name.

    Raises:
        UsageError: It is not installed.
        EnvironmentProblem: It is installed and cannot be imported.
    """
    return cast("Callable[[], ForeignFormat]", _factory("format", name))()


def probe(request: ProbeRequest) -> Probe:
    """Return the probe that a request names.

    Raises:
        UsageError: It is not installed, or does not know the types or options of the request.
        EnvironmentProblem: It is installed and cannot be imported.
    """
    return cast("Callable[[ProbeRequest], Probe]", _factory("probe", request.name))(request)


def platform_name(name: str) -> str:
    """Return the platform that a name means, which may begin with it: FAI-PEP's `android-30` is `android`.

    What follows a slash names a recipe (`recipe_variant`).
    """
    name = name.partition("/")[0]
    known = installed_names("platform")
    if name in known:
        return name
    if name.startswith(("linux", "mac", "host")) and "host" in known:
        return "host"
    return next((platform for platform in known if name.startswith(platform)), name)


def recipe_variant(name: str) -> str:
    """Return the recipe that the name of a platform asks for: `incremental` in FAI-PEP's `host/incremental`."""
    return name.partition("/")[2].strip("/")


def _create(kind: str, name: str, settings: Settings) -> object:
    return cast("Callable[[Settings], object]", _factory(kind, name))(settings)


def _factory(kind: str, name: str) -> object:
    entry = next((entry for entry in _entries(kind) if entry.name == name), None)
    if entry is None:
        raise _unknown(kind, name)
    return _load(kind, entry)


def _entries(kind: str) -> Iterable[EntryPoint]:
    return chain.from_iterable(map(find_entry_points, _GROUPS[kind]))


def _load(kind: str, entry: EntryPoint) -> object:
    try:
        loaded: object = entry.load()
    except (ImportError, AttributeError) as error:
        if (impostor := find_impostor(entry.module)) is not None:
            raise EnvironmentProblem(
                f"{impostor} hides a package of the harness, which has the same name",
                hint="give it another name, or start Python in another folder",
            ) from error
        raise EnvironmentProblem(
            f"the {kind} `{entry.name}` ({entry.value}) cannot be loaded: {error}",
            hint="`harness doctor` tells what is missing",
        ) from error
    return loaded


def _unknown(kind: str, name: str) -> UsageError:
    known = installed_names(kind)
    return UsageError(f"no {kind} `{name}`", hint=suggest(name, known) or f"installed: {', '.join(known) or _NONE}")
