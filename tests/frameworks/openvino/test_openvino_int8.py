"""The recipe `int8`, with the real NNCF."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from frameworks import openvino
from frameworks.openvino import archive
from harness import shell
from harness.config.settings import Settings
from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem
from harness.display.quiet import QuietTask
from harness.files.digests import md5_of_file
from tests.frameworks.nncf_packages import provide_nncf

pytestmark = pytest.mark.slow

MLP = Export(definition="mlp", recipe="int8")


@pytest.fixture(scope="module")
def _nncf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with provide_nncf(tmp_path_factory):
        yield


@pytest.fixture(scope="module")
def quantised(_nncf: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExportReport]:
    path = tmp_path_factory.mktemp("int8") / "mlp.zip"
    return path, openvino.create(Settings(cache_dir=path.parent)).export(MLP, path, QuietTask())


def outputs_of(model: Path, tmp_path: Path) -> tuple[float, ...]:
    """Return the outputs of two examples."""
    (tmp_path / "x.bin").write_bytes(struct.pack("<32f", *(value / 16 for value in range(32))))
    program = openvino.create(Settings(cache_dir=tmp_path / "cache"))._python_build().programs["program"]
    words = ("--threads", "1", "--examples", "2", "--inputs", tmp_path / "x.bin", "--outputs", tmp_path / "y")
    completed = shell.run(Command((str(program), "--model", str(model), *map(str, words)), timeout_s=300))
    assert completed.ok, completed.stderr
    return struct.unpack("<20f", (tmp_path / "y-0.bin").read_bytes())


def test_weights_and_activations_are_quantised(
    quantised: tuple[Path, ExportReport], exported: tuple[Path, ExportReport], tmp_path: Path
) -> None:
    graph = archive.read(quantised[0]).graph.decode()
    assert len(re.findall('type="FakeQuantize"', graph)) == 2  # the activations before both layers
    assert len(re.findall('element_type="i8"', graph)) == 2  # and their weights
    assert quantised[1].weights_md5 == exported[1].weights_md5 is not None
    assert quantised[1].versions["nncf"].startswith("3.1.")
    exact, rounded = outputs_of(exported[0], tmp_path), outputs_of(quantised[0], tmp_path)
    assert rounded == pytest.approx(exact, abs=0.5)
    assert rounded != pytest.approx(exact, rel=1e-5)


@pytest.mark.exhaustive
def test_exports_of_two_processes_are_equal(quantised: tuple[Path, ExportReport], tmp_path: Path) -> None:
    again = tmp_path / "again.zip"
    openvino.create(Settings(cache_dir=tmp_path)).export(MLP, again, QuietTask())
    assert md5_of_file(again) == md5_of_file(quantised[0]) == quantised[1].md5


def test_without_nncf_its_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nncf.py").write_text("raise ImportError('no NNCF here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    with pytest.raises(EnvironmentProblem, match=r"no NNCF here|nncf is not installed") as failure:
        openvino.create(Settings(cache_dir=tmp_path)).export(MLP, tmp_path / "mlp.zip", QuietTask())
    assert "openvino-int8" in (failure.value.hint or "")
