"""Differences between control and treatment that are not code: options of their builds, and files that they ran.

A comparison of such builds is exact, but not one of the code alone. Differences that are intended are noted as that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from harness.core.build import COMPILED_WITH, RUNNER_KIND, BuildInfo
from harness.core.cached_files import find_unequal_versions
from harness.core.commit import short_id
from harness.core.note import Note
from harness.core.result import FileInfo

UNEQUAL_BUILD_OPTIONS: Final = "unequal_build_options"
"""Code of the note that the builds differ in options that neither commit nor user chose."""

ALL: Final = "all"
"""Stands for every name among the options that are meant to differ."""

_RECIPE: Final = "recipe_sha256"


def find_unequal_options(control: BuildInfo, treatment: BuildInfo) -> Mapping[str, tuple[str, str]]:
    """Return the options of which both values are known and unlike, by name: control's and treatment's."""
    shared = sorted(control.options.keys() & treatment.options.keys())
    values = {name: (control.options[name], treatment.options[name]) for name in shared}
    return {name: pair for name, pair in values.items() if pair[0] != pair[1]}


def option_notes(
    control: BuildInfo,
    treatment: BuildInfo,
    intended: Collection[str] = (),
    explain: Callable[[Collection[str]], str | None] | None = None,
) -> tuple[Note, ...]:
    """Return notes on the options and submodules in which two builds differ.

    Options that one recipe and one toolchain made of two commits of a repository differ because the commits do: that is
    what the comparison is about. So is another commit of a submodule. Anything else is not code, and speaks against the
    numbers unless it is intended; so does another kind of runner, with which a recipe replaces the usual one.

    Args:
        control: Build of the control.
        treatment: Build of the treatment.
        intended: Names of options that the user meant to differ; `all` stands for every one.
        explain: Returns for names of options how both sides can be had alike, where that is known.
    """
    unequal = find_unequal_options(control, treatment)
    meant = {name: pair for name, pair in unequal.items() if name in intended or ALL in intended}
    others = {name: pair for name, pair in unequal.items() if name not in meant}
    notes = []
    if meant:
        message = f"the builds differ as intended: {_describe(meant)}"
        notes.append(Note(code="intended_build_options", message=message))
    if others and RUNNER_KIND not in others and _is_of_commits(control, treatment):
        message = f"the commits themselves build with different options: {_describe(others)}"
        notes.append(Note(code="build_options_of_commits", message=message))
    elif others:
        message = f"not a comparison of code alone: the builds differ in {_describe(others)}"
        remedy = (explain(others) if explain is not None else None) or "build both sides alike"
        hint = f"{remedy}. If they are meant to differ: --unequal-options {','.join(others)}"
        notes.append(Note(code=UNEQUAL_BUILD_OPTIONS, message=message, hint=hint, trust=False))
    if moved := _moved(control.dependencies, treatment.dependencies):
        message = f"the commits use different submodules: {_describe(moved)}"
        notes.append(Note(code="unequal_submodules", message=message))
    return tuple(notes)


def file_notes(control: Mapping[str, FileInfo], treatment: Mapping[str, FileInfo]) -> tuple[Note, ...]:
    """Return a note on files of the same name that are other bytes on the two sides, with the versions that differ.

    Both sides get the same files; what a step on the host makes, with the programs of its side, can differ.
    """
    unlike = [key for key in sorted(control.keys() & treatment.keys()) if control[key].md5 != treatment[key].md5]
    if not unlike:
        return ()
    names = ", ".join(treatment[key].filename for key in unlike)
    versions: dict[str, tuple[str, str]] = {}
    for key in unlike:
        versions |= find_unequal_versions(control[key].export, treatment[key].export)
    exporters = f"; they were exported by {_describe(versions)}" if versions else ""
    message = f"the two sides ran different files: {names} is not the same bytes{exporters}"
    return (Note(code="unequal_files", message=message),)


def _is_of_commits(control: BuildInfo, treatment: BuildInfo) -> bool:
    """Return whether one recipe and one toolchain compiled both from commits of one repository."""
    made_by = [
        (build.source, build.flags.get(_RECIPE), build.flags.get(COMPILED_WITH)) for build in (control, treatment)
    ]
    return None not in made_by[0] and made_by[0] == made_by[1]


def _moved(control: Mapping[str, str], treatment: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the submodules that the two sides have at other commits, by the last part of their paths."""
    if not control or not treatment:
        return {}
    paths = sorted(control.keys() | treatment.keys())
    commits = {path: (control.get(path, "none"), treatment.get(path, "none")) for path in paths}
    return {
        path.rpartition("/")[2]: (short_id(before), short_id(after))
        for path, (before, after) in commits.items()
        if before != after
    }


def _describe(unequal: Mapping[str, tuple[str, str]]) -> str:
    """Describe as `event tracer off (control), on (treatment); ...`."""
    return "; ".join(
        f"{name.replace('_', ' ')} {control or 'none'} (control), {treatment or 'none'} (treatment)"
        for name, (control, treatment) in unequal.items()
    )
