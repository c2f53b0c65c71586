"""Types of the installed wheel, as a type checker sees them in plug-ins and scripts of other people."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PLUG_IN = """
from harness.config.settings import Settings
from harness.core.protocols import Reporter
from harness.core.result import Report

class Printer:
    name = "printer"

    def report(self, report: Report) -> str | None:
        return report.place

    def close(self) -> None:
        pass

def create(settings: Settings) -> Reporter | None:
    return Printer() if settings.debug else None
"""
SCRIPT = """
import sys
import harness

results = harness.run("mv2", only=["*q8*"], timeout=60, reporters={"html": "page.html"})
compared = harness.compare({"model": {}}, control="1.4.0", treatment="1.5.0", margin=0.02)
for result in (*results, *compared):
    metric = result.metric("NET latency")
    print(result.benchmark.title, result.outcome.words, metric.median if metric is not None else result.reason)
sys.exit(results.exit_code)
"""
WRONG = """
import harness

harness.run("mv2", timout=60)
harness.run("mv2", timeout="long")
harness.rnu("mv2")
"""


@pytest.mark.slow
@pytest.mark.exhaustive
def test_plug_ins_and_scripts_are_checked_against_the_wheel(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(wheels), str(ROOT)]
    subprocess.run(build, check=True)
    venv.create(tmp_path / "environment", with_pip=False, symlinks=True)
    (packages,) = (tmp_path / "environment").glob("lib/python*/site-packages")
    (wheel,) = wheels.iterdir()
    zipfile.ZipFile(wheel).extractall(packages)
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    for name, text in (("plug_in.py", PLUG_IN), ("script.py", SCRIPT), ("wrong.py", WRONG)):
        (tmp_path / name).write_text(text)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    mypy += ["--python-executable", str(tmp_path / "environment" / "bin" / "python")]

    def check(*files: str) -> str:
        return subprocess.run([*mypy, *files], cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    assert check("plug_in.py", "script.py") == "Success: no issues found in 2 source files\n"
    errors = check("wrong.py").splitlines()
    assert [line.rpartition("[")[2] for line in errors if ": error:" in line] == [
        "call-arg]",
        "arg-type]",
        "attr-defined]",
    ]
