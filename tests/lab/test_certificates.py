"""Certificates of a lab: its own are enough, foreign ones and none are refused."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentProblem, UsageError
from tests.cli.project import Outcome, Project, generic, observe, one_test
from tests.lab.labs import Lab, open_lab

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from harness.lab.certificates import AUTHORITY_KEY, make_certificate

HERE = "127.0.0.1"


@pytest.mark.parametrize(
    "host", ["", "-a", "a/b", "../a", "a b", "a\nb", "a\0", "x" * 300, "a..b", ".", "lab.", "ca.pem"]
)
def test_what_is_no_name_of_a_host_is_refused(host: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no name of a host"):
        make_certificate(host, tmp_path / "authority")
    assert list(tmp_path.iterdir()) == []


def test_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    own = make_certificate("lab", tmp_path / "authority")
    assert sorted(file.name for file in own.iterdir()) == ["ca.pem", "this.pem"]
    for key in (own / "this.pem", tmp_path / "authority" / AUTHORITY_KEY):
        assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_one_authority_vouches_for_all_hosts(tmp_path: Path) -> None:
    folders = [make_certificate(host, tmp_path) for host in ("lab", "::1", "10.0.0.7")]
    assert len({(folder / "ca.pem").read_bytes() for folder in folders}) == 1
    assert len({(folder / "this.pem").read_bytes() for folder in folders}) == 3


def test_a_damaged_authority_is_an_error_and_no_new_one(tmp_path: Path) -> None:
    make_certificate("lab", tmp_path)
    (tmp_path / AUTHORITY_KEY).write_text("no key")
    with pytest.raises(EnvironmentProblem, match="no certificate could be made"):
        make_certificate("other", tmp_path)
    assert not (tmp_path / "other").exists()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("authority")
    make_certificate(HERE, folder)
    return folder


@pytest.fixture(scope="module")
def lab(authority: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    certificates = ("--certificates", str(authority / HERE))
    with (
        open_lab(tmp_path_factory.mktemp("lab"), "--host", "0.0.0.0", *certificates) as opened,
        opened.host("green", *certificates),
    ):
        yield opened


def _measure(lab: Lab, project: Project, *flags: str, scheme: str = "tls") -> Outcome:
    spec = project.write("spec.json", generic(one_test("a", observe(5, 6))))
    port = lab.address.rpartition(":")[2]
    return project.harness(spec, "--lab", f"{scheme}://{HERE}:{port}", *flags)


@pytest.mark.slow
@pytest.mark.xdist_group("lab")
def test_a_machine_with_a_certificate_measures(lab: Lab, authority: Path, project: Project) -> None:
    assert lab.address.startswith("tls://")
    done = _measure(lab, project, "--lab-certificates", str(authority / HERE))
    assert done.code == 0, done.stderr
    assert " - INFO - " not in lab.scheduler.text
    assert "distributed" not in (lab.folder / "green.log").read_text()


@pytest.mark.slow
@pytest.mark.xdist_group("lab")
def test_a_foreign_certificate_is_refused(lab: Lab, project: Project, tmp_path: Path) -> None:
    foreign = make_certificate(HERE, tmp_path / "foreign")
    done = _measure(lab, project, "--lab-certificates", str(foreign))
    assert done.code == 3
    assert "does not answer" in done.stderr


@pytest.mark.slow
@pytest.mark.xdist_group("lab")
def test_a_machine_without_a_certificate_is_refused(lab: Lab, project: Project) -> None:
    done = _measure(lab, project, scheme="tcp")
    assert done.code == 3
    assert "does not answer" in done.stderr
    done = _measure(lab, project)
    assert done.code == 2
    assert "needs certificates" in done.stderr


@pytest.mark.slow
@pytest.mark.xdist_group("lab")
def test_a_folder_without_certificates_is_told(lab: Lab, project: Project) -> None:
    done = _measure(lab, project, "--lab-certificates", str(project.folder))
    assert done.code == 3
    assert "has no ca.pem and no this.pem" in done.stderr
