"""Submodules: reading what a commit pins, and checking it out from a mirror of each repository.

`git submodule` would clone each of them anew for each commit, and give up on the first pin that cannot be fetched,
without naming it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from harness.builders.sources.git_mirror import Mirror
from harness.builders.sources.git_program import GitFailed, git, without_credentials
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.core.submodules import ALL_SUBMODULES, SubmoduleSelection

_GITLINK: Final = "160000"
_DEEPEST: Final = 10
"""Limit of nested submodules; more is a cycle."""


@dataclass(frozen=True, slots=True)
class Submodule:
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


@dataclass(frozen=True, slots=True)
class WorkingTree:
    """Working tree whose submodules are checked out.

    Attributes:
        folder: Its top folder.
        path: Its path within the outermost tree.
        url: Base of relative URLs of its submodules.
        modules: Folder where the user's clone keeps the repositories of its submodules.
    """

    folder: Path
    path: PurePosixPath
    url: str
    modules: Path

    @property
    def is_local(self) -> bool:
        """True if it came from this host; only then may its submodules come from here (CVE-2022-39253)."""
        return self.url.startswith("file://") or ":" not in self.url.partition("/")[0]


def check_out_submodules(
    tree: WorkingTree, cache_dir: Path, selection: SubmoduleSelection = ALL_SUBMODULES, depth: int = 0
) -> None:
    """Check out the submodules of a tree, and theirs, as far as they are needed.

    Args:
        tree: The working tree.
        cache_dir: The harness's cache, in which their mirrors are.
        selection: Which are needed.
        depth: Number of trees around this one.

    Raises:
        BuildFailed: One cannot be fetched; the message names its path and its pin.
        EnvironmentProblem: Likewise, because of network or disk.
    """
    if depth > _DEEPEST:
        raise BuildFailed(f"submodules are nested more than {_DEEPEST} deep at {tree.path}")
    for submodule in _submodules(tree, selection):
        inner = _check_out(submodule, tree.path / submodule.path, tree, cache_dir)
        check_out_submodules(inner, cache_dir, selection, depth + 1)


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


def _check_out(submodule: Submodule, path: PurePosixPath, tree: WorkingTree, cache_dir: Path) -> WorkingTree:
    folder = tree.folder / submodule.path
    # A link in place of a folder would lead the checkout out of the tree (CVE-2024-32002); so would a name with `..`
    # lead out of the modules folder (CVE-2018-11235).
    if folder.resolve() != tree.folder.resolve() / submodule.path or ".." in PurePosixPath(submodule.name).parts:
        raise BuildFailed(f"submodule {path} leads out of its repository")
    url = absolute_url(submodule.url, tree.url)
    if url.startswith("-"):
        raise BuildFailed(f"submodule {path} has an option for a URL: {url}")
    modules = tree.modules / submodule.name
    mirror = Mirror(cache_dir, f"submodule {url}")
    try:
        if not mirror.has_pin(submodule.pin):
            _fetch(mirror, submodule.pin, url, modules, trusted=tree.is_local)
        folder.mkdir(exist_ok=True)
        mirror.check_out(submodule.pin, folder)
        # As `git submodule init` does: for a build that asks, the submodule is initialised.
        git("config", f"submodule.{submodule.name}.url", without_credentials(url), at=tree.folder / ".git")
    except GitFailed as error:
        origin = without_credentials(url)
        message = f"submodule {path}, pinned to {submodule.pin}, cannot be had from {origin}: {error.message}"
        if error.may_pass:
            raise EnvironmentProblem(message, hint="check network and disk, and try again") from error
        raise BuildFailed(
            message,
            hint="if nobody has this commit any more, choose another commit of the repository",
        ) from error
    return WorkingTree(folder, path, url, modules / "modules")


def _fetch(mirror: Mirror, pin: str, url: str, modules: Path, *, trusted: bool) -> None:
    """Fetch one commit, from the user's own clone of the submodule if it has it, which needs no network."""
    refspec = [f"{pin}:refs/pins/{pin}"]
    if modules.is_dir():
        try:
            mirror.fetch(str(modules), refspec)
        except GitFailed:
            pass
        else:
            return
    try:
        mirror.fetch(url, refspec, depth=1, trusted=trusted)
    except GitFailed as error:
        # Old servers give only commits of a branch or a tag.
        if "unadvertised" not in error.message:
            raise
        mirror.fetch(url, ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"], trusted=trusted)
        mirror.pin(pin)
