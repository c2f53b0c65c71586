from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import plugins
from harness.builders.sources.hg import HgSource
from harness.core.commit import BranchingSource, Commit
from harness.core.errors import BuildFailed, EnvironmentProblem, UsageError
from tests.builders.sources.repositories import FIRST_SECOND, HgRepository, require

pytestmark = pytest.mark.slow  # Mercurial starts slowly


@pytest.fixture
def user(tmp_path: Path) -> HgRepository:
    require("hg")
    return HgRepository(tmp_path / "user")


@pytest.fixture
def hg_source(user: HgRepository, cache: Path) -> HgSource:
    return HgSource(user.path, cache_dir=cache)


def test_resolved_changeset_has_subject_author_and_time(user: HgRepository, hg_source: HgSource) -> None:
    node = user.commit('Größer, "schöner"\n\nand why')
    assert hg_source.resolve(".") == Commit(
        source=f"hg:{user.path}", id=node, time=FIRST_SECOND + 60, author="Ada", subject='Größer, "schöner"'
    )


def test_changesets_resolve_by_every_kind_of_name(user: HgRepository, hg_source: HgSource) -> None:
    first_node, second_node = user.commit("one"), user.commit("two")
    user.hg("bookmark", "-r", first_node, "topic/x")
    user.hg("tag", "--local", "-r", first_node, "light")
    for name in (first_node, first_node[:9], first_node.upper(), "topic/x", "light", ".~1", "HEAD^", "default~1"):
        assert hg_source.resolve(name).id == first_node, name
    for name in (second_node, ".", "HEAD", "default"):
        assert hg_source.resolve(name).id == second_node, name


@pytest.mark.exhaustive
def test_revision_numbers_and_tip_are_those_of_the_users_repository(
    user: HgRepository, cache: Path, tmp_path: Path
) -> None:
    nodes = [user.commit(subject) for subject in ("one", "two", "three")]
    user.hg("update", "-q", nodes[0])
    side = user.commit("side")
    clone = tmp_path / "clone"
    user.hg("clone", "-q", "-r", side, str(user.path), str(clone))
    user.hg("update", "-q", nodes[1])
    before = user.state()
    theirs, ours = HgSource(user.path, cache_dir=cache), HgSource(clone, cache_dir=cache)
    names = {"0": nodes[0], "1": nodes[1], "2": nodes[2], "3": side, "tip": side, "2~1": nodes[1], "tip^": nodes[0]}
    assert {name: theirs.resolve(name).id for name in names} == names
    assert user.state() == before
    assert {name: ours.resolve(name).id for name in ("0", "1", "tip")} == {"0": nodes[0], "1": side, "tip": side}


def test_names_and_hashes_are_found_beside_revision_numbers(user: HgRepository, hg_source: HgSource) -> None:
    node = user.commit("one")
    user.hg("bookmark", "-r", node, "v1")
    digits = next((node[:length] for length in range(4, 10) if not node[:length].isdecimal()), node)
    assert hg_source.resolve("v1").id == hg_source.resolve(digits).id == node
    with pytest.raises(UsageError, match="has no changeset"):
        hg_source.resolve("9" * 12)


def test_unknown_names_are_refused(user: HgRepository, hg_source: HgSource) -> None:
    user.commit("one")
    for name in ("default~9", "0" * 40, "deadbee", "defualt", "1", "000000001", "topic"):
        with pytest.raises(UsageError, match="has no changeset") as caught:
            hg_source.resolve(name)
        assert caught.value.hint, name
        if name == "defualt":
            assert "default" in caught.value.hint


def test_options_and_expressions_are_refused(user: HgRepository, hg_source: HgSource, tmp_path: Path) -> None:
    user.commit("one")
    marker = tmp_path / "marker"
    for name in (f"--config=alias.log=!touch {marker}", "-rf", "all()", "a::b", "branch(default)", "'x'", "a or b"):
        with pytest.raises(UsageError):
            hg_source.resolve(name)
        assert not marker.exists(), name


