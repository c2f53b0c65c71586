"""The counts of FAI-PEP's own specifications on the page about it, from the shapes of these files."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

from rich.console import Console

from harness.config.settings import Settings
from harness.flows.inspect.folders import validate_folders
from tests.docs.fai_pep_shapes import write_files
from tests.docs.pages import tables

NAMES: dict[str, str | bool | int | float] = {"IMAGENET_DIR": "/data/imagenet", "COCO_DIR": "/data/coco"}


def _summarise(folder: Path, settings: Settings) -> str:
    console = Console(file=io.StringIO(), width=300)
    validate_folders([folder], settings, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()[0].strip()


def test_the_page_counts_what_validating_fai_peps_specifications_gives(tmp_path: Path) -> None:
    (rows,) = tables("fai-pep.md", "files").values()
    counts: Counter[str] = Counter()
    for number, outcome, _ in rows:
        counts[outcome] += int(number)
    assert counts.total() == len(list(write_files(tmp_path))) == 66
    settings = Settings(string_map=NAMES, program={"convert_image_to_tensor": Path("/bin/true")})
    assert _summarise(tmp_path, settings) == (
        f"66 specifications with 146 benchmarks: {counts['valid']} valid, {counts['skipped']} skipped on every device, "
        f"{counts['refused']} refused"
    )
    assert _summarise(tmp_path, Settings()).endswith("61 valid, 0 skipped on every device, 5 refused")
