"""The comment of a pull request, on a server that keeps it as GitHub does, and the action that writes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from reporters.channels import pull_request
from reporters.markdown.fitting import LIMIT
from tests.docs.pages import ROOT
from tests.reporters.channels.github_server import TOKEN, GitHub
from tests.reporters.channels.receiver import Receiver, Reply, receive

ACTION = ROOT / ".github" / "actions" / "compare" / "action.yml"
OTHER = "<!-- somebody else's --> unrelated"


class Job:
    """A job of a workflow that runs for pull request 7 of `ada/engine`."""

    def __init__(self, folder: Path, server: Receiver) -> None:
        self.page = folder / "page.md"
        self.page.write_text("# harness: 1 regression\n")
        self.summary = folder / "summary.md"
        event = folder / "event.json"
        event.write_text(json.dumps({"action": "synchronize", "pull_request": {"number": 7}}))
        self.pauses: list[float] = []
        self.environment = {
            "GITHUB_REPOSITORY": "ada/engine",
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_API_URL": server.url,
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }

    def report(self, *words: str, code: int = 0) -> int:
        return pull_request.main(
            [str(self.page), "--exit-code", str(code), *words], self.environment, self.pauses.append
        )


@pytest.fixture
def github() -> GitHub:
    return GitHub(comments={7: [OTHER]})


@pytest.fixture
def job(tmp_path: Path, github: GitHub) -> Iterator[Job]:
    with receive(github) as server:
        yield Job(tmp_path, server)


def test_the_comment_is_written_once_and_then_updated(job: Job, github: GitHub) -> None:
    assert job.report() == 0
    job.page.write_text("# harness: no change\n")
    assert job.report() == 0
    assert len(github.comments[7]) == 2
    assert github.comments[7][0] == OTHER
    mark, page = github.comments[7][1].split("\n", 1)
    assert mark.startswith("<!-- edge-harness compare ")
    assert page == "# harness: no change\n"
    assert job.summary.read_text() == "# harness: 1 regression\n# harness: no change\n"


def test_the_comment_is_found_behind_hundreds_of_others(job: Job, github: GitHub) -> None:
    github.comments[7] = [OTHER] * 250
    job.report()
    job.report()
    assert len(github.comments[7]) == 251


def test_two_comparisons_have_a_comment_each(job: Job, github: GitHub) -> None:
    for key in ("host", "phone", "host"):
        assert job.report("--key", key) == 0
    assert len(github.comments[7]) == 3


def test_the_longest_page_fits_with_its_mark(job: Job, github: GitHub) -> None:
    job.page.write_text("\N{GRINNING FACE}" * LIMIT)
    assert job.report() == 0
    assert len(github.comments[7][1]) <= 65_536


def test_a_token_that_may_not_write_leaves_the_page_in_the_summary(
    job: Job, github: GitHub, capsys: pytest.CaptureFixture[str]
) -> None:
    github.forbidden = True
    assert job.report() == 0
    assert job.report(code=1) == 1
    assert github.comments[7] == [OTHER]
    assert "# harness: 1 regression" in job.summary.read_text()
    out = capsys.readouterr().out
    assert out.startswith("::warning::The token may not comment on pull request 7")
    assert "Resource not accessible by integration" in out


@pytest.mark.parametrize(
    ("allow", "code", "step"),
    [
        ("undecided", 0, 0),
        ("undecided", 5, 0),
        ("undecided", 1, 1),
        ("", 5, 5),
        ("regression, undecided", 1, 0),
        ("regression undecided", 2, 2),
        ("regression undecided", 3, 3),
        ("regression undecided", 4, 4),
        ("regression undecided", 130, 130),
    ],
)
def test_the_exit_code_is_kept_but_for_verdicts_that_are_allowed(job: Job, allow: str, code: int, step: int) -> None:
    assert job.report("--allow", allow, "--no-comment", code=code) == step


def test_failures_cannot_be_allowed(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    assert job.report("--allow", "failure") == 2
    assert "::error::allow: `failure` is not one of regression, undecided" in capsys.readouterr().out


def test_a_server_that_fails_for_a_moment_is_asked_again(job: Job, github: GitHub) -> None:
    github.limited = [Reply(502, "{}"), Reply(429, "{}", {"Retry-After": "7"})]
    assert job.report() == 0
    assert job.pauses == [3.0, 7.0]
    assert len(github.comments[7]) == 2


def test_an_answer_that_is_lost_leads_to_no_second_comment(job: Job, github: GitHub) -> None:
    github.lost = 1
    assert job.report() == 0
    assert len(github.comments[7]) == 2


def test_a_server_that_keeps_failing_is_an_error_that_hides_no_regression(
    job: Job, github: GitHub, capsys: pytest.CaptureFixture[str]
) -> None:
    for code, step in ((0, 3), (5, 3), (1, 1), (4, 4)):
        github.limited = [Reply(502, "{}")] * 4
        assert job.report("--allow", "undecided", code=code) == step
    assert "::error::" in capsys.readouterr().out


def test_a_wrong_token_is_an_error(job: Job) -> None:
    job.environment["GITHUB_TOKEN"] = "wrong"
    assert job.report() == 3
    del job.environment["GITHUB_TOKEN"]
    assert job.report() == 2


def test_other_events_have_no_pull_request_to_comment_on(
    job: Job, github: GitHub, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(job.environment["GITHUB_EVENT_PATH"]).write_text("{}")
    assert job.report() == 0
    assert github.comments[7] == [OTHER]
    assert "::notice::This is no pull request" in capsys.readouterr().out


def test_where_nothing_was_compared_the_comment_says_why(job: Job, github: GitHub, tmp_path: Path) -> None:
    job.page.unlink()
    log = tmp_path / "log.txt"
    log.write_text("line\n" * 100 + "harness: no recipe ```\x1b[31m\n")
    assert job.report("--log", str(log), code=3) == 3
    assert "nothing was compared (exit code 3)" in github.comments[7][1]
    assert "harness: no recipe ```" in github.comments[7][1]
    assert "\x1b" not in github.comments[7][1]


class Step:
    """A step of the action, run by bash as a runner does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps = {step["name"]: step for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"]}

    def run(self, name: str, **variables: str) -> tuple[int, dict[str, str]]:
        output = self.folder / "output"
        output.write_text("")
        given = {"RUNNER_TEMP": str(self.folder), "GITHUB_OUTPUT": str(output), **variables}
        program = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.steps[name]["run"]]
        done = subprocess.run(program, env={**os.environ, **given}, cwd=self.folder, check=False)
        return done.returncode, dict(line.split("=", 1) for line in output.read_text().splitlines())


