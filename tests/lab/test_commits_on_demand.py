"""Commits that persons ask for: built, measured alone or compared, and stored once whatever is killed meanwhile."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import JsonValue

from tests.cli.project import Project, generic, one_test
from tests.cli.scripts import History, git_of_scripts
from tests.lab.labs import BEGINNING_S, Lab, Process, open_lab, start
from tests.lab.test_runs_on_demand import count_results, wait_for_end
from tests.processes import wait_until
from tests.server.process import ServerProcess, run_server

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("lab")]
pytest.importorskip("distributed")
pytest.importorskip("fastapi")


@contextlib.contextmanager
def dispatch(lab: Lab, server: ServerProcess, project: Project, clone: History, name: str) -> Iterator[Process]:
    """Let a lab take requests for the commits of a repository."""
    words = ("lab", "dispatch", lab.address, "--requests-from", server.url, "--lease", "6")
    offered = ("--specifications", str(project.folder / "offered"), "--repositories", f"scripts={clone.folder}")
    cache = ("--cache-dir", str(lab.folder / "dispatching"))
    process = start(lab.folder, name, *words, *offered, "--frameworks-dir", str(clone.recipes), *cache)
    try:
        process.wait_for("takes requests from")
        wait_until(lambda: bool(server.get("/api/v1/offers").json()["device_classes"]), BEGINNING_S)
        yield process
    finally:
        process.stop()


def ask(server: ServerProcess, commit: str, control: str = "", pairs: int = 0) -> str:
    wanted: dict[str, JsonValue] = {"specification": "work", "device_class": "green", "repository": "scripts"}
    answer = server.post("/api/v1/requests", json={**wanted, "commit": commit, "control": control, "pairs": pairs})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def results_of(server: ServerProcess, ended: dict[str, Any]) -> list[dict[str, Any]]:
    return [server.get(f"/api/v1/results/{uid}").json() for uid in ended["results"]]


def git(clone: History, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=clone.folder, check=True, capture_output=True)


@pytest.fixture
def clone(project: Project) -> History:
    return offer_clone(project)


def offer_clone(project: Project, **levels: float) -> History:
    """A repository with a pull request, which no branch contains, and a specification that its commits run."""
    project.write("offered/work.json", generic(one_test("work", "{program}", threads=1)))
    clone = git_of_scripts(project, **levels)
    git(clone, "update-ref", "refs/pull/7/head", clone.commits["broken"])
    git(clone, "reset", "--quiet", "--hard", clone.commits["same"])
    git(clone, "tag", "v1", clone.commits["base"])
    return clone


def test_commits_are_measured_and_compared_for_persons(project: Project, clone: History) -> None:
    base, slower, same = (clone.commits[name] for name in ("base", "slower", "same"))
    with (
        run_server(project.folder / "server") as server,
        open_lab(project.folder) as lab,
        lab.host("green"),
        dispatch(lab, server, project, clone, "dispatcher"),
    ):
        assert server.get("/api/v1/offers").json()["repositories"] == ["scripts"]
        asked = [ask(server, "main"), ask(server, slower[:10], "v1", pairs=60), ask(server, "#7", "main")]
        asked += [ask(server, "main", same), ask(server, "nosuch"), ask(server, clone.commits["broken"])]
        alone, compared, failed, equal, unknown, hidden = (wait_for_end(server, identity) for identity in asked)
        assert (alone["state"], alone["commit_id"]) == ("done", same), alone
        (result,) = results_of(server, alone)
        assert (result["build"]["commit"], result["build"]["commit_name"]) == (same, "main")
        assert result["comparison"] is None
        assert (compared["state"], compared["commit_id"], compared["control_id"]) == ("done", slower, base), compared
        (result,) = results_of(server, compared)
        assert result["comparison"]["verdict"] == "regression"
        assert len(result["comparison"]["pairs"]) <= 60
        page = server.get("/requests", headers={"Accept": "text/html"}).text
        assert "regression" in page
        assert f'scripts <span class="commit">{slower[:10]}</span> against' in page
        assert (failed["state"], failed["attempts"]) == ("failed", 1)
        assert "cannot be built" in failed["reason"]
        (result,) = results_of(server, failed)
        assert "No such file" in result["reason"]
        assert (equal["state"], equal["results"]) == ("failed", [])
        assert "are both" in equal["reason"]
        assert "scripts has no commit nosuch" in unknown["reason"]
        assert "no branch and no tag of scripts contains" in hidden["reason"]
        assert count_results(server) == 3


@pytest.mark.exhaustive
def test_a_comparison_goes_on_where_a_killed_dispatcher_left_it(project: Project) -> None:
    """The second one has the batches of the first, and what the branch meant then, although it has moved."""
    clone = offer_clone(project, slower=1.05, noise=0.2)  # so that one batch of pairs does not decide
    launches = project.folder / "launches" / "slower"
    with run_server(project.folder / "server") as server, open_lab(project.folder) as lab, lab.host("green"):
        git(clone, "branch", "next", clone.commits["slower"])
        with dispatch(lab, server, project, clone, "first") as first:
            asked = ask(server, "next", "v1", pairs=150)
            kept = lab.folder / "dispatching" / "lab" / "comparisons"
            wait_until(lambda: any(file.read_text().count("\n") > 1 for file in kept.glob("*.jsonl")), BEGINNING_S)
            first.kill()
            before = server.get(f"/api/v1/requests/{asked}").json()
        assert before["state"] == "running", "else the kill came too late to show anything"
        assert before["commit_id"] == clone.commits["slower"]
        git(clone, "branch", "--force", "next", clone.commits["same"])
        with dispatch(lab, server, project, clone, "second"):
            ended = wait_for_end(server, asked)
        assert (ended["state"], ended["attempts"], ended["commit_id"]) == ("done", 2, before["commit_id"]), ended
        (result,) = results_of(server, ended)
        assert result["build"]["commit"] == before["commit_id"]
        assert result["comparison"]["verdict"] == "regression"
        starts = [launch["started"] for launch in result["launches"]]
        assert len(set(starts)) == len(starts), "no pair counts twice"
        assert len(launches.read_text()) >= len(starts)
        assert count_results(server) == 1
