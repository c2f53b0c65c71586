"""Source of the released versions of a Python package. The environment of the harness is never changed."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from packaging.version import InvalidVersion, Version
from pydantic import BaseModel, ValidationError

from harness.builders.sources.commit_names import parse_name
from harness.builders.sources.folders import fill_folder
from harness.core.commit import Commit
from harness.core.errors import EnvironmentProblem, UsageError
from harness.files.digests import sha256_of_file
from harness.files.drafts import open_scratch_folder
from harness.shell import pip

CHECKSUM: Final = "wheel.sha256"
"""File beside the unpacked wheel: its SHA-256 and name, as `sha256sum` writes them."""

_ASK_S: Final = 300.0
_PACKAGE: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
"""Names of distributions (https://packaging.python.org/en/latest/specifications/name-normalization/)."""


_NO_JSON: Final = "no such option: --json"
"""What pip says before version 25.1; environments of Python 3.11 are made with older ones."""

_AVAILABLE: Final = re.compile(r"^Available versions: *(.+)$", re.MULTILINE)
"""Line of the output of `pip index versions` without `--json`."""


class _Listing(BaseModel):
    """Output of `pip index versions --json`, as far as it is used."""

    versions: list[str]


def create(place: str, *, remote: str | None, cache_dir: Path) -> ReleasesSource:  # noqa: ARG001 - pip has a cache
    """Open the releases of a package: the entry point of the source `releases`."""
    if remote is not None:
        raise UsageError("releases have no remote", hint="the settings of pip say which index is asked")
    return ReleasesSource(place)


class ReleasesSource:
    """Source of the versions that the package index has for this interpreter. The index is that of pip's settings.

    Args:
        package: Name of the distribution.

    Raises:
        UsageError: It cannot be the name of a distribution.
    """

    def __init__(self, package: str) -> None:
        if not _PACKAGE.fullmatch(package):
            raise UsageError(f"{package!r} is not the name of a Python package", hint="for example `executorch`")
        self.package = package
        self.name = f"releases:{package}"
        self.newest = "latest"
        self._known: dict[bool, tuple[Version, ...]] = {}

    def fetch(self) -> None:
        """Ask the index for the versions.

        Raises:
            EnvironmentProblem: It cannot be reached; versions known before stay known.
            UsageError: It has no such package.
        """
        self._known = {False: self._ask(previews=False)}

    def resolve(self, name: str) -> Commit:
        """Return the release of a version, or the `latest`. Pre-releases must be named in full.

        Raises:
            UsageError: There is none for this interpreter; the hint lists some.
            EnvironmentProblem: The index cannot be reached.
        """
        if name == "latest":
            return self._commit(self._versions()[-1])
        try:
            wanted = Version(str(parse_name(name)))
        except InvalidVersion as error:
            raise UsageError(f"{name} is not a version", hint=self._some(self._versions())) from error
        versions = self._versions(previews=wanted.is_prerelease)
        # As the index writes it: 1.4 and 1.4.0 are one version.
        release = next((version for version in versions if version == wanted), None)
        if release is None:
            raise UsageError(
                f"there is no {self.package} {wanted} for this interpreter ({platform.python_version()})",
                hint=self._some(versions),
            )
        return self._commit(release)

    def between(self, older: Commit, newer: Commit) -> Sequence[Commit]:
        """Return the releases after `older` up to and with `newer`, in order; none when they are the same.

        Raises:
            UsageError: `older` is not before `newer`.
        """
        first, last = Version(older.id), Version(newer.id)
        if first > last:
            raise UsageError(f"{self.package} {first} is not before {last}", hint="exchange them")
        way = {version for version in self._versions() if first < version < last}
        return tuple(self._commit(version) for version in sorted(way | ({last} - {first})))

    def materialise(self, commit: Commit, folder: Path) -> None:
        """Unpack the wheel of a release into an empty folder, as it would lie in `site-packages`.

        A file `wheel.sha256` identifies the wheel.

        Raises:
            BuildFailed: There is no wheel for this interpreter, or it is damaged; the folder is removed.
            EnvironmentProblem: Network or disk is the reason; the folder is removed as well.
        """
        self._materialise(commit, folder, None)

    def materialise_for(self, commit: Commit, folder: Path, machine: str) -> None:
        """Unpack the wheel for Linux on another processor, as `materialise` does."""
        self._materialise(commit, folder, machine)

    def _materialise(self, commit: Commit, folder: Path, machine: str | None) -> None:
        with fill_folder(folder), open_scratch_folder() as temporary:
            wheel = pip.download_wheel(self.package, commit.id, temporary, machine=machine)
            pip.unpack_wheel(wheel, folder)
            (folder / CHECKSUM).write_text(f"{sha256_of_file(wheel)}  {wheel.name}\n", encoding="utf-8")

    def _versions(self, *, previews: bool = False) -> tuple[Version, ...]:
        if previews not in self._known:
            self._known[previews] = self._ask(previews=previews)
        return self._known[previews]

    def _ask(self, *, previews: bool) -> tuple[Version, ...]:
        words = ("index", "versions", *["--pre"] * previews, self.package)
        completed = pip.run(*words, "--json", timeout_s=_ASK_S)
        if not completed.ok and _NO_JSON in completed.stderr:
            completed = pip.run(*words, timeout_s=_ASK_S)
        if completed.ok:
            return _sort_versions(completed.stdout)
        if pip.is_unreachable(completed):
            raise EnvironmentProblem(
                f"the package index cannot be asked for {self.package}: {pip.describe_failure(completed)}",
                hint="check the network; `pip config list` and PIP_INDEX_URL say which index is asked",
            )
        raise UsageError(
            f"no versions of {self.package} can be found: {pip.describe_failure(completed)}",
            hint="check the name of the package",
        )

    def _commit(self, version: Version) -> Commit:
        return Commit(source=self.name, id=str(version), subject=f"{self.package} {version}")

    def _some(self, versions: Sequence[Version]) -> str:
        return f"there are {', '.join(map(str, versions[-8:]))}"


def _sort_versions(listing: str) -> tuple[Version, ...]:
    """Return the versions of a listing of pip, as JSON or as older versions of pip write it."""
    try:
        line = _AVAILABLE.search(listing)
        texts = line[1].split(",") if line is not None else _Listing.model_validate_json(listing).versions
        versions = tuple(sorted(Version(text.strip()) for text in texts))
    except (ValidationError, InvalidVersion) as error:
        raise EnvironmentProblem(
            "the output of pip is not a list of versions", hint="update pip (25.1 or later)"
        ) from error
    if not versions:
        raise UsageError("there are only pre-releases", hint="name one in full")
    return versions
