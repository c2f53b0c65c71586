"""Models in the bundle of an app: put there, others removed, signed again, packed."""

from __future__ import annotations

import stat
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentProblem
from platforms.ios.apps.packages import PackageInfo, read_package
from platforms.ios.apps.repacking import BundledFiles, put_files
from tests.platforms.ios.apps.benchmark_apps import benchmark_app

SIGN = f"""'{sys.executable}' -c '
import pathlib, sys
folder = pathlib.Path(sys.argv[1], "_CodeSignature")
folder.mkdir(exist_ok=True)
(folder / "CodeResources").write_text("signed again")' {{app}}"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "content"
    path.write_bytes(b"model" * 1000)
    return path


def put(package: PackageInfo, files: Mapping[str, Path], folder: Path, sign: str | None = SIGN) -> Path:
    folder.mkdir()
    return put_files(package, BundledFiles("Tests.xctest", files), sign, folder)


def names_in(package: Path) -> set[str]:
    with zipfile.ZipFile(package) as archive:
        return {name.removeprefix("Payload/Benchmark.app/") for name in archive.namelist()}


def test_a_model_is_put_into_the_bundle_and_the_app_signed_again(tmp_path: Path, model: Path) -> None:
    package = read_package(benchmark_app(tmp_path, {"PlugIns/Tests.xctest/Resources/other.pte": b"other"}))
    changed = put(package, {"mv2.pte": model}, tmp_path / "new")
    assert names_in(changed) == {
        *("Benchmark", "Info.plist", "aatp/data/mv2.pte", "PlugIns/Tests.xctest/Tests", "_CodeSignature/CodeResources"),
    }
    with zipfile.ZipFile(changed) as archive:
        assert archive.read("Payload/Benchmark.app/aatp/data/mv2.pte") == model.read_bytes()
        assert archive.read("Payload/Benchmark.app/_CodeSignature/CodeResources") == b"signed again"
        program = archive.getinfo("Payload/Benchmark.app/Benchmark")
        assert (program.external_attr >> 16) & stat.S_IXUSR
    again = read_package(changed)
    assert (again.bundle, again.executable_sha256) == (package.bundle, package.executable_sha256)
    assert "PlugIns/Tests.xctest/Resources/other.pte" in names_in(package.path)


@pytest.mark.parametrize("place", ["aatp/data", "Resources", "PlugIns/Tests.xctest/Resources"])
def test_an_app_that_has_the_model_already_is_not_touched(tmp_path: Path, model: Path, place: str) -> None:
    package = read_package(benchmark_app(tmp_path, {f"{place}/mv2.pte": model.read_bytes()}))
    assert put(package, {"mv2.pte": model}, tmp_path / "new", sign=None) == package.path


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"aatp/data/mv2.pte": b"model" * 999 + b"modem"},
        {"aatp/data/mv2.pte": b"model" * 1000, "Resources/mv3.pte": b""},
        {"aatp/data/mv2.pte": b"model" * 1000, "Resources/mv2.pte": b"another content"},
        {"elsewhere/mv2.pte": b"model" * 1000},
    ],
)
def test_without_a_command_to_sign_it_says_that_ios_refuses_a_changed_app(
    tmp_path: Path, model: Path, members: dict[str, bytes]
) -> None:
    package = read_package(benchmark_app(tmp_path, members))
    with pytest.raises(
        EnvironmentProblem, match=r"mv2\.pte must be put into .* iOS refuses an app that was changed"
    ) as raised:
        put(package, {"mv2.pte": model}, tmp_path / "new", sign=None)
    assert "--ios-sign" in (raised.value.hint or "")


def test_a_command_that_fails_leaves_no_package(tmp_path: Path, model: Path) -> None:
    package = read_package(benchmark_app(tmp_path, {}))
    with pytest.raises(EnvironmentProblem, match="was not signed"):
        put(package, {"mv2.pte": model}, tmp_path / "new", sign="false {app}")
    assert not list((tmp_path / "new").glob("*.ipa"))


def test_a_digest_tells_contents_names_and_packages_apart(tmp_path: Path, model: Path) -> None:
    package = read_package(benchmark_app(tmp_path, {}))
    (tmp_path / "2").mkdir()
    newer = read_package(benchmark_app(tmp_path / "2", {"more": b""}))
    (other := tmp_path / "other").write_bytes(b"other")
    digests = {
        BundledFiles("Tests.xctest", files).digest(each)
        for each in (package, newer)
        for files in ({"a.pte": model}, {"b.pte": model}, {"a.pte": other}, {"a.pte": model, "b.pte": model})
    }
    assert len(digests) == 8
