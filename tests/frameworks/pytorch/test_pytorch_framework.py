"""PyTorch as a framework, with the real torch."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from frameworks import pytorch
from frameworks.observations.observer import parse_lines
from harness import shell
from harness.config.settings import Settings
from harness.core.benchmark import Export
from harness.core.command import Command, Completed
from harness.display.quiet import QuietTask
from tests.frameworks.running_sum import RUNNING_SUM

FORMS = ("eager", "torchscript", "lite_interpreter")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("torch-models")
    framework = pytorch.create(Settings(cache_dir=folder / "cache"))
    reports = {}
    for form in FORMS:
        file = folder / f"{form}.pt"
        reports[form] = framework.export(Export(definition="mlp", recipe=form), file, QuietTask())
    assert len({report.weights_md5 for report in reports.values()}) == 1
    return {form: folder / f"{form}.pt" for form in FORMS}


def run(tmp_path: Path, *words: str) -> Completed:
    framework = pytorch.create(Settings(cache_dir=tmp_path / "cache"))
    program = framework._python_build().programs["program"]
    return shell.run(Command((str(program), *words), timeout_s=300))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_same_outputs(models: dict[str, Path], tmp_path: Path, form: str) -> None:
    (tmp_path / "x.bin").write_bytes(struct.pack("<16f", *range(16)))
    outputs = {}
    for name in {form, "eager"}:
        base = str(tmp_path / name)
        files = ("--inputs", str(tmp_path / "x.bin"), "--outputs", base, "--examples", "1")
        completed = run(tmp_path, "--model", str(models[name]), "--threads", "1", *files)
        assert completed.ok, completed.stderr
        outputs[name] = struct.unpack("<10f", Path(f"{base}-0.bin").read_bytes())
    assert outputs[form] == pytest.approx(outputs["eager"], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["eager", "torchscript"])
def test_a_model_with_a_state_is_written_with_its_first_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    (tmp_path / "state_nets.py").write_text(RUNNING_SUM)
    monkeypatch.chdir(tmp_path)
    framework = pytorch.create(Settings(cache_dir=tmp_path / "cache"))
    export = Export(definition="state_nets:running_sum", recipe=form)
    framework.export(export, tmp_path / "sum.pt", QuietTask())
    (tmp_path / "x.bin").write_bytes(struct.pack("<6f", *[1.0] * 6))
    files = ("--inputs", str(tmp_path / "x.bin"), "--outputs", str(tmp_path / "y"), "--examples", "2")

    completed = run(tmp_path, "--model", str(tmp_path / "sum.pt"), "--threads", "1", *files)

    assert completed.ok, completed.stderr
    assert struct.unpack("<6f", (tmp_path / "y-0.bin").read_bytes()) == (1.0, 1.0, 1.0, 2.0, 2.0, 2.0)


@pytest.mark.slow
def test_samples_threads_and_form_are_observed(models: dict[str, Path], tmp_path: Path) -> None:
    words = ("--model", str(models["torchscript"]), "--threads", "1", "--warmup", "3", "--iter", "7")
    completed = run(tmp_path, *words, "--option", "freeze=true")
    observations, notes = parse_lines(completed.stdout)
    metrics = {observation.name: observation for observation in observations}
    assert not notes
    assert len(metrics["NET latency"].samples) == 7
    assert metrics["RUN threads"].samples == (1.0,)
    assert (metrics["RUN runtime"].info or "").endswith("torchscript")
    assert metrics["RUN freeze"].info == "true"


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_models_give_the_same_outputs(models: dict[str, Path], tmp_path: Path, backend: str) -> None:
    (tmp_path / "x.bin").write_bytes(struct.pack("<16f", *range(16)))
    outputs = {}
    for compiler in ("none", backend):
        base = str(tmp_path / compiler)
        files = ("--inputs", str(tmp_path / "x.bin"), "--outputs", base, "--warmup", "2", "--iter", "5")
        words = ("--model", str(models["eager"]), "--threads", "1", "--option", f"compile={compiler}")
        completed = run(tmp_path, *words, *files)
        assert completed.ok, completed.stderr
        metrics = {observation.name: observation for observation in parse_lines(completed.stdout)[0]}
        assert metrics["RUN compile"].info == compiler
        assert len(metrics["NET latency"].samples) == 5
        outputs[compiler] = struct.unpack("<10f", Path(f"{base}-0.bin").read_bytes())
    assert outputs[backend] == pytest.approx(outputs["none"], rel=1e-5, abs=1e-6)


@pytest.mark.slow
def test_an_option_that_a_form_cannot_have_is_refused(models: dict[str, Path], tmp_path: Path) -> None:
    completed = run(tmp_path, "--model", str(models["lite_interpreter"]), "--option", "precision=bf16")
    assert completed.exit_code == 2
    assert "precision=bf16 cannot be had with lite_interpreter" in completed.stderr


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x05\x06" + b"\0" * 18])
def test_files_that_are_no_archives_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "net.pt").write_bytes(content)
    completed = run(tmp_path, "--model", str(tmp_path / "net.pt"))
    assert (completed.exit_code, completed.stdout) == (3, "")
    assert "archive of torch" in completed.stderr
