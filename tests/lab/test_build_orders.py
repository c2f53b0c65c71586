"""Archives of commits and recipes, and the key by which builds of a lab are one."""

from __future__ import annotations

import io
import os
import tarfile
import time
from pathlib import Path
from typing import Any, cast

import pytest

from harness.builders.recipes import find_recipe
from harness.config.settings import Settings
from harness.core.build import COMPILED_WITH, BuildInfo
from harness.core.commit import Commit
from harness.core.device import Device
from harness.core.errors import BuildFailed
from harness.core.outcome import Outcome
from harness.files.digests import sha256_of_file, sha256_of_folder
from harness.lab.builds.orders import BuildOrder, pack_folder, pack_recipe, unpack
from harness.lab.jobs import LabFile, Place, SideOfPairs, own_versions
from harness.lab.measuring import report_no_build
from harness.lab.sides import BuiltSides, SentRunner
from harness.lab.targets import Target
from tests.running.players import benchmark

FILE = LabFile(sha256="a" * 64, name="recipe.tar", size_bytes=1)


def make_order(**values: object) -> BuildOrder:
    usual = {
        "commit": Commit(source="git:/here", id="b" * 40),
        "framework": "generic",
        "platform": "android",
        "abi": "arm64-v8a",
        "kind": "build-android",
        "recipe_digest": "c" * 64,
        "submodules": "all",
        "recipe": FILE,
        "versions": own_versions(),
    }
    return BuildOrder.model_validate({**usual, **values})


def test_the_same_commit_in_another_clone_is_the_same_build() -> None:
    elsewhere = Commit(source="git:/elsewhere", id="b" * 40, subject="another view of it")
    assert make_order(commit=elsewhere, name="main", files=FILE).key == make_order().key


@pytest.mark.parametrize(
    "values",
    [
        *({"commit": Commit(source="git:/here", id="d" * 40)}, {"framework": "other"}, {"platform": "host"}),
        *({"abi": "x86_64"}, {"kind": "build-host-macos-arm64"}, {"recipe_digest": "d" * 64}, {"submodules": "none"}),
    ],
)
def test_whatever_determines_a_build_makes_another(values: dict[str, object]) -> None:
    assert make_order(**values).key != make_order().key


def test_a_folder_is_the_same_archive_whenever_it_was_written(tmp_path: Path) -> None:
    folder, other = tmp_path / "a", tmp_path / "b"
    for number, place in enumerate((folder, other)):
        (place / "sub" / ".git").mkdir(parents=True)
        (place / "sub" / ".git" / "config").write_text(str(number))
        (place / ".git").write_text(f"gitdir: {number}")
        (place / "build.sh").write_text("true")
        (place / "build.sh").chmod(0o700 if number else 0o755)
        (place / "sub" / "link").symlink_to("../build.sh")
        os.utime(place / "build.sh", (number, number))
        pack_folder(place, tmp_path / f"{number}.tar")
    assert sha256_of_file(tmp_path / "0.tar") == sha256_of_file(tmp_path / "1.tar")
    unpack(tmp_path / "0.tar", tmp_path / "out")
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*")) == [
        *("build.sh", "sub", "sub/link")
    ]
    assert (tmp_path / "out" / "sub" / "link").read_text() == "true"
    assert os.access(tmp_path / "out" / "build.sh", os.X_OK)
    assert abs((tmp_path / "out" / "build.sh").stat().st_mtime - time.time()) < 3600, "build tools expect the present"


@pytest.mark.parametrize(("name", "link"), [("../out", ""), ("link", "/etc/passwd"), ("link", "../../x")])
def test_nothing_leads_out_of_the_folder(tmp_path: Path, name: str, link: str) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as packed:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = (tarfile.SYMTYPE, link) if link else (tarfile.REGTYPE, "")
        packed.addfile(member, io.BytesIO())
    with pytest.raises(tarfile.TarError):
        unpack(tmp_path / "x.tar", tmp_path / "folder")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["generic/host", "generic"])
def test_a_recipe_is_the_same_where_it_was_sent(tmp_path: Path, place: str) -> None:
    for name in (
        f"{place}/build.sh",
        f"{place}/deep/part.cmake",
        "generic/shared.cmake",
        "common.sh",
        "other/host/build.sh",
    ):
        (tmp_path / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "own" / name).write_text(name)
    recipe = find_recipe("generic", "host", [tmp_path / "own"])
    pack_recipe(recipe, tmp_path / "recipe.tar")
    unpack(tmp_path / "recipe.tar", tmp_path / "sent")
    sent = find_recipe("generic", "host", [tmp_path / "sent"])
    assert (sent.digest, sent.name) == (recipe.digest, place)
    assert not (tmp_path / "sent" / "other").exists()
    assert sha256_of_folder(tmp_path / "sent" / "generic") == sha256_of_folder(tmp_path / "own" / "generic")


def test_a_build_that_failed_is_reported_with_the_end_of_its_log() -> None:
    device = Device(platform="android", identity="1", name="phone")
    target = Target(
        "phone", "class-phone", (Place(device=device, device_class="phone", host="h", versions=own_versions()),)
    )
    error = BuildFailed("generic b cannot be built\n    error: no such header", hint="the whole log is /x")
    report = report_no_build(benchmark(), target, error, Settings(), "uid")
    assert (report.result.uid, report.result.outcome) == ("uid", Outcome.FAILED)
    assert report.result.reason == "generic b cannot be built"
    assert [(log.name, "no such header" in log.text) for log in report.logs] == [("build.log", True)]


class Builder:
    """Builder whose hosts have the toolchains that a test says, one after the other; this machine has `mine`."""

    def __init__(self, *toolchains: str) -> None:
        self.toolchains = list(toolchains)
        self.asked: list[str] = []

    def provide(self, runner: str, framework: str, target: Target, *, toolchain: str = "") -> SentRunner:
        self.asked.append(toolchain)
        return self._sent(runner, self.toolchains.pop(0))

    def provide_here(self, runner: str, framework: str, target: Target) -> SentRunner:
        return self._sent(runner, "mine")

    def _sent(self, runner: str, toolchain: str) -> SentRunner:
        build = BuildInfo(source="git:/here", commit=runner, flags={COMPILED_WITH: toolchain})
        return SentRunner(SideOfPairs(build=build), toolchain=toolchain)


@pytest.mark.parametrize(
    ("toolchains", "expected"),
    [(("a", "a"), "a"), (("a", "b"), "mine"), (("mine", "a"), "mine"), (("a", "mine"), "mine")],
)
def test_both_sides_are_built_by_one_toolchain(toolchains: tuple[str, str], expected: str) -> None:
    builder = Builder(*toolchains)
    sides = BuiltSides(cast("Any", ("old", "new")), cast("Any", builder))("generic", cast("Any", None))
    assert builder.asked == ["", toolchains[0]]
    for side, commit in ((sides.control, "old"), (sides.treatment, "new")):
        assert side is not None
        assert side.build is not None
        assert (side.build.commit, side.build.flags[COMPILED_WITH]) == (commit, expected)