def test_the_steps_of_the_action_pass_words_on_and_keep_the_exit_code(tmp_path: Path, github: GitHub) -> None:
    repository = tmp_path / "repository"
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    for text in ("base", "head"):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", text], check=True)
    base, head = (
        subprocess.run([*git, "rev-parse", name], check=True, capture_output=True, text=True).stdout.strip()
        for name in ("HEAD^", "HEAD")
    )
    programs = tmp_path / "edge-harness" / "bin"
    programs.mkdir(parents=True)
    (programs / "harness").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words\necho compared\nexit 1\n')
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    variables = {"SPECIFICATION": "a b.json", "REPOSITORY": str(repository), "GITHUB_SHA": head}
    code, outputs = Step(tmp_path).run("Compare", **variables, ARGUMENTS="--pairs\n20\n\n--only\n$(touch x) *\n")
    assert code == 0
    assert outputs["exit-code"] == "1"
    words = (tmp_path / "words").read_text().splitlines()
    assert words[:3] == ["compare", "-b", "a b.json"]
    assert words[words.index("--control") + 1] == base
    assert words[words.index("--treatment") + 1] == head
    assert words[-4:] == ["--pairs", "20", "--only", "$(touch x) *"]
    assert not (tmp_path / "x").exists()
    with receive(github) as server:
        job = Job(tmp_path, server)
        variables = {"PAGE": outputs["page"], "LOG": outputs["log"], "EXIT_CODE": "1", "ALLOW": "undecided", "KEY": ""}
        code, _ = Step(tmp_path).run("Report", **job.environment, **variables, COMMENT="true", PYTHONPATH=str(ROOT))
    assert code == 1
    assert "compared" in github.comments[7][1]


def test_the_action_gives_inputs_to_scripts_as_variables_only() -> None:
    document = yaml.safe_load(ACTION.read_text())
    for step in document["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    used = json.dumps(document["runs"])
    assert all(f"inputs.{name} " in used for name in document["inputs"])


def test_the_flags_of_the_action_are_those_of_the_command(flags_of_compare: set[str]) -> None:
    used = {word for word in yaml.safe_load(ACTION.read_text())["runs"]["steps"][1]["run"].split() if word[:2] == "--"}
    assert used - {"--verify"} <= flags_of_compare
