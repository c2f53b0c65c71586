"""Submodules: reading what a commit pins, and checking it out from a mirror of each repository.

`git submodule` would clone each of them anew for each commit, and give up on the first pin that cannot be fetched,
without naming it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Final, NoReturn

from msgspec import Struct, field

from harness.builders.sources.git_mirror import Mirror
from harness.builders.sources.git_program import GitFailed, git, without_credentials
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.core.submodules import ALL_SUBMODULES, SubmoduleSelection
from harness.shell.threads import wait_for_all

_GITLINK: Final = "160000"
_DEEPEST: Final = 10
"""Limit of nested submodules; more is a cycle."""
_PARALLEL: Final = 8
"""Submodules that are fetched at the same time. Each waits for a server most of the time."""


class Submodule(Struct, frozen=True):
    """Submodule of a commit.

    Attributes:
        path: Within the repository that has it.
        name: Its name in `.gitmodules`.
        url: Its URL in `.gitmodules`.
        pin: Hash of its commit.
    """

    path: PurePosixPath
    name: str
    url: str
    pin: str


class WorkingTree(Struct, frozen=True):
    """Working tree whose submodules are checked out.

    Attributes:
        folder: Its top folder.
        path: Its path within the outermost tree.
        url: Base of relative URLs of its submodules.
        modules: Folders where the user's clone keeps the repositories of its submodules.
        configured: URLs by name of the submodules for which the user's clone has one, such as that of a mirror.
        transport: What the user's clone configures about reaching servers.
    """

    folder: Path
    path: PurePosixPath
    url: str
    modules: tuple[Path, ...]
    configured: Mapping[str, str] = field(default_factory=dict)
    transport: Sequence[tuple[str, str]] = ()

    @property
    def is_local(self) -> bool:
        """True if it came from this host; only then may its submodules come from here (CVE-2022-39253)."""
        return self.url.startswith("file://") or ":" not in self.url.partition("/")[0]


def check_out_submodules(tree: WorkingTree, cache_dir: Path, selection: SubmoduleSelection = ALL_SUBMODULES) -> None:
    """Check out the submodules of a tree, then theirs, as far as they are needed; several at the same time.

    Args:
        tree: The working tree.
        cache_dir: The harness's cache, in which their mirrors are.
        selection: Which are needed.

    Raises:
        BuildFailed: One cannot be fetched; the message names its path, its pin and its URL.
        EnvironmentProblem: Likewise, because of network or disk.
    """
    trees = [tree]
    for _ in range(_DEEPEST):
        needed = [(submodule, outer) for outer in trees for submodule in _submodules(outer, selection)]
        if not needed:
            return
        trees = _check_out_all(needed, cache_dir)
    raise BuildFailed(f"submodules are nested more than {_DEEPEST} deep at {trees[0].path}")


def _check_out_all(needed: Sequence[tuple[Submodule, WorkingTree]], cache_dir: Path) -> list[WorkingTree]:
    """Check out submodules of several trees; if some fail, raise the error of the first, which names the others."""
    with ThreadPoolExecutor(min(_PARALLEL, len(needed)), thread_name_prefix="submodule") as pool:
        workers = [pool.submit(_check_out, submodule, outer, cache_dir) for submodule, outer in needed]
        wait_for_all(workers)
    failed = [
        (outer.path / submodule.path, error)
        for (submodule, outer), worker in zip(needed, workers, strict=True)
        if (error := worker.exception()) is not None
    ]
    if failed:
        _raise_first(failed)
    for submodule, outer in needed:
        # As `git submodule init` does: for a build that asks, the submodule is initialised.
        url = without_credentials(absolute_url(submodule.url, outer.url))
        git("config", f"submodule.{submodule.name}.url", url, at=outer.folder / ".git")
    return [worker.result() for worker in workers]


def _raise_first(failed: Sequence[tuple[PurePosixPath, BaseException]]) -> NoReturn:
    """Raise the first error that is not about a submodule, such as an interruption, else the first."""
    foreign = [error for _, error in failed if not isinstance(error, EnvironmentProblem)]
    if foreign:
        raise foreign[0]
    (_, first), *others = failed
    if others and isinstance(first, EnvironmentProblem):
        paths = ", ".join(str(path) for path, _ in others)
        raise type(first)(f"{first.message}; likewise {paths}", hint=first.hint) from first
    raise first


def absolute_url(url: str, base: str) -> str:
    """Return the URL of a submodule, which may be relative to that of its repository (gitmodules(5))."""
    if not url.startswith(("./", "../")):
        return url
    base = base.rstrip("/")
    separator = "/"
    while url.startswith(("./", "../")):
        if url.startswith("../"):
            separator = "/" if "/" in base else ":"
            base = base.rpartition(separator)[0]
        url = url.partition("/")[2]
    return f"{base}{separator}{url}".rstrip("/")


def _submodules(tree: WorkingTree, selection: SubmoduleSelection) -> Iterator[Submodule]:
    at = tree.folder / ".git"
    staged = git("ls-files", "--stage", "-z", at=at).stdout.split("\0")
    links = [line for line in staged if line.startswith(_GITLINK)]
    if not links:
        return
    modules = _read_gitmodules(at)
    for link in links:
        facts, _, path = link.partition("\t")
        pin = facts.split()[1]
        if not selection.needs(tree.path / path):
            continue
        if path not in modules:
            raise BuildFailed(
                f"submodule {tree.path / path} is pinned to {pin}, but `.gitmodules` does not say where it is"
            )
        name, url = modules[path]
        yield Submodule(PurePosixPath(path), name, url, pin)


def _read_gitmodules(at: Path) -> Mapping[str, tuple[str, str]]:
    """Return name and URL of each submodule by path, as git itself reads the committed `.gitmodules`."""
    pattern = r"^submodule\..*\.(path|url)$"
    try:
        listed = git("config", "--null", "--blob=HEAD:.gitmodules", "--get-regexp", pattern, at=at).stdout
    except GitFailed:
        return {}
    settings = dict(setting.split("\n", 1) for setting in listed.split("\0") if "\n" in setting)
    names = {key.removesuffix(".path"): path for key, path in settings.items() if key.endswith(".path")}
    return {
        path: (section.removeprefix("submodule."), settings[f"{section}.url"])
        for section, path in names.items()
        if f"{section}.url" in settings
    }


def _check_out(submodule: Submodule, tree: WorkingTree, cache_dir: Path) -> WorkingTree:
    path, folder = tree.path / submodule.path, tree.folder / submodule.path
    # A link in place of a folder would lead the checkout out of the tree (CVE-2024-32002); so would a name with `..`
    # lead out of the modules folder (CVE-2018-11235).
    if folder.resolve() != tree.folder.resolve() / submodule.path or ".." in PurePosixPath(submodule.name).parts:
        raise BuildFailed(f"submodule {path} leads out of its repository")
    url = absolute_url(submodule.url, tree.url)
    if url.startswith("-"):
        raise BuildFailed(f"submodule {path} has an option for a URL: {url}")
    modules = tuple(place / submodule.name for place in tree.modules)
    mirror = Mirror(cache_dir, f"submodule {url}", tree.transport)
    try:
        if not mirror.has_pin(submodule.pin):
            local = [(str(place), True) for place in modules if place.is_dir()]  # without network
            configured = tree.configured.get(submodule.name, url)
            mirrors = [] if configured == url or configured.startswith("-") else [(configured, tree.is_local)]
            mirror.fetch_pin(submodule.pin, [*local, *mirrors, (url, tree.is_local)])
        folder.mkdir(exist_ok=True)
        mirror.check_out(submodule.pin, folder)
    except GitFailed as error:
        raise _unavailable(submodule, path, without_credentials(url), error) from error
    return WorkingTree(folder, path, url, tuple(place / "modules" for place in modules), transport=tree.transport)


def _unavailable(submodule: Submodule, path: PurePosixPath, url: str, error: GitFailed) -> EnvironmentProblem:
    """Return the error of a submodule that cannot be had, with what a person can do about it."""
    message = f"submodule {path}, pinned to {submodule.pin}, cannot be had from {url}: {error.message}"
    mirror = f"if another repository has it: git config --global url.OTHER.insteadOf {url}"
    if "transport 'file' not allowed" in error.message:
        return BuildFailed(
            message, hint="permit local paths for submodules: git config --global protocol.file.allow always"
        )
    choice = f"if the build does not need {path}: name the submodules that it needs with --submodules, or in a file"
    choice = f"{choice} `submodules.txt` beside the recipe"
    if error.may_pass:
        return EnvironmentProblem(message, hint=f"check network and disk, and try again; {choice}; {mirror}")
    return BuildFailed(message, hint=f"{choice}; {mirror}")