@pytest.mark.exhaustive
def test_an_ambiguous_abbreviation_is_refused_with_its_candidates(user: HgRepository, hg_source: HgSource) -> None:
    changesets = "".join(
        f"# HG changeset patch\n# User A <a@b>\n# Date {FIRST_SECOND + n} 0\nx\n\n"
        f"diff --git a/f{n} b/f{n}\nnew file mode 100644\n--- /dev/null\n+++ b/f{n}\n@@ -0,0 +1,1 @@\n+{n}\n"
        for n in range(700)
    )
    patch = user.path.parent / "many.patch"
    patch.write_text(changesets)
    user.hg("import", "--quiet", "--bypass", str(patch))
    node_by_prefix: dict[str, str] = {}
    nodes = user.hg("log", "-T", "{node}\n").split()
    first_node, second_node = next(
        (node, node_by_prefix[node[:4]]) for node in nodes if node_by_prefix.setdefault(node[:4], node) != node
    )
    with pytest.raises(UsageError, match="could be") as caught:
        hg_source.resolve(first_node[:4])
    assert first_node[:12] in str(caught.value.hint)
    assert second_node[:12] in str(caught.value.hint)


def test_changesets_between_include_the_newest_and_come_oldest_first(user: HgRepository, hg_source: HgSource) -> None:
    first_node, second_node = user.commit("one"), user.commit("two")
    user.hg("update", "-q", first_node)
    user.commit("side", {"side": "x"})
    user.hg("merge", "-q", second_node)
    user.commit("merge", {"m": "x"})
    newest = hg_source.resolve(".")
    between = hg_source.between(hg_source.resolve(first_node), newest)
    assert [commit.subject for commit in between] == ["side", "merge"]
    assert between[-1] == newest
    assert hg_source.between(newest, newest) == ()
    with pytest.raises(UsageError, match="is not before"):
        hg_source.between(newest, hg_source.resolve(first_node))


def test_merge_base_is_the_fork_point(user: HgRepository, hg_source: HgSource) -> None:
    one = user.commit("one")
    user.commit("two")
    user.hg("update", "-q", one)
    user.hg("branch", "-q", "topic")
    user.commit("on topic")
    topic = hg_source.resolve("topic")
    assert hg_source.main().subject == "two"
    assert hg_source.merge_base(hg_source.main(), topic).id == one


def test_user_repository_is_not_modified_and_new_changesets_are_found(
    user: HgRepository, cache: Path, tmp_path: Path
) -> None:
    user.commit("one", {"kept": "1", "gone": "1"})
    user.hg("clone", "-q", str(user.path), str(tmp_path / "clone"))
    clone = HgRepository(tmp_path / "clone")
    user.commit("two", {"kept": "2"})
    (clone.path / "kept").write_text("dirty")
    (clone.path / "gone").unlink()
    (clone.path / "untracked").write_text("x")
    before = clone.state()
    source = HgSource(clone.path, cache_dir=cache)
    assert source.resolve("default").subject == "one"
    source.fetch()
    assert source.resolve("default").subject == "two"
    assert source.resolve(".").subject == "one"
    source.materialise(source.resolve("."), tmp_path / "tree")
    assert clone.state() == before
    assert (tmp_path / "tree" / "kept").read_text() == "1"
    assert (tmp_path / "tree" / "gone").exists()


def test_an_unreachable_remote_does_not_lose_known_changesets(user: HgRepository, cache: Path, tmp_path: Path) -> None:
    user.commit("one")
    user.hg("clone", "-q", str(user.path), str(tmp_path / "clone"))
    source = HgSource(tmp_path / "clone", cache_dir=cache)
    user.commit("two")
    source.fetch()
    user.path.rename(tmp_path / "away")
    with pytest.raises(EnvironmentProblem, match="cannot fetch from default"):
        source.fetch()
    assert source.resolve("default").subject == "two"


