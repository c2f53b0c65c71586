"""Packages in the shape of ExecuTorch's Benchmark app, for tests."""

from __future__ import annotations

import plistlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

BUNDLE = "org.pytorch.executorch.Benchmark"


def benchmark_app(folder: Path, members: Mapping[str, bytes], *, bundle: str = BUNDLE) -> Path:
    """Write a package whose app has these files beside its program and its tests."""
    info = {"CFBundleIdentifier": bundle, "CFBundleExecutable": "Benchmark", "CFBundleVersion": "1"}
    contents = {
        "Info.plist": plistlib.dumps(info),
        "Benchmark": b"program",
        "PlugIns/Tests.xctest/Tests": b"tests",
        **members,
    }
    path = folder / "Benchmark.ipa"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(f"Payload/Benchmark.app/{name}", content)
    return path
