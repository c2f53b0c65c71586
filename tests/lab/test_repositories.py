"""Repositories that persons choose commits of: what names mean there, and what they cannot reach."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentProblem, UsageError
from harness.lab.on_demand.repositories import AllowedRepository, load_repositories
from harness.store.run_requests import WantedRun
from harness.testing.progress import RecordedProgress


@dataclass(frozen=True)
class Upstream:
    """Repository of others, and what the harness knows of it as `code`."""

    folder: Path
    known: AllowedRepository

    def git(self, *arguments: str) -> str:
        identity = {
            f"GIT_{role}_{key}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
        }
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, **identity},
        )
        return done.stdout.strip()

    def commit(self, subject: str) -> str:
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def find(self, commit: str, control: str = "", known: tuple[str, str] = ("", "")) -> tuple[str, str]:
        return self.known.find_commits(want(commit, control), known, RecordedProgress()).ids


def want(commit: str, control: str = "") -> WantedRun:
    return WantedRun(specification="s", device_class="c", repository="code", commit=commit, control=control)


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    folder = tmp_path / "upstream"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=folder, check=True)
    Upstream(folder, AllowedRepository("", folder, folder)).commit("first")
    found = load_repositories([f"code={folder}"], tmp_path / "cache", RecordedProgress())
    return Upstream(folder, found["code"])


def test_hashes_branches_tags_and_pull_requests_name_commits(upstream: Upstream) -> None:
    first = upstream.git("rev-parse", "HEAD")
    upstream.git("tag", "-a", "v1", "-m", "a tag of its own")
    second = upstream.commit("second")
    upstream.git("checkout", "--quiet", "--detach")
    proposed, merged = upstream.commit("proposed"), upstream.commit("merge request")
    upstream.git("update-ref", "refs/pull/7/head", proposed)
    upstream.git("update-ref", "refs/merge-requests/8/head", merged)
    assert upstream.find("main", "v1") == (second, first)
    assert upstream.find(second[:8], first) == (second, first)
    assert upstream.find("#7", "!8") == (proposed, merged)
    for name in ("#8", "!7", "nothing", proposed, proposed[:8], "HEAD"):
        with pytest.raises(UsageError, match=r"code (has no commit|contains)") as refused:
            upstream.find(name)
        assert str(upstream.folder.parent) not in refused.value.message
    with pytest.raises(UsageError, match="are both"):
        upstream.find("main", second)


def test_a_name_means_what_it_meant_first(upstream: Upstream) -> None:
    before = upstream.find("main")
    later = upstream.commit("later")
    upstream.git("update-ref", "refs/pull/7/head", later)
    assert upstream.find("main") == (later, "")
    assert upstream.find("main", known=before) == before
    pulled = upstream.find("#7", "main", known=(later, before[0]))
    assert pulled == (later, before[0])
    with pytest.raises(UsageError, match="code has no commit main"):
        upstream.find("main", known=("a" * 40, ""))


def test_a_name_that_nobody_checked_executes_and_reaches_nothing(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A second wall: the server and `RunRequest.wanted` refuse these before."""
    monkeypatch.chdir(tmp_path)
    before = upstream.git("for-each-ref")
    names = (
        "--upload-pack=touch ran",
        "--output=ran",
        "#7;touch ran",
        "#*",
        "ext::sh -c 'touch ran'",
        "refs/heads/main",
    )
    for name in names:
        unchecked = want("main").model_copy(update={"commit": name})
        with pytest.raises((UsageError, EnvironmentProblem)):
            upstream.known.find_commits(unchecked, ("", ""), RecordedProgress())
    assert not (tmp_path / "ran").exists()
    assert upstream.git("for-each-ref") == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *(
            (("code",), "no repository"),
            (("=x",), "no repository"),
            (("a/b=x",), "no repository"),
            (("a=",), "no repository"),
        ),
        *((("a=--upload-pack=sh",), "no repository"), (("a=ext::sh -c true",), "no repository")),
        (("code=.", "code=."), "two are called code"),
    ],
)
def test_a_wrong_word_is_a_mistake(
    upstream: Upstream, words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(upstream.folder)
    with pytest.raises(UsageError, match=said):
        load_repositories(words, tmp_path / "cache", RecordedProgress())


def test_a_place_without_a_repository_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="cannot fetch from origin"):
        load_repositories([f"code={tmp_path}"], tmp_path / "cache", RecordedProgress())
