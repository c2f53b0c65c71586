"""NNCF, in a folder of the tests where it is not installed (60 MB).

It is no part of the extra `dev`, because it needs an older NumPy than everything else (docs/decisions/0037).
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command
from tests.docs.pages import ROOT

NEEDED_BY_NNCF = ("openvino-telemetry", "pydot<=3.0.4", "pyparsing", "safetensors")


@contextmanager
def provide_nncf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let this process and those that it starts import what the extra `openvino` brings beside ExecuTorch."""
    with pytest.MonkeyPatch.context() as patch:
        if find_spec("openvino") is None or find_spec("nncf") is None:
            folder = tmp_path_factory.mktemp("packages")
            _install_packages(folder)
            patch.syspath_prepend(str(folder))
            patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        yield


def _install_packages(folder: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = (name for name in project["optional-dependencies"]["openvino"] if not name.startswith("edge-harness"))
    options = ("--quiet", "--no-deps", "--target", str(folder), "--constraint", str(ROOT / "constraints.txt"))
    argv = (sys.executable, "-m", "pip", "install", *options, *extra, *NEEDED_BY_NNCF)
    completed = shell.run(Command(argv, timeout_s=600))
    if not completed.ok:
        reason = f"OpenVINO and NNCF cannot be installed: {completed.stderr[-500:]}"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
