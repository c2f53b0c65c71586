"""Builds for phones as jobs of a lab: cross-compiled by a host that builds, measured on phones of another one."""

from __future__ import annotations

import pytest

from frameworks.executorch.runners.toolchain import find_cross_compiler
from harness.core.errors import BuildFailed
from harness.testing.phones import start_phones, unavailable_reason
from tests.builders.arm64_program import CMAKELISTS, source_of
from tests.builders.sources.repositories import GitRepository, missing
from tests.cli.project import Project, generic, one_test
from tests.lab.labs import builder, open_lab
from tests.lab.phones import phone_host

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive, pytest.mark.xdist_group("lab")]
pytest.importorskip("distributed")


def test_phones_measure_what_a_host_of_the_lab_cross_compiled(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = unavailable_reason()
    try:
        find_cross_compiler(project.folder, "aarch64")
    except BuildFailed as problem:
        reason = str(problem)
    if reason is not None:
        missing(reason)
    git = GitRepository(project.folder / "program")
    commits = [git.commit(f"{us} us", {"CMakeLists.txt": CMAKELISTS, "thing.c": source_of(us)}) for us in (100, 200)]
    spec = project.write("spec.json", generic(one_test("a", "{program}")))
    with (
        start_phones(1, abi="arm64-v8a") as phones,
        open_lab(project.folder) as lab,
        phone_host(lab, "green", monkeypatch, phones),
        builder(lab, "builder", "android"),
    ):
        sides = ("--repo-dir", git.path, "--control", commits[0], "--treatment", commits[1], "--pairs", "1")
        done = project.harness("compare", spec, "--lab", lab.address, *sides)
    (result,) = (result for result in done.read() if result["comparison"])
    assert result["outcome"] == "ok", (result["reason"], done.stderr)
    (pair,) = result["comparison"]["pairs"]
    assert (pair["control"][0], pair["treatment"][0]) == (100, 200)
    assert (result["build"]["flags"]["libc"], result["build"]["flags"]["abi"]) == ("glibc", "arm64-v8a")
    assert done.stderr.count("built it in") == 2
    assert not (project.cache / "builds" / "builds").exists(), "the client built nothing"
