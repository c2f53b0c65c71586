from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.build.sources.git import GitSource
from harness.build.sources.git_program import complaint
from harness.core.command import Command, Completed
from harness.core.errors import BuildFailed, EnvironmentProblem, UsageError
from tests.build.sources.repositories import FIRST_SECOND, GitRepository, clone_with_remote, subjects
from tests.processes import is_running, wait_until, written

pytestmark = pytest.mark.slow


def test_head_is_what_the_user_has_checked_out(repository: GitRepository, cache: Path, tmp_path: Path) -> None:
    one, two = repository.commit("one"), repository.commit("two")
    repository.git("checkout", "--quiet", "--detach", one)
    repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), two)
    assert GitSource(repository.path, cache_dir=cache).resolve("HEAD").id == one
    assert GitSource(tmp_path / "linked", cache_dir=cache).resolve("HEAD").id == two


def test_a_commit_that_no_branch_leads_to_is_found_by_its_hash(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    lost = repository.commit("two")
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    assert source.resolve(lost).subject == "two"


def test_an_unknown_name_is_told_with_what_is_near(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    repository.git("branch", "release/1.4")
    with pytest.raises(UsageError, match=r"has a commit relaese/1\.4") as caught:
        source.resolve("relaese/1.4")
    assert "release/1.4" in str(caught.value.hint)
    for unknown in ("0" * 40, "deadbee", "HEAD~9", "main~1^2"):
        with pytest.raises(UsageError):
            source.resolve(unknown)


def test_an_ambiguous_abbreviation_is_told_with_its_candidates(repository: GitRepository, source: GitSource) -> None:
    seen: dict[str, str] = {}
    number = 0
    while True:  # 16**4 prefixes: a few hundred commits collide (birthday), made at once by fast-import
        number += 400
        stream = "".join(
            f"commit refs/heads/many\ncommitter A <a@b> {FIRST_SECOND + n} +0000\ndata 1\nx\n" for n in range(number)
        )
        subprocess.run(
            ["git", "fast-import", "--quiet", "--force"], cwd=repository.path, input=stream, text=True, check=True
        )
        hashes = repository.git("rev-list", "many").split()
        seen = {}
        pair = next(((one, seen[one[:4]]) for one in hashes if seen.setdefault(one[:4], one) != one), None)
        if pair:
            break
    with pytest.raises(UsageError, match="could be") as caught:
        source.resolve(pair[0][:4])
    assert pair[0][:12] in str(caught.value.hint)
    assert pair[1][:12] in str(caught.value.hint)


def test_a_name_that_is_a_tag_and_another_branch_is_ambiguous(repository: GitRepository, source: GitSource) -> None:
    one = repository.commit("one")
    repository.commit("two")
    repository.git("tag", "v1", one)
    repository.git("branch", "v1", "main")
    with pytest.raises(UsageError, match="could be 2 commits"):
        source.resolve("v1")
    assert source.resolve("refs/tags/v1").id == one


def test_a_parent_comes_first_whatever_the_clocks_said(repository: GitRepository, source: GitSource) -> None:
    repository.commit("start")

    def commit_at(seconds: int, *arguments: str) -> None:
        repository.git(*arguments, env={"GIT_COMMITTER_DATE": f"{FIRST_SECOND + seconds} +0000"})

    commit_at(900, "commit", "--quiet", "--allow-empty", "-m", "parent, a fast clock")
    repository.git("branch", "topic")
    commit_at(800, "commit", "--quiet", "--allow-empty", "-m", "child")
    repository.git("checkout", "--quiet", "topic")
    commit_at(100, "commit", "--quiet", "--allow-empty", "-m", "child, a slow clock")
    commit_at(1000, "merge", "--quiet", "-m", "merge", "main")
    between = subjects(source.between(source.resolve("HEAD~2^"), source.resolve("HEAD")))
    assert between[0] == "parent, a fast clock"
    assert between[-1] == "merge"
    assert len(between) == 4


def test_what_git_says_is_told_without_passwords() -> None:
    said = "warning: x\nfatal: unable to access 'https://ada:s3cret@example.org/x.git/': it is not there\nhint: no\n"
    completed = Completed(Command(("git",)), exit_code=128, stderr=said)
    assert complaint(completed) == "fatal: unable to access 'https://example.org/x.git/': it is not there"


def test_a_branch_that_parted_before_is_not_between(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.commit("on topic", {"topic": "x"})
    repository.git("checkout", "--quiet", "main")
    start = repository.commit("two")
    repository.git("merge", "--quiet", "-m", "merge", "topic")
    assert subjects(source.between(source.resolve(start), source.resolve("main"))) == ["merge"]


def test_commits_in_the_wrong_order_are_refused(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    repository.git("branch", "topic")
    repository.commit("two")
    repository.git("checkout", "--quiet", "topic")
    repository.commit("three")
    one, two, three = (source.resolve(name) for name in ("main~1", "main", "topic"))
    for older, newer in ((two, one), (two, three)):
        with pytest.raises(UsageError, match="is not before"):
            source.between(older, newer)
    assert source.merge_base(two, three) == one


def test_the_default_base_is_where_a_branch_left_the_main_one(tmp_path: Path, cache: Path) -> None:
    remote, clone, source = clone_with_remote(tmp_path, cache)
    clone.git("checkout", "--quiet", "-b", "topic")
    clone.commit("on topic", {"topic": "x"})
    remote.commit("two")
    source.fetch()
    assert source.main().subject == "two"
    assert source.merge_base(source.main(), source.resolve("topic")).subject == "one"


def test_the_main_branch_is_the_one_that_the_remote_calls_so(tmp_path: Path, cache: Path) -> None:
    remote = GitRepository(tmp_path / "remote")
    remote.commit("one")
    remote.git("checkout", "--quiet", "-b", "trunk")
    remote.commit("two")
    clone = remote.clone(tmp_path / "clone")
    assert GitSource(clone.path, cache_dir=cache).main().subject == "two"


def test_unrelated_histories_have_no_merge_base(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.commit("two")
    with pytest.raises(UsageError, match="no common ancestor"):
        source.merge_base(source.resolve("main"), source.resolve("other"))


def test_a_repository_that_grows_is_followed(tmp_path: Path, cache: Path) -> None:
    remote, clone, source = clone_with_remote(tmp_path, cache)
    assert source.resolve("origin/main").subject == "one"
    clone.commit("local", {"local": "x"})
    remote.commit("two")
    remote.git("tag", "v2")
    remote.git("branch", "only-there")
    source.fetch()
    assert source.resolve("main").subject == "local"
    for name in ("origin/main", "v2", "only-there", "origin/main~0"):
        assert source.resolve(name).subject == "two", name
    assert subjects(source.between(source.resolve("origin/main~1"), source.resolve("origin/main"))) == ["two"]
    remote.git("branch", "-D", "only-there")
    source.fetch()
    with pytest.raises(UsageError):
        source.resolve("only-there")


def test_what_was_fetched_is_known_to_the_next_who_asks(tmp_path: Path, cache: Path) -> None:
    remote, clone, source = clone_with_remote(tmp_path, cache)
    remote.commit("two")
    source.fetch()
    assert GitSource(clone.path, cache_dir=cache).resolve("origin/main").subject == "two"
    remote.commit("three")
    clone.git("fetch", "--quiet")
    assert GitSource(clone.path, cache_dir=cache).resolve("origin/main").subject == "three"


def test_a_remote_that_cannot_be_reached_loses_nothing(tmp_path: Path, cache: Path) -> None:
    remote, _, source = clone_with_remote(tmp_path, cache)
    remote.commit("two")
    source.fetch()
    remote.path.rename(tmp_path / "away")
    with pytest.raises(EnvironmentProblem, match="cannot fetch from origin") as caught:
        source.fetch()
    assert "git ls-remote origin" in str(caught.value.hint)
    assert source.resolve("origin/main").subject == "two"


def test_a_password_in_a_remotes_address_is_not_shown(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    repository.git("remote", "add", "origin", "https://ada:s3cret@127.0.0.1:9/x.git")
    with pytest.raises(EnvironmentProblem) as caught:
        source.fetch()
    assert "127.0.0.1:9" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_working_tree_is_a_repository_at_that_commit(
    repository: GitRepository, source: GitSource, tmp_path: Path
) -> None:
    one = repository.commit("one", {"file": "1", "run.sh": "#!/bin/sh"})
    repository.git("update-index", "--chmod=+x", "run.sh")
    repository.git("tag", "v1")
    repository.commit("two")
    tree = tmp_path / "executorch"
    tree.mkdir()
    started = time.time()
    source.materialise(source.resolve(one), tree)
    made = GitRepository(tree, made=True)
    assert made.git("rev-parse", "HEAD") == one
    assert made.git("describe", "--tags") == "v1"
    assert made.git("status", "--porcelain") == ""
    assert (tree / "file").stat().st_mtime >= started - 2


def test_working_trees_outlive_what_the_user_throws_away(
    repository: GitRepository, source: GitSource, tmp_path: Path
) -> None:
    repository.commit("one")
    lost = repository.commit("two")
    commit = source.resolve("HEAD")
    source.materialise(commit, tmp_path / "tree")
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    repository.git("reflog", "expire", "--expire=now", "--all")
    repository.git("gc", "--quiet", "--prune=now")
    source.fetch()
    assert GitRepository(tmp_path / "tree", made=True).git("fsck", "--connectivity-only") == ""
    source.materialise(commit, tmp_path / "again")
    assert (tmp_path / "again" / "file").read_text() == "two"
    assert commit.id == lost


def test_hooks_of_the_user_do_not_run(
    repository: GitRepository, source: GitSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("one")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\n")
        (hooks / name).chmod(0o755)
    configuration = tmp_path / "gitconfig"
    configuration.write_text(f"[core]\n\thooksPath = {hooks}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert not list(tmp_path.glob("ran-*"))


def test_a_hook_that_starts_the_harness_does_not_mislead_it(
    repository: GitRepository, source: GitSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = repository.commit("one")
    other = GitRepository(tmp_path / "other")
    other.commit("other")
    before = other.state()
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.path / ".git" / "index"))
    assert source.resolve("HEAD").id == one
    source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    monkeypatch.undo()
    assert (tmp_path / "tree" / "file").read_text() == "one"
    assert other.state() == before


def test_large_files_stay_pointers(
    repository: GitRepository, source: GitSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("one", {".gitattributes": "*.bin filter=lfs\n", "model.bin": "version https://git-lfs"})
    configuration = tmp_path / "gitconfig"
    configuration.write_text('[filter "lfs"]\n\tsmudge = false\n\tprocess = false\n\trequired = true\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert (tmp_path / "tree" / "model.bin").read_text() == "version https://git-lfs"


def test_a_shallow_clone_says_what_is_missing(tmp_path: Path, cache: Path) -> None:
    remote = GitRepository(tmp_path / "remote")
    one, _, three = remote.commit("one"), remote.commit("two"), remote.commit("three")
    clone = remote.clone(tmp_path / "clone", "--depth=1")
    source = GitSource(clone.path, cache_dir=cache)
    commit = source.resolve("main")
    assert commit.id == three
    source.materialise(commit, tmp_path / "tree")
    assert (tmp_path / "tree" / "file").read_text() == "three"
    with pytest.raises(UsageError, match="has a commit") as unknown:
        source.resolve(one)
    _add_orphan(clone)
    source.fetch()
    orphan = source.resolve("orphan")
    with pytest.raises(UsageError, match="cut off") as disordered:
        source.between(orphan, commit)
    assert "--unshallow" in str(unknown.value.hint)
    assert "--unshallow" in str(disordered.value.hint)
    clone.git("fetch", "--quiet", "--unshallow")
    source.fetch()
    assert subjects(source.between(source.resolve(one), source.resolve("main"))) == ["two", "three"]


def _add_orphan(clone: GitRepository) -> None:
    clone.git("checkout", "--quiet", "--orphan", "orphan")
    clone.commit("orphan")
    clone.git("checkout", "--quiet", "main")


def test_commits_that_are_gone_are_told(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    newer = source.resolve("main")
    gone = newer.model_copy(update={"id": "1" * 40})
    for ask in (source.between, source.merge_base):
        with pytest.raises(UsageError, match="has a commit 1111"):
            ask(gone, newer)


def test_a_partial_clone_is_refused(tmp_path: Path, cache: Path) -> None:
    remote = GitRepository(tmp_path / "remote")
    remote.git("config", "uploadpack.allowFilter", "true")
    remote.commit("one")
    clone = remote.clone(tmp_path / "clone", "--filter=blob:none", "--no-checkout")
    with pytest.raises(UsageError, match="partial clone"):
        GitSource(clone.path, cache_dir=cache)


@pytest.mark.parametrize("kind", ["nothing", "folder", "inside"])
def test_a_place_that_is_no_repository_is_told(tmp_path: Path, cache: Path, kind: str) -> None:
    outer = GitRepository(tmp_path / "outer")
    (outer.path / "inside").mkdir()
    (tmp_path / "folder").mkdir()
    place = {"nothing": tmp_path / "$nothing", "folder": tmp_path / "folder", "inside": outer.path / "inside"}[kind]
    with pytest.raises(UsageError, match="no git repository"):
        GitSource(place, cache_dir=cache)


def test_a_repository_without_commits_has_none(source: GitSource) -> None:
    with pytest.raises(UsageError, match="has a commit HEAD"):
        source.resolve("HEAD")
    with pytest.raises(UsageError, match="no main branch"):
        source.main()


def test_a_bare_repository_will_do(repository: GitRepository, cache: Path, tmp_path: Path) -> None:
    one = repository.commit("one")
    bare = repository.clone(tmp_path / "bare.git", "--bare")
    assert GitSource(bare.path, cache_dir=cache).resolve("main").id == one


def test_a_folder_with_something_in_it_is_left_alone(
    repository: GitRepository, source: GitSource, tmp_path: Path
) -> None:
    repository.commit("one")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "mine").write_text("x")
    with pytest.raises(BuildFailed, match="not empty"):
        source.materialise(source.resolve("HEAD"), tree)
    assert [file.name for file in tree.iterdir()] == ["mine"]


def test_a_damaged_repository_leaves_nothing_half_made(
    repository: GitRepository, source: GitSource, cache: Path, tmp_path: Path
) -> None:
    repository.commit("one", {"a": "a", "b": "b"})
    commit = source.resolve("HEAD")
    blob = repository.git("rev-parse", "HEAD:b")
    (mirror,) = cache.glob("sources/*/mirror.git")
    lost = mirror / "objects" / blob[:2] / blob[2:]
    lost.unlink()
    with pytest.raises(BuildFailed, match=blob[:7]):
        source.materialise(commit, tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_locks_that_a_killed_git_left_do_not_stop_the_next(
    repository: GitRepository, source: GitSource, cache: Path
) -> None:
    repository.commit("one")
    source.resolve("main")
    (mirror,) = cache.glob("sources/*/mirror.git")
    for lock in ("HEAD.lock", "packed-refs.lock", "refs/heads/main.lock"):
        (mirror / lock).touch()
    two = repository.commit("two")
    source.fetch()
    assert source.resolve("main").id == two


_CHILD = """
import sys
from pathlib import Path
from harness import shell
from harness.build.sources.git import GitSource
source = GitSource(Path(sys.argv[1]), cache_dir=Path(sys.argv[2]))
with shell.interruptible():
    print("ready", flush=True)
    if sys.argv[4] == "once":
        source.materialise(source.resolve("main"), Path(sys.argv[3]))
    for number in range(5 if sys.argv[4] == "often" else 0):
        source.fetch()
        source.materialise(source.resolve(f"main~{number}"), Path(sys.argv[3]) / str(number))
"""


def _child(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_two_processes_use_one_mirror_at_once(repository: GitRepository, cache: Path, tmp_path: Path) -> None:
    for number in range(6):
        repository.commit(str(number))
    children = [_child(repository.path, cache, tmp_path / side, "often") for side in ("left", "right")]
    for child in children:
        _, said = child.communicate(timeout=120)
        assert child.returncode == 0, said
    for side in ("left", "right"):
        assert [(tmp_path / side / str(number) / "file").read_text() for number in range(5)] == list("54321")


def test_a_stopped_checkout_leaves_nothing(
    repository: GitRepository, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("one", {".gitattributes": "*.slow filter=slow\n", "a": "a", "z.slow": "x"})
    configuration, pid = tmp_path / "gitconfig", tmp_path / "pid"
    configuration.write_text(f'[filter "slow"]\n\tsmudge = "echo $$ > {pid}; sleep 60; cat"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    tree = tmp_path / "tree"
    with _child(repository.path, cache, tree, "once") as child:
        wait_until(lambda: written(pid) and (tree / "a").exists())
        child.terminate()
        child.communicate(timeout=30)
    assert child.returncode != 0
    assert not tree.exists()
    wait_until(lambda: not is_running(int(pid.read_text())))
    monkeypatch.undo()
    source = GitSource(repository.path, cache_dir=cache)
    source.materialise(source.resolve("main"), tree)
    assert (tree / "z.slow").read_text() == "x"
