"""Names that persons may ask for: what could be an option, a path, a range or a hidden reference is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.builders.sources.commit_names import parse_name
from harness.core.errors import UsageError
from harness.store.run_requests import MOST_PAIRS, RequestState, RunRequest, WantedRun

HOSTILE = (
    *(
        "--upload-pack=touch /tmp/x",
        "-x",
        "--",
        "-",
        "--exec=sh",
        "..",
        "a..b",
        "../../etc/passwd",
        "/etc/passwd",
        "a//b",
    ),
    *(
        "@{-1}",
        "main@{1}",
        "@",
        "HEAD~1",
        "main^",
        "main^{tree}",
        ":/fix",
        "main:file",
        "refs/heads/main",
        "refs/pull/1/head",
    ),
    *("https://example.org/x", "ssh://x", "git@host:x", "file:///etc", "ext::sh -c x", "a b", "a\nb", "a\0b", "main\n"),
    *(
        "é",
        "\u202emain",
        "$(reboot)",
        "`x`",
        "a;b",
        "a|b",
        "*",
        "?",
        "[a]",
        "a\\b",
        "#0",
        "#",
        "#-1",
        "#1 ",
        "##1",
        "#1a",
        "!",
    ),
    *(
        "x" * 201,
        ".git",
        ".",
        "a/.b",
        "a.lock",
        "a.lock/b",
        "a/",
        "a.",
        "#" + "1" * 10,
        "!1/head",
        "+main",
        "^main",
        "~",
    ),
)


def want(**values: object) -> WantedRun:
    usual = {"specification": "s", "device_class": "c", "repository": "code"}
    return WantedRun.model_validate({**usual, **values})


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("field", ["commit", "control"])
def test_a_hostile_name_names_no_commit(name: str, field: str) -> None:
    with pytest.raises(ValidationError, match="no hash, branch, tag"):
        want(**{"commit": "main", field: name})


@pytest.mark.parametrize(
    "name", ["main", "v1.5.1", "release/1.5", "a" * 40, "4c1edf", "#7", "!12", "feature_x-2", "origin/main"]
)
def test_usual_names_name_commits(name: str) -> None:
    assert want(commit=name, control="main").commit == name


@given(st.one_of(st.text(max_size=20), st.from_regex(r"[-@:^~./#!a{}]{1,8}", fullmatch=True)))
def test_no_name_is_an_option_a_path_or_an_expression(name: str) -> None:
    try:
        accepted = want(commit=name).commit
    except ValidationError:
        return
    if accepted[0] in "#!":
        assert accepted[1:].isascii()
        assert accepted[1:].isdecimal()
        return
    parsed = parse_name(accepted)
    assert (parsed.base, parsed.steps) == (accepted, ())
    assert accepted[0] not in "-./"
    assert ".." not in accepted
    assert not accepted.startswith("refs/")


@pytest.mark.parametrize("name", ["../x", "a/b", "-x", ".git", "a b", "x" * 65, "a\n"])
def test_a_repository_is_a_word(name: str) -> None:
    with pytest.raises(ValidationError, match="no name of a repository"):
        want(repository=name, commit="main")


@pytest.mark.parametrize(
    "values",
    [
        *({}, {"control": "main"}, {"commit": "main", "pairs": 5}, {"repository": "", "commit": "main"}),
        *({"commit": "main", "control": "v1", "pairs": pairs} for pairs in (-1, MOST_PAIRS + 1, 1.5, "many")),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        want(**values)


def test_whoever_measures_a_request_checks_it_again() -> None:
    request = RunRequest(
        id="1",
        person="anna",
        asked=0.0,
        specification="s",
        device_class="c",
        repository="code",
        commit="--upload-pack=sh",
        state=RequestState.RUNNING,
    )
    with pytest.raises(UsageError, match="nothing that may be asked for"):
        _ = request.wanted