def test_a_password_in_a_remotes_address_is_not_shown(user: HgRepository, hg_source: HgSource) -> None:
    user.commit("one")
    (user.path / ".hg" / "hgrc").write_text("[paths]\ndefault = ftp://ada:s3cret@127.0.0.1/x\n")
    with pytest.raises(EnvironmentProblem, match=r"ftp://127\.0\.0\.1/x not found") as caught:
        hg_source.fetch()
    assert "s3cret" not in str(caught.value)


def test_a_tree_is_a_repository_at_that_changeset(user: HgRepository, hg_source: HgSource, tmp_path: Path) -> None:
    one = user.commit("one")
    user.commit("two")
    hg_source.materialise(hg_source.resolve(one), tmp_path / "tree")
    tree = HgRepository(tmp_path / "tree")
    assert (tree.path / "file").read_text() == "one"
    assert tree.node(".") == one
    assert tree.hg("status") == ""


def test_subrepositories_are_taken_from_the_users_own(user: HgRepository, hg_source: HgSource, tmp_path: Path) -> None:
    part = HgRepository(user.path / "part")
    part.commit("part", {"part.c": "x"})
    user.commit("one", {".hgsub": "part = part\n"})
    hg_source.materialise(hg_source.resolve("."), tmp_path / "tree")
    assert (tmp_path / "tree" / "part" / "part.c").read_text() == "x"
    shutil.rmtree(part.path)
    with pytest.raises(BuildFailed, match="part"):
        hg_source.materialise(hg_source.resolve("."), tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_an_interrupted_pull_is_repaired(user: HgRepository, hg_source: HgSource, cache: Path) -> None:
    user.commit("one")
    hg_source.resolve(".")
    (mirror,) = cache.glob("sources/*/mirror")
    (mirror / ".hg" / "store" / "journal").write_text("")
    two = user.commit("two")
    hg_source.fetch()
    assert hg_source.resolve(".").id == two


@pytest.mark.exhaustive
def test_two_processes_share_one_mirror(user: HgRepository, cache: Path, tmp_path: Path) -> None:
    user.commit("one")
    program = (
        "import sys; from pathlib import Path; from harness.builders.sources.hg import HgSource\n"
        "source = HgSource(Path(sys.argv[1]), cache_dir=Path(sys.argv[2]))\n"
        "source.materialise(source.resolve('default'), Path(sys.argv[3]))"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(user.path), str(cache), str(tmp_path / side)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for side in ("left", "right")
    ]
    for child in children:
        _, stderr = child.communicate(timeout=120)
        assert child.returncode == 0, stderr
    assert (tmp_path / "left" / "file").read_text() == (tmp_path / "right" / "file").read_text() == "one"


def test_a_folder_that_is_not_a_repository_is_reported(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(UsageError, match="not an hg repository"):
        plugins.source("hg", str(tmp_path), remote=None, cache_dir=cache)


def test_missing_hg_is_reported(
    user: HgRepository, hg_source: HgSource, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    user.commit("one")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="not installed"):
        hg_source.resolve("default")


def test_where_hg_is_chg_the_real_program_is_started(
    user: HgRepository, hg_source: HgSource, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """People who call `chg` by the name `hg` tell it with `CHGHG` where Mercurial itself is."""
    require("chg")
    monkeypatch.setenv("CHGHG", str(shutil.which("hg")))
    monkeypatch.setenv("CHGSOCKNAME", str(tmp_path / "server"))
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "hg").symlink_to(str(shutil.which("chg")))
    node = user.commit("one")
    monkeypatch.setenv("PATH", str(tmp_path / "programs"), prepend=os.pathsep)
    assert hg_source.resolve("default").id == node


def test_hg_branches(user: HgRepository, cache: Path) -> None:
    assert isinstance(plugins.source("hg", str(user.path), remote=None, cache_dir=cache), BranchingSource)


@pytest.mark.exhaustive
def test_a_closed_branch_is_found_by_its_name(user: HgRepository, hg_source: HgSource) -> None:
    user.commit("one")
    user.hg("branch", "-q", "stable")
    user.commit("two")
    user.hg("commit", "--close-branch", "-m", "close it")
    assert hg_source.resolve("stable").subject == "close it"
    assert hg_source.resolve("stable~1").subject == "two"


@pytest.mark.exhaustive
def test_no_cache_is_written_into_the_users_repository(user: HgRepository, hg_source: HgSource) -> None:
    one = user.commit("one")
    user.hg("tag", "--local", "-r", one, "light")
    user.hg("tag", "-r", one, "heavy")
    shutil.rmtree(user.path / ".hg" / "cache", ignore_errors=True)
    before = sorted(file for file in user.path.rglob("*"))
    hg_source.fetch()
    for name in ("light", "heavy", ".", one[:9]):
        hg_source.resolve(name)
    assert sorted(file for file in user.path.rglob("*")) == before


@pytest.fixture
def published(tmp_path: Path) -> tuple[HgRepository, HgRepository, HgSource]:
    """A remote with a bookmark, its clone with the copy that hg makes, and the source of the clone."""
    require("hg")
    remote = HgRepository(tmp_path / "remote")
    remote.commit("one")
    remote.hg("bookmark", "topic")
    remote.hg("clone", "-q", str(remote.path), str(tmp_path / "clone"))
    clone = HgRepository(tmp_path / "clone")
    assert "topic" in clone.hg("bookmarks")
    return remote, clone, HgSource(clone.path, cache_dir=tmp_path / "cache")


@pytest.mark.exhaustive
def test_a_bookmark_of_the_remote_is_followed_although_the_clone_has_a_copy(
    published: tuple[HgRepository, HgRepository, HgSource],
) -> None:
    remote, clone, source = published
    source.fetch()
    newer = remote.commit("two")
    source.fetch()
    assert source.resolve("topic").id == newer
    clone.hg("pull", "-q")
    clone.hg("update", "-q", "topic")
    users = clone.commit("the user goes on")
    source.fetch()
    assert source.resolve("topic").id == users, "the user's contains that of the remote"


@pytest.mark.exhaustive
def test_a_bookmark_that_the_remote_no_longer_has_is_not_followed(
    published: tuple[HgRepository, HgRepository, HgSource],
) -> None:
    remote, clone, source = published
    first = remote.node(".")
    remote.hg("bookmark", "--inactive", "-r", first, "remote-only")
    source.fetch()
    assert source.resolve("remote-only").id == first
    clone.hg("bookmark", "--inactive", "-r", first, "mine")
    remote.hg("bookmark", "--delete", "topic", "remote-only")
    remote.hg("bookmark", "--inactive", "-r", first, "topics")
    source.fetch()
    for name in ("topic", "remote-only"):
        with pytest.raises(EnvironmentProblem, match=f"had a bookmark {name}, and has none") as raised:
            source.resolve(name)
        assert "topics" in str(raised.value.hint)
    assert source.resolve("mine").id == first, "the remote never had it"
    remote.hg("bookmark", "--inactive", "-r", first, "topic")
    source.fetch()
    assert source.resolve("topic").id == first


@pytest.mark.exhaustive
def test_bookmarks_stay_known_while_the_remote_cannot_be_reached(
    published: tuple[HgRepository, HgRepository, HgSource], tmp_path: Path
) -> None:
    remote, clone, source = published
    newer = remote.commit("two")
    source.fetch()
    shutil.move(remote.path, tmp_path / "moved")
    again = HgSource(clone.path, cache_dir=tmp_path / "cache")
    with pytest.raises(EnvironmentProblem, match="cannot fetch"):
        again.fetch()
    assert again.resolve("topic").id == newer
