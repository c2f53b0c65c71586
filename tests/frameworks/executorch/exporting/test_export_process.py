"""Exports as the harness makes them: in processes of their own."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from frameworks.executorch.exporting.companions import GRAPH, NODES
from frameworks.executorch.exporting.exporter import EXPORTER
from frameworks.exporting import exporter
from frameworks.exporting.companions import LOG, REPORT, beside
from frameworks.exporting.exporter import progress_parser
from harness import shell
from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.core.command import Command
from harness.core.errors import ExportFailed
from harness.core.program_graph import ProgramGraph
from tests.processes import is_running, wait_until, written
from tests.shared_folders import share_mobilenet_v2

NETS = """
import os, signal, sys, time
from pathlib import Path
import torch

def scaled(factor=1.0, bias=True, note=""):
    print("noise of a user's model")
    assert note == "kept", note
    return torch.nn.Linear(4, int(4 * factor), bias=bias), (torch.randn(1, 4),)

def killed():
    os.kill(os.getpid(), signal.SIGKILL)

def endless(started):
    Path(started).write_text(str(os.getpid()))
    time.sleep(600)

def leaving():
    sys.exit(0)

def failing():
    print("the last thing that was tried")
    raise ValueError("no such checkpoint")
"""


class RecordedUpdates:
    def __init__(self) -> None:
        self.updates: list[tuple[str | None, float | None, float | None]] = []

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        self.updates.append((text, completed, total))


@pytest.fixture
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "process_nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    yield
    assert not [file for file in tmp_path.rglob(".*") if file.name.startswith(".program")]


def export(wanted: Export, folder: Path) -> ExportReport:
    return EXPORTER.export(wanted, folder / "cache" / "program.pte", RecordedUpdates())


def md5(file: Path) -> str:
    return hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    ("definition", "recipe", "words"),
    [("mv4", "portable", "model definition `mv4`"), ("mlp", "xnnpack", "export recipe `xnnpack`")],
)
def test_unknown_names_fail_before_a_process_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, definition: str, recipe: str, words: str
) -> None:
    monkeypatch.setattr("harness.shell.run", None)

    with pytest.raises(ExportFailed, match=words):
        export(Export(definition=definition, recipe=recipe), tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_export_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "_TIMEOUT_S", 0.3)

    with pytest.raises(ExportFailed, match=r"did not end within 0\.3 s and was killed") as failure:
        export(Export(definition="mlp", recipe="portable"), tmp_path)

    assert "smaller" in (failure.value.hint or "")
    assert [file.name for file in (tmp_path / "cache").iterdir()] == [f"program.pte{LOG}"]


def test_an_unwritable_path_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")

    with pytest.raises(ExportFailed, match=r"cannot write .*program\.pte"):
        export(Export(definition="mlp", recipe="portable"), tmp_path)


def test_progress_lines_become_updates() -> None:
    progress = RecordedUpdates()
    tell = progress_parser(progress)
    for line in ("progress: making mlp", "noise", "progress: quantising 3/8"):
        tell(line)

    assert progress.updates == [("making mlp", None, None), ("quantising", 3.0, 8.0)]


@pytest.mark.slow
def test_two_processes_export_the_same_program(tmp_path: Path) -> None:
    wanted = Export(definition="mlp", recipe="xnnpack_q8", calibration=2, seed=3)
    program, progress = tmp_path / "program.pte", RecordedUpdates()

    report = EXPORTER.export(wanted, program, progress)
    again = export(wanted, tmp_path)

    assert report.md5 == again.md5 == md5(program)
    assert report.weights_md5 == again.weights_md5
    assert report.size_bytes == program.stat().st_size
    assert report.export == wanted
    assert report.parameters == 874
    assert {"import", "model", "lower", "emit"} == report.seconds.keys()
    assert {"torch", "executorch", "torchao", "torchvision", "python", "cpu_capability"} == report.versions.keys()
    assert 100 << 20 < (report.peak_memory_bytes or 0) < 2 << 30
    assert ("quantising", 2.0, 2.0) in progress.updates
    assert ExportReport.model_validate_json(beside(program, REPORT).read_bytes()) == report
    assert beside(program, GRAPH).read_text().startswith("graph():")
    nodes = ProgramGraph.model_validate_json(beside(program, NODES).read_bytes())
    assert report.delegation is not None
    (call,) = nodes.instructions
    assert (call.index, call.kernel, call.delegate) == (0, None, "XnnpackBackend")
    assert len(call.nodes) == report.delegation.delegated_count
    assert [
        (node.module, node.exported) for node in nodes.nodes_of(call) if node.operator == "aten.linear.default"
    ] == [
        ("0", "linear"),
        ("2", "linear_1"),
    ]
    assert {file.name for file in (tmp_path / "cache").iterdir()} == {
        "program.pte",
        f"program.pte{GRAPH}",
        f"program.pte{NODES}",
        f"program.pte{REPORT}",
    }


@pytest.mark.slow
@pytest.mark.usefixtures("nets")
def test_a_user_function_receives_its_options(tmp_path: Path) -> None:
    wanted = Export(
        definition="process_nets:scaled",
        recipe="portable",
        options={"factor": 0.5, "bias": False, "note": "kept"},
    )
    old_log = beside(tmp_path / "cache" / "program.pte", LOG)
    old_log.parent.mkdir()
    old_log.write_text("of an earlier failure")

    assert export(wanted, tmp_path).parameters == 8
    nodes = ProgramGraph.model_validate_json(beside(tmp_path / "cache" / "program.pte", NODES).read_bytes())
    kernels = [instruction.kernel for instruction in nodes.instructions]
    assert kernels == ["aten::permute_copy.out", "aten::mm.out"]
    assert all(nodes.nodes_of(instruction) for instruction in nodes.instructions)
    assert {node.exported for node in nodes.nodes} == {"linear"}
    assert [node.output for node in nodes.nodes] == ["float32 [4, 2]", "float32 [1, 2]"]
    assert not old_log.exists()


@pytest.mark.slow
@pytest.mark.usefixtures("nets")
@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("failing", "ValueError: no such checkpoint"),
        ("killed", "was ended by SIGKILL.*making process_nets:killed"),
        pytest.param("leaving", "ended without writing a program", marks=pytest.mark.exhaustive),
    ],
)
def test_a_failure_is_reported_and_leaves_no_program(tmp_path: Path, function: str, words: str) -> None:
    with pytest.raises(ExportFailed, match=words) as failure:
        export(Export(definition=f"process_nets:{function}", recipe="portable"), tmp_path)

    log = tmp_path / "cache" / f"program.pte{LOG}"
    assert str(log) in (failure.value.hint or "")
    assert list(log.parent.iterdir()) == [log]
    if function == "failing":
        assert "the last thing that was tried" in log.read_text()
        assert "Traceback" in log.read_text()


HARNESS = """
import sys
from pathlib import Path
from frameworks.executorch.exporting.exporter import EXPORTER
from harness.core.benchmark import Export

