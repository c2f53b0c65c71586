"""Options that the bytes of ExecuTorch's runners and libraries show."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.executorch.build_options import explain_options, read_options
from harness.core.build import Build
from harness.files.programs import prebuilt

PLAIN = b"\x7fELF\0Missing operator: [%zd] %s\0GCC: (GNU) 13.3.1 20240611\0XnnpackBackend\0"
"""Texts of the runtime that released libraries hold: without a tracer, ..."""
TRACED = PLAIN + b"OPERATOR_CALL\0"
"""... and with one."""


def runner(folder: Path, program: bytes, **libraries: bytes) -> Build:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program").write_bytes(program)
    (folder / "lib").mkdir(exist_ok=True)
    for name, content in libraries.items():
        (folder / "lib" / f"{name}.so").write_bytes(content)
    return prebuilt({"program": folder / "program"})


def test_a_runtime_that_traces_names_the_event_around_each_kernel(tmp_path: Path) -> None:
    plain, traced = (read_options(runner(tmp_path / name, content)) for name, content in (("a", PLAIN), ("b", TRACED)))
    assert plain["event_tracer"] == "off"
    assert traced == {**plain, "event_tracer": "on"}
    assert (plain["compiler"], plain["xnnpack"], plain["torch"]) == ("GCC 13.3.1", "on", "none")


def test_the_libraries_beside_a_runner_count_and_not_the_names_in_our_own(tmp_path: Path) -> None:
    ours = b'\x7fELF\0PyTorchObserver {"type"\0Missing operator: [\0GCC: (Debian 12.2.0-14) 12.2.0\0'
    traced = ours + b"OPERATOR_CALL\0"
    kernels = b"\x7fELF\0quantized_decomposed::add.out\0"
    old = read_options(runner(tmp_path / "old", traced, _portable_lib=PLAIN + b"libtorch_cpu.so\0"))
    new = read_options(runner(tmp_path / "new", ours, libexecutorch=TRACED, libexecutorch_kernels_quantized=kernels))
    assert {name: (old[name], new[name]) for name in old if old[name] != new[name]} == {
        "event_tracer": ("off", "on"),
        "quantized_kernels": ("off", "on"),
        "torch": ("linked", "none"),
    }
    assert old["runner"] == new["runner"] == "native"
    assert old["compiler"] == "GCC 13.3.1", "that of the runtime, not of the small program beside it"


def test_upstreams_runner_is_told_from_ours(tmp_path: Path) -> None:
    options = read_options(runner(tmp_path, PLAIN + b"\0model_path\0num_executions\0"))
    assert options["runner"] == "executor_runner"


def test_what_has_no_runtime_shows_no_options(tmp_path: Path) -> None:
    assert read_options(runner(tmp_path, b"#!/bin/sh\nexec something\n")) == {}
    assert read_options(Build(source="app", commit="installed")) == {}


def test_only_the_tracer_of_wheels_is_explained() -> None:
    assert "1.4.0 with 1.4.1" in (explain_options(["event_tracer", "torch"]) or "")
    assert explain_options(["torch"]) is None


@pytest.mark.slow
def test_the_installed_package_traces() -> None:
    wheel = pytest.importorskip("executorch", reason="executorch is not installed")
    package = Path(next(iter(wheel.__path__)))
    build = Build(
        source="installed",
        commit="1",
        recipe="native",
        flags={"package": str(package)},
        programs={"program": Path("/bin/sh")},
    )
    options = read_options(build)
    assert (options["event_tracer"], options["xnnpack"], options["torch"]) == ("on", "on", "none")
