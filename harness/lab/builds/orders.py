"""Values of builds that hosts of a lab make: what to build, and what came of it. They travel as JSON."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from harness.builders.recipes import Recipe
from harness.core.build import BuildInfo
from harness.core.commit import Commit
from harness.core.device import Device
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Platform, is_local
from harness.core.values import Value
from harness.files.digests import files_below
from harness.lab.jobs import LabFile, RelativePath, Versions, slug

OTHER: Final = "other"


class BuildOrder(Value):
    """Runner to build from the files of a commit, which the client sends with its recipe.

    Attributes:
        commit: The commit.
        name: Name that it was asked for by; empty where that was its id.
        framework: Framework of the runner.
        platform: Platform of the devices.
        abi: Machine architecture of the devices; empty where it is that of the host that builds.
        kind: Which hosts can build it (`build_resource`).
        recipe_digest: SHA-256 of the recipe.
        submodules: Paths of submodules of which the files have those that are chosen.
        dependencies: Commits of the submodules, by path.
        files: Archive of the files of the commit.
        recipe: Archive of the recipe.
        versions: Versions of the client.
    """

    commit: Commit
    name: str = ""
    framework: Annotated[str, Field(pattern=r"\A[A-Za-z0-9_.-]+\z")]
    platform: Annotated[str, Field(pattern=r"\A[A-Za-z0-9_.-]+\z")]
    abi: str = ""
    kind: str
    recipe_digest: str
    submodules: str
    dependencies: dict[str, str] = {}
    files: LabFile | None = None
    recipe: LabFile
    versions: Versions

    @property
    def key(self) -> str:
        """SHA-256 of what determines the build, wherever the client has the commit: one of a key is made in a lab."""
        parts = (self.commit.id, self.framework, self.platform, self.abi, self.kind)
        versions = self.versions.model_dump_json()
        return hashlib.sha256("\n".join((*parts, self.recipe_digest, self.submodules, versions)).encode()).hexdigest()


class BuildAnswer(Value):
    """What came of an order.

    Attributes:
        build: The build; None where there is none.
        programs: Its programs by placeholder, as paths within it.
        content: All its files by their paths within it, as the host keeps them.
        variables: Placeholders that it defines.
        missing: Digests of files that the host does not have.
        failure: Why the commit cannot be built.
        log: Log of that build, as the host keeps it; None where there is none.
        problem: Why this host cannot build it, which says nothing of the commit.
        hint: What to do.
        host: Name of the host.
        address: Address of the process that answers.
        toolchain: Toolchain of the host (`toolchain_resource`).
        seconds: How long it took; 0 where the host had it.
    """

    build: BuildInfo | None = None
    programs: dict[str, RelativePath] = {}
    content: dict[RelativePath, LabFile] = {}
    variables: dict[str, str] = {}
    missing: tuple[str, ...] = ()
    failure: str = ""
    log: LabFile | None = None
    problem: str = ""
    hint: str | None = None
    host: str = ""
    address: str = ""
    toolchain: str = ""
    seconds: float = 0.0


def build_resource(platform: Platform, device: Device) -> str:
    """Return what a host has that can build for a device: of hosts that are measured themselves, for its own kind."""
    if not is_local(platform):
        return f"build-{platform.name}"
    system = "macos" if device.os.startswith("macOS") else OTHER
    return f"build-{platform.name}-{system}-{slug(device.abi)}"


def toolchain_resource(resource: str, toolchain: str) -> str:
    """Return what hosts of one toolchain have that build: both sides of a comparison are built by the same."""
    return f"{resource}-by-{toolchain[:16]}" if toolchain else resource


def pack_folder(folder: Path, archive: Path) -> None:
    """Write the files of a folder into an archive: the same bytes for the same files, and without those of git.

    Raises:
        EnvironmentProblem: They cannot be read, or the archive not written.
    """

    def normalise(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if Path(member.name).name == ".git":
            return None
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        return member

    try:
        with tarfile.open(archive, "w") as packed:
            for path in sorted(folder.iterdir()):
                packed.add(path, path.name, filter=normalise)
    except OSError as error:
        raise EnvironmentProblem(f"{archive} cannot be written: {error.strerror or error}", hint="make room") from error


def pack_recipe(recipe: Recipe, archive: Path) -> None:
    """Write a recipe into an archive, with the files that it shares with others, as its folder of recipes has them."""
    depth = len(Path(recipe.name).parts)
    top = recipe.script.parents[depth]
    folders = [path for path in recipe.script.parents[1:depth] if path != top]
    files = [*files_below(recipe.script.parent), *sorted(top.glob("*.sh"))]
    files += [file for folder in folders for file in sorted(folder.iterdir()) if file.is_file()]
    with tarfile.open(archive, "w") as packed:
        for file in sorted(set(files)):
            member = packed.gettarinfo(file, file.relative_to(top).as_posix())
            member.uid = member.gid = member.mtime = 0
            member.uname = member.gname = ""
            with file.open("rb") as content:
                packed.addfile(member, content)


def unpack(archive: Path, folder: Path) -> None:
    """Write the files of an archive into a folder, with the present time, which build tools expect. None leads out.

    Raises:
        OSError: They cannot be written.
        tarfile.TarError: The archive is damaged, or a file leads out of the folder.
    """

    def accept(member: tarfile.TarInfo, place: str) -> tarfile.TarInfo:
        return tarfile.data_filter(member, place).replace(mtime=None, deep=False)  # type: ignore[arg-type]

    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter=accept)  # noqa: S202 - the filter refuses what leads out
