"""Packages of apps with other files in them: unpacked, changed, signed again, and packed."""

from __future__ import annotations

import hashlib
import shutil
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness.core.errors import EnvironmentProblem
from platforms.ios.apps.packages import PackageInfo, list_members, open_package
from platforms.ios.apps.signing import sign_app

DATA: Final = "aatp/data"
"""Folder of the app in which ExecuTorch's tests look for models, beside `Resources`, which Xcode fills."""
_PLACES: Final = ("Resources", DATA)
_MODEL: Final = ".pte"
_CHUNK_BYTES: Final = 1 << 20
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


class BundledFiles(Struct, frozen=True):
    """Files that tests find in the bundle of their app, and no other models.

    Attributes:
        tests: Bundle of tests, for example `Tests.xctest`.
        files: Files of this machine by name in the bundle.
    """

    tests: str
    files: Mapping[str, Path]

    def digest(self, package: PackageInfo) -> str:
        """Return a SHA-256 over a package and the files, which says whether they are installed already."""
        digest = hashlib.sha256()
        for name, path in (("", package.path), *sorted(self.files.items())):
            with path.open("rb") as content:
                part = f"{name}\0{hashlib.file_digest(content, 'sha256').hexdigest()}\0"
            digest.update(part.encode())
        return digest.hexdigest()


def put_files(package: PackageInfo, bundled: BundledFiles, sign: str | None, folder: Path) -> Path:
    """Return a package with these files in it, and without other models, which would be measured, too.

    A package that has just these files already is returned as it is: its signature stays valid.

    Args:
        package: The package, which is not changed.
        bundled: What is put into it.
        sign: Command that signs the app again, with `{app}` for its folder; None without one.
        folder: An empty folder for the new package.

    Raises:
        BenchmarkFailed: The package is damaged.
        EnvironmentProblem: There is no command to sign it, or it fails; or this machine has no room.
    """
    with open_package(package.path) as archive:
        members = list_members(archive, package.path)
        if _has_files(archive, members, package, bundled):
            return package.path
        if sign is None:
            raise EnvironmentProblem(
                f"{', '.join(sorted(bundled.files))} must be put into {package.path.name}, and iOS refuses an app that "
                "was changed after it was signed",
                hint="give the command that signs it again: --ios-sign 'codesign ... {app}'; or build the app with the "
                "model in its Resources",
            )
        with _writing(folder):
            app = _unpack(archive, members, package, folder)
            _remove_models(app, bundled)
            for name, path in bundled.files.items():
                target = app / DATA / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    sign_app(app, sign)
    with _writing(folder):
        return _pack(app, folder / package.path.name)


def _places(bundled: BundledFiles) -> tuple[str, ...]:
    """Return the folders of an app in which its tests look for files: in the app, and in their own bundle."""
    return tuple(f"{bundle}{place}" for bundle in ("", f"PlugIns/{bundled.tests}/") for place in _PLACES)


def _has_files(
    archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], package: PackageInfo, bundled: BundledFiles
) -> bool:
    """Return whether a package has these files, and no other models."""
    places = {f"{package.folder}/{place}" for place in _places(bundled)}
    names = set()
    for path, member in members.items():
        place, _, name = path.rpartition("/")
        if place not in places or not (name in bundled.files or name.endswith(_MODEL)):
            continue
        if name not in bundled.files or not _is_same(archive, member, bundled.files[name]):
            return False
        names.add(name)
    return names == bundled.files.keys()


def _is_same(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> bool:
    if member.file_size != path.stat().st_size:
        return False
    with archive.open(member) as packed, path.open("rb") as content:
        while chunk := content.read(_CHUNK_BYTES):
            if packed.read(len(chunk)) != chunk:
                return False
    return True


def _unpack(
    archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], package: PackageInfo, folder: Path
) -> Path:
    """Unpack the app alone, whose names `list_members` has checked; what else a package holds, iOS does not need."""
    for name, member in members.items():
        if not name.startswith(f"{package.folder}/"):
            continue
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as packed, target.open("xb") as content:
            shutil.copyfileobj(packed, content, _CHUNK_BYTES)
        if (member.external_attr >> 16) & stat.S_IXUSR or name == f"{package.folder}/{package.executable}":
            target.chmod(0o755)
    return folder / package.folder


def _remove_models(app: Path, bundled: BundledFiles) -> None:
    for place in _places(bundled):
        for path in (app / place).glob(f"*{_MODEL}"):
            path.unlink()


def _pack(app: Path, target: Path) -> Path:
    """Write a package of what is in a folder now, the new signature included."""
    with zipfile.ZipFile(target, "x", zipfile.ZIP_STORED, strict_timestamps=False) as archive:
        for path in sorted(app.rglob("*")):
            if not path.is_file() or path.is_symlink():  # no app for iPhones needs links
                continue
            entry = zipfile.ZipInfo(f"Payload/{app.name}/{path.relative_to(app).as_posix()}", _EPOCH)
            entry.create_system = 3  # Unix, whose modes these are
            entry.external_attr = path.stat().st_mode << 16
            entry.file_size = path.stat().st_size
            with path.open("rb") as content, archive.open(entry, "w") as packed:
                shutil.copyfileobj(content, packed, _CHUNK_BYTES)
    return target


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Say in words that this machine cannot write.

    Raises:
        EnvironmentProblem: It cannot.
    """
    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write a package in {folder}: {error.strerror}", hint="make room there"
        ) from error
