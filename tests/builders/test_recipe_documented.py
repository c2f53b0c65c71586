"""The documented build recipe works, and the page names every variable that a recipe gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import shell
from harness.builders import recipes
from harness.builders.builds import build_commit
from harness.builders.cache import BuildCache
from harness.builders.recipes import find_recipe
from harness.core.command import Command
from harness.core.commit import Commit
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import Folder
from tests.docs.pages import ROOT, blocks

PAGE = "plug-ins.md"


@pytest.mark.slow
def test_the_documented_recipe_builds_a_runner(tmp_path: Path) -> None:
    (block,) = blocks(PAGE, "sh")
    script = tmp_path / block.label
    script.parent.mkdir(parents=True)
    script.write_text(block.text)
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "runner.c").write_text('#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n')
    with BuildCache(tmp_path / "cache") as cache:
        build = build_commit(
            Folder(checkout),
            Commit(source="folder", id="c1"),
            find_recipe("acme", "host", [tmp_path / "recipes"]),
            platform="host",
            cache=cache,
            progress=RecordedProgress(),
        )
        assert shell.run(Command((str(build.programs["program"]),))).stdout == "hello\n"
    assert build.flags["optimised"] == "-O2"


def test_the_page_names_every_variable_of_the_contract() -> None:
    text = (ROOT / "docs" / PAGE).read_text().partition("## A build recipe")[2]
    contract = recipes.__doc__ or ""
    named = {word for word in contract.split() if word.startswith("HARNESS_")}
    assert len(named) == 6
    assert named == {cell for line in text.splitlines() for cell in line.split("`")[1:2] if cell.startswith("HARNESS_")}
