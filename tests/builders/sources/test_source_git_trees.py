"""Checking out a commit into a folder: completely or not at all, and without running hooks."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.builders.sources.git import GitSource
from harness.core.errors import BuildFailed
from tests.builders.sources.repositories import GitRepository
from tests.processes import is_running, wait_until, written

pytestmark = pytest.mark.slow


def test_a_working_tree_is_a_repository_at_that_commit(
    repository: GitRepository, source: GitSource, tmp_path: Path
) -> None:
    first_hash = repository.commit("one", {"file": "1", "run.sh": "#!/bin/sh"})
    repository.git("update-index", "--chmod=+x", "run.sh")
    repository.git("tag", "v1")
    repository.commit("two")
    tree = tmp_path / "executorch"
    tree.mkdir()
    started = time.time()
    source.materialise(source.resolve(first_hash), tree)
    made = GitRepository(tree, made=True)
    assert made.git("rev-parse", "HEAD") == first_hash
    assert made.git("describe", "--tags") == "v1"
    assert made.git("status", "--porcelain") == ""
    assert (tree / "file").stat().st_mtime >= started - 2


def test_working_trees_survive_cleanup_of_the_users_clone(
    repository: GitRepository, source: GitSource, tmp_path: Path
) -> None:
    repository.commit("one")
    dangling = repository.commit("two")
    commit = source.resolve("HEAD")
    source.materialise(commit, tmp_path / "tree")
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    repository.git("reflog", "expire", "--expire=now", "--all")
    repository.git("gc", "--quiet", "--prune=now")
    source.fetch()
    assert GitRepository(tmp_path / "tree", made=True).git("fsck", "--connectivity-only") == ""
    source.materialise(commit, tmp_path / "again")
    assert (tmp_path / "again" / "file").read_text() == "two"
    assert commit.id == dangling


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


def test_git_variables_set_by_a_hook_are_ignored(
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


def test_lfs_files_stay_pointers(
    repository: GitRepository, source: GitSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("one", {".gitattributes": "*.bin filter=lfs\n", "model.bin": "version https://git-lfs"})
    configuration = tmp_path / "gitconfig"
    configuration.write_text('[filter "lfs"]\n\tsmudge = false\n\tprocess = false\n\trequired = true\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert (tmp_path / "tree" / "model.bin").read_text() == "version https://git-lfs"


def test_a_folder_that_is_not_empty_is_left_alone(repository: GitRepository, source: GitSource, tmp_path: Path) -> None:
    repository.commit("one")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "mine").write_text("x")
    with pytest.raises(BuildFailed, match="not empty"):
        source.materialise(source.resolve("HEAD"), tree)
    assert [file.name for file in tree.iterdir()] == ["mine"]


def test_a_damaged_repository_leaves_no_partial_checkout(
    repository: GitRepository, source: GitSource, cache: Path, tmp_path: Path
) -> None:
    repository.commit("one", {"a": "a", "b": "b"})
    commit = source.resolve("HEAD")
    blob = repository.git("rev-parse", "HEAD:b")
    (mirror,) = cache.glob("sources/*/mirror.git")
    damaged_object = mirror / "objects" / blob[:2] / blob[2:]
    damaged_object.unlink()
    with pytest.raises(BuildFailed, match=blob[:7]):
        source.materialise(commit, tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


_CHILD = """
import sys
from pathlib import Path
from harness import shell
from harness.builders.sources.git import GitSource
source = GitSource(Path(sys.argv[1]), cache_dir=Path(sys.argv[2]))
with shell.handle_signals():
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


def test_two_processes_share_one_mirror(repository: GitRepository, cache: Path, tmp_path: Path) -> None:
    for number in range(6):
        repository.commit(str(number))
    children = [_child(repository.path, cache, tmp_path / side, "often") for side in ("left", "right")]
    for child in children:
        _, stderr = child.communicate(timeout=120)
        assert child.returncode == 0, stderr
    for side in ("left", "right"):
        assert [(tmp_path / side / str(number) / "file").read_text() for number in range(5)] == list("54321")


def test_an_interrupted_checkout_leaves_no_files(
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
