"""Links to commits and diffs from the URL of a remote."""

from __future__ import annotations

import pytest

from harness.presentation.repository_links import commit_url, diff_url, fill_diff_url, web_address

A, B = "a" * 40, "b" * 40


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/pytorch/executorch.git", "https://github.com/pytorch/executorch"),
        ("https://github.com/pytorch/executorch/", "https://github.com/pytorch/executorch"),
        ("git@github.com:pytorch/executorch.git", "https://github.com/pytorch/executorch"),
        ("github.com:pytorch/executorch", "https://github.com/pytorch/executorch"),
        ("ssh://git@ssh.github.com:443/pytorch/executorch.git", "https://github.com/pytorch/executorch"),
        ("https://ada:secret@github.com/a/b.git", "https://github.com/a/b"),
        ("https://gitlab.example.org:8443/group/sub/b.git", "https://gitlab.example.org:8443/group/sub/b"),
        ("https://codeberg.org/a/b.git", "https://codeberg.org/a/b"),
        ("http://gitea.lan:3000/a/b.git", "http://gitea.lan:3000/a/b"),
        (
            "git://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git",
            "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git",
        ),
        ("https://git.example.org/cgit/b.git", "https://git.example.org/cgit/b.git"),
        ("https://git.example.org/a/b.git", ""),
        ("/srv/git/github/b.git", ""),
        ("../b.git", ""),
        ("file:///srv/github.com/b.git", ""),
        ("C:\\github.com\\b", ""),
        ("https://github.com/", ""),
        ("https://github.com:nonsense/a/b", ""),
        ("https://[github.com/a", ""),
        ("https://github.com/a/<b>\n", "https://github.com/a/%3Cb%3E"),
        ("", ""),
    ],
)
def test_the_address_of_a_repository_is_that_of_its_remote(remote: str, address: str) -> None:
    assert web_address(remote) == address


@pytest.mark.parametrize(
    ("repository", "commit", "difference"),
    [
        ("https://github.com/a/b", f"/commit/{B}", f"/compare/{A}...{B}"),
        ("https://gitlab.com/a/b", f"/-/commit/{B}", f"/-/compare/{A}...{B}"),
        ("https://codeberg.org/a/b", f"/commit/{B}", f"/compare/{A}...{B}"),
        ("https://git.kernel.org/x/b.git", f"/commit/?id={B}", f"/diff/?id={B}&id2={A}"),
    ],
)
def test_links_are_those_of_the_web_interface(repository: str, commit: str, difference: str) -> None:
    assert commit_url(repository, B) == repository + commit
    assert diff_url(repository, A, B) == repository + difference


def test_an_unknown_interface_has_no_links_but_those_of_the_user() -> None:
    assert commit_url("", B) == diff_url("", A, B) == diff_url("https://git.example.org/b", A, B) == ""
    assert fill_diff_url("https://git.example.org/d?from={before}&to={after}", "v1 0", B) == (
        f"https://git.example.org/d?from=v1%200&to={B}"
    )
