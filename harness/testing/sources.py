"""The contract of sources of commits, as checks that the tests of any source can run.

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_source_keeps_the_contract(check: Check, tmp_path: Path) -> None:
        check(SourceCase(lambda cache_dir: MySource(place, cache_dir), commits=("1.0", "1.1", "1.2")), tmp_path)

A check passes silently or raises `ContractBroken`. Each opens the source anew with a cache folder of its own. Checks of
`BranchingSource` and `PackageSource` concern only sources that are one. Network failures, and what the names of one
kind of source look like, are that source's own to test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.core.commit import BranchingSource, Commit, PackageSource, Source
from harness.core.errors import BuildFailed, UsageError
from harness.files.digests import sha256_of_folder
from harness.testing.contract import ContractBroken, expect, process_unchanged


@dataclass(frozen=True, slots=True)
class SourceCase:
    """A source under test.

    Attributes:
        create: Opens it with a cache folder.
        commits: Names of at least three commits, each an ancestor of the next; the last is the newest, and the newest
            of the main branch where there are branches. No two of them have the same files.
        snapshot: Returns everything about the user's place that could be changed; compared before and after.
        branch: Name of a branch whose newest commit is the last one; None where there are no branches.
    """

    create: Callable[[Path], Source]
    commits: Sequence[str]
    snapshot: Callable[[], object] = lambda: None
    branch: str | None = None


Check = Callable[[SourceCase, Path], None]

NO_NAMES: Final = ("", "-rf", "--help", "--upload-pack=touch x", "a b", "a\nb", "no-such-commit", "1" * 40, "f" * 40)
"""Names that no source resolves: empty, options, with blanks, unknown."""


def names_and_ids_are_stable(case: SourceCase, folder: Path) -> None:
    """`name` is `kind:place`; every commit carries it; an id means the same commit, also to the next process."""
    source, again = case.create(folder / "cache"), case.create(folder / "cache")
    expect(":" in source.name, f"the name {source.name!r} is not `kind:place`")
    expect(source.name == again.name, "the same place has two names")
    for name in case.commits:
        commit = source.resolve(name)
        expect(commit.source == source.name, f"commit {commit.short} says that it comes from {commit.source!r}")
        expect(source.resolve(commit.id) == commit, f"the id of {name} does not lead back to it")
        expect(again.resolve(commit.id) == commit, f"the id of {name} means something else in another process")


def the_newest_has_a_name(case: SourceCase, folder: Path) -> None:
    """The name in `newest` can be resolved, and means the newest commit."""
    source = case.create(folder / "cache")
    expect(
        source.resolve(source.newest) == source.resolve(case.commits[-1]),
        f"`{source.newest}` is not the newest commit",
    )


def fetching_changes_no_commit(case: SourceCase, folder: Path) -> None:
    """`fetch` may be called before anything else, and again; commits stay what they are."""
    source = case.create(folder / "cache")
    source.fetch()
    before = [source.resolve(name) for name in case.commits]
    source.fetch()
    expect([source.resolve(name) for name in case.commits] == before, "a fetch changed commits")


def names_that_mean_nothing_are_refused(case: SourceCase, folder: Path) -> None:
    """`resolve` raises `UsageError` with a hint; no name is taken for an option."""
    source = case.create(folder / "cache")
    for name in NO_NAMES:
        try:
            commit = source.resolve(name)
        except UsageError as error:
            expect(bool(error.hint), f"there is no hint for the name {name!r}")
        else:
            raise ContractBroken(f"the name {name!r} was resolved to {commit.id}")


def commits_between_are_in_order(case: SourceCase, folder: Path) -> None:
    """`between` excludes the older commit, ends with the newer, and refuses the reverse."""
    source = case.create(folder / "cache")
    commits = [source.resolve(name) for name in case.commits]
    oldest, newest = commits[0], commits[-1]
    between = list(source.between(oldest, newest))
    expect(oldest not in between, "the older commit is among the commits between")
    expect(between[-1:] == [newest], "the newer commit is not the last of the commits between")
    expect(
        [commit for commit in between if commit in commits] == commits[1:], "commits between are not the oldest first"
    )
    expect(not source.between(newest, newest), "there are commits between a commit and itself")
    try:
        source.between(newest, oldest)
    except UsageError:
        return
    raise ContractBroken("there are commits between a newer commit and an older one")


def files_are_the_same_each_time(case: SourceCase, folder: Path) -> None:
    """`materialise` fills an empty folder with the files of the commit, which are always the same."""
    source, again = case.create(folder / "cache"), case.create(folder / "cache")
    digests = []
    for number, name in enumerate(case.commits):
        commit = source.resolve(name)
        first, second = folder / f"{number}-first", folder / f"{number}-second"
        source.materialise(commit, first)
        again.materialise(commit, second)
        digests.append(_digest(first))
        expect(digests[-1] == _digest(second), f"the files of {name} are not the same each time")
    expect(len(set(digests)) == len(digests), "two commits have the same files")


def a_folder_in_use_is_refused(case: SourceCase, folder: Path) -> None:
    """`materialise` raises `BuildFailed` where there are files already, and leaves them alone."""
    source = case.create(folder / "cache")
    tree = folder / "tree"
    tree.mkdir(parents=True)
    (tree / "mine").write_text("mine")
    try:
        source.materialise(source.resolve(case.commits[0]), tree)
    except BuildFailed:
        expect([file.name for file in tree.iterdir()] == ["mine"], "files that were there did not stay as they were")
        return
    raise ContractBroken("a folder that was not empty has been filled")


def nothing_half_made_is_left(case: SourceCase, folder: Path) -> None:
    """`materialise` of a commit that does not exist raises `BuildFailed` and leaves no folder."""
    source = case.create(folder / "cache")
    known = source.resolve(case.commits[0])
    gone = known.model_copy(update={"id": "1" * 40 if len(known.id) >= 40 else f"{known.id}.999"})
    try:
        source.materialise(gone, folder / "tree")
    except BuildFailed:
        expect(not (folder / "tree").exists(), "a folder is left of a commit that cannot be had")
        return
    raise ContractBroken(f"the commit {gone.id}, which does not exist, has been materialised")


def nothing_of_the_users_is_changed(case: SourceCase, folder: Path) -> None:
    """The user's place, the working folder, the environment and the threads stay as they are."""
    before = case.snapshot()
    with process_unchanged():
        source = case.create(folder / "cache")
        source.fetch()
        commits = [source.resolve(name) for name in case.commits]
        source.between(commits[0], commits[-1])
        source.materialise(commits[0], folder / "tree")
    expect(case.snapshot() == before, "something of the user's was changed")


