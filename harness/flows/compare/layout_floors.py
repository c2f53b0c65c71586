"""Layout floors in the cache, by device, build, benchmark and metric."""

from __future__ import annotations

from pathlib import Path

from harness.core.build import BuildInfo
from harness.core.layout import LayoutFloor
from harness.core.result import Result
from harness.files.atomic import write_atomically
from harness.files.digests import sha256_of_texts
from harness.files.reading import read_bounded


def store_floor(cache_dir: Path, floor: LayoutFloor) -> None:
    """Keep a layout floor, in place of an earlier one of the same build."""
    place = _place(cache_dir, floor.device, floor.build, floor.benchmark, floor.metric)
    write_atomically(place, floor.model_dump_json(indent=2))


def find_floor(cache_dir: Path, result: Result) -> LayoutFloor | None:
    """Return the layout floor of one of the two builds of a comparison, the control's first; None without any."""
    comparison, device = result.comparison, result.device
    if comparison is None or device is None:
        return None
    builds: tuple[BuildInfo | None, ...] = (comparison.control, result.build)
    for build in builds:
        if build is None:
            continue
        try:
            place = _place(cache_dir, device.identity, build.digest, result.benchmark.digest, comparison.metric)
            return LayoutFloor.model_validate_json(read_bounded(place))
        except (OSError, ValueError):
            continue  # there is none, or it is damaged and has to be measured again
    return None


def _place(cache_dir: Path, device: str, build: str, benchmark: str, metric: str) -> Path:
    name = sha256_of_texts({"build": build, "benchmark": benchmark, "metric": metric})
    return cache_dir / "layouts" / device / f"{name[:32]}.json"