class Silent:
    def update(self, **_): pass

options = {"started": sys.argv[1]}
EXPORTER.export(Export(definition="process_nets:endless", recipe="portable", options=options), Path("p.pte"), Silent())
"""


@pytest.mark.slow
@pytest.mark.usefixtures("nets")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_a_killed_harness_leaves_no_export_behind(tmp_path: Path) -> None:
    started = tmp_path / "started"
    with subprocess.Popen([sys.executable, "-c", HARNESS, str(started)]) as harness:
        wait_until(lambda: written(started))
        process = int(started.read_text())
        assert is_running(process)
        harness.kill()
        harness.wait()
        try:
            wait_until(lambda: not is_running(process))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_an_export_does_not_begin_after_the_harness_has_exited(tmp_path: Path) -> None:
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    nowhere = str(tmp_path / "nowhere")
    argv = (sys.executable, "-m", "frameworks.executorch.exporting.process", nowhere, nowhere, str(gone.pid))
    completed = shell.run(Command(argv))
    assert (completed.signal, completed.stderr) == (signal.SIGKILL, "")


@pytest.mark.slow
def test_a_hint_of_the_export_process_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(ExportFailed, match="options of `mlp`: got an unexpected keyword") as failure:
        export(Export(definition="mlp", recipe="portable", options={"hiden": 3}), tmp_path)

    assert "it takes: in_features, hidden, out_features" in (failure.value.hint or "")


@pytest.mark.slow
def test_xnnpack_delegates_all_of_mobilenet_v2(tmp_path_factory: pytest.TempPathFactory) -> None:
    delegation = share_mobilenet_v2(tmp_path_factory)[1].delegation

    assert delegation is not None
    assert (delegation.subgraphs, delegation.delegated_count, delegation.non_delegated_count) == (1, 205, 1)
    assert delegation.delegated["convolution"] == 52
    assert delegation.delegated["add"] == 10


RECIPES = """
import torch
from executorch.exir import to_edge_transform_and_lower

def lower_plainly(module, example_inputs, calibration):
    return to_edge_transform_and_lower(torch.export.export(module, example_inputs))

def returns_nothing(module, example_inputs, calibration):
    pass
"""


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_recipe_of_the_user_lowers_by_function_and_by_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed"
    information = installed / "acme-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[edge_harness.executorch.recipes]\nplain = acme_lowering:lower_plainly\n"
    )
    (installed / "acme_lowering.py").write_text(RECIPES)
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.setenv("PYTHONPATH", str(installed))

    by_function = export(Export(definition="mlp", recipe="acme_lowering:lower_plainly"), tmp_path / "function")
    by_name = export(Export(definition="mlp", recipe="plain"), tmp_path / "name")

    assert by_function.md5 == by_name.md5 == export(Export(definition="mlp", recipe="portable"), tmp_path / "ours").md5


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_recipe_that_returns_no_program_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "careless_recipes.py").write_text(RECIPES)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ExportFailed, match="recipe `careless_recipes:returns_nothing` returned NoneType") as failure:
        export(Export(definition="mlp", recipe="careless_recipes:returns_nothing"), tmp_path)

    assert "EdgeProgramManager" in (failure.value.hint or "")