def branches_have_a_common_ancestor(case: SourceCase, folder: Path) -> None:
    """`BranchingSource`: the main branch has a newest commit, and of two commits in line the older is the base."""
    source = case.create(folder / "cache")
    if not isinstance(source, BranchingSource):
        return
    oldest, newest = source.resolve(case.commits[0]), source.resolve(case.commits[-1])
    expect(source.main() == newest, "the newest commit of the main branch is another")
    for one, other in ((oldest, newest), (newest, oldest)):
        expect(source.merge_base(one, other) == oldest, "the older of two commits in line is not their merge base")
    if case.branch is not None:
        expect(_first_tip(source, case.branch) == newest, f"the newest commit of {case.branch} is another")


def packages_have_a_name(case: SourceCase, folder: Path) -> None:
    """`PackageSource`: the name of the package is the place."""
    source = case.create(folder / "cache")
    if isinstance(source, PackageSource):
        expect(source.name.partition(":")[2] == source.package, "the name of the source is not that of its package")


def _first_tip(source: BranchingSource, branch: str) -> Commit | None:
    for name in source.tips(branch):
        try:
            return source.resolve(name)
        except UsageError:
            continue
    return None


def _digest(tree: Path) -> str:
    """Digest of the files of a tree, without what a version control system keeps beside them."""
    for kept in (".git", ".hg"):
        beside = tree / kept
        if beside.exists():
            beside.rename(tree.with_name(f"{tree.name}{kept}"))
    return sha256_of_folder(tree)


CHECKS: Final[tuple[Check, ...]] = (
    names_and_ids_are_stable,
    the_newest_has_a_name,
    fetching_changes_no_commit,
    names_that_mean_nothing_are_refused,
    commits_between_are_in_order,
    files_are_the_same_each_time,
    a_folder_in_use_is_refused,
    nothing_half_made_is_left,
    nothing_of_the_users_is_changed,
    branches_have_a_common_ancestor,
    packages_have_a_name,
)
