"""Builds of commits by a host of the lab: once for everybody, verified, and elsewhere when that host dies."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from harness.core.errors import ExitCode
from tests.cli.project import Project, generic, one_test
from tests.cli.scripts import History, git_of_scripts
from tests.lab.labs import BEGINNING_S, builder, client_of, measuring_children, open_lab
from tests.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("lab")]
pytest.importorskip("distributed")


@pytest.fixture
def clone(project: Project) -> History:
    clone = git_of_scripts(project)
    counted = project.folder / "builds"
    project.write("recipes/generic/host/build.sh", f'echo x >> "{counted}"\nsleep 3\nls -A "$1"\ncp "$1/runner" "$2"\n')
    project.write("spec.json", generic(one_test("work", "{program}", threads=1)))
    return clone


def count_builds(project: Project) -> int:
    return (project.folder / "builds").read_text().count("x")


def test_a_host_builds_each_commit_once_for_all_clients(project: Project, clone: History) -> None:
    """Two clients with clones of their own, and caches of their own, ask for the same commit at once."""
    spec = project.folder / "spec.json"
    base, slower = clone.commits["base"], clone.commits["slower"]
    second = project.folder / "second"
    subprocess.run(["git", "clone", "--quiet", str(clone.folder), str(second)], check=True)
    recipes = ("--frameworks-dir", str(clone.recipes))
    with open_lab(project.folder) as lab, lab.host("green"), builder(lab, "builder"):
        own = (*recipes, "--treatment", base, "--local-reporter")
        with (
            client_of(project, lab, spec, "--repo-dir", str(clone.folder), *own, str(project.folder / "r1")) as first,
            client_of(
                project,
                lab,
                spec,
                *("--repo-dir", str(second), *own, str(project.folder / "r2")),
                *("--cache-dir", str(project.folder / "cache-2")),
            ) as other,
        ):
            outputs = [client.communicate(timeout=BEGINNING_S)[0] for client in (first, other)]
        assert [first.returncode, other.returncode] == [0, 0], outputs
        assert count_builds(project) == 1
        assert all("a host of the lab builds it" in output or "had built it" in output for output in outputs)
        flags = ("--lab", lab.address, "--repo-dir", clone.folder, *recipes, "--control", base, "--treatment", slower)
        done = project.harness("compare", spec, *flags, "--seed", "3")
        assert done.code == ExitCode.REGRESSION, done.stderr
        assert "had built it" in done.stderr
        assert count_builds(project) == 2
        (result,) = (each for each in done.read() if each["comparison"] is not None)
        assert (result["comparison"]["control"]["commit"], result["build"]["commit"]) == (base, slower)
        assert result["build"]["source"] == f"git:{clone.folder}"
        assert result["build"]["commit_subject"] == "Make it slower"
        broken = project.harness("compare", spec, *flags[:-1], clone.commits["broken"])
        assert broken.code == ExitCode.ENVIRONMENT, broken.stderr
        assert count_builds(project) == 3, "a failed build is told, and not tried again"
        reasons = [each["reason"] for each in broken.read() if each["outcome"] == "failed"]
        assert "cannot be built" in reasons[0]
        (log,) = re.findall(r"the whole log, from \S+, is (\S+)", " ".join(broken.stdout.split()))
        (stored,) = (project.folder / "results").rglob("build.log.txt")
        assert Path(log).read_bytes() == stored.read_bytes() != b""
    assert not (project.cache / "builds" / "builds").exists(), "this machine built nothing"
    assert len(list((lab.folder / "green" / "lab" / "builds").iterdir())) == 2


@pytest.mark.exhaustive
def test_a_host_that_dies_while_it_builds_is_replaced(project: Project, clone: History) -> None:
    spec = project.folder / "spec.json"
    flags = ("--repo-dir", str(clone.folder), "--frameworks-dir", str(clone.recipes))
    with open_lab(project.folder) as lab, lab.host("green"):
        with builder(lab, "first") as first, builder(lab, "second") as second:
            with client_of(project, lab, spec, *flags, "--treatment", clone.commits["base"]) as client:
                hosts = (first, second)
                wait_until(lambda: any(measuring_children(host, "build.sh") for host in hosts), BEGINNING_S)
                (dying,) = (host for host in hosts if measuring_children(host, "build.sh"))
                dying.kill()
                output, _ = client.communicate(timeout=BEGINNING_S)
            assert client.returncode == 0, output
            assert "built it in" in output
        assert count_builds(project) == 2
        done = project.harness("run", spec, "--lab", lab.address, *flags, "--treatment", clone.commits["same"])
        assert done.code == 0, done.stderr
        assert "no host of the lab builds for host, so this machine does" in done.stderr
