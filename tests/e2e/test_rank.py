"""Real programs, ranked by the command: copies share a rank, a slower one is behind, and a wrong model has none."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from harness.presentation.documents import RankingDocument
from tests.cli.project import Project
from tests.e2e.groups import MEASURING

pytestmark = [pytest.mark.slow, MEASURING]

MODEL: dict[str, Any] = {
    "name": "mlp",
    "format": "{framework}",
    "framework": "{framework}",
    "files": {"model": {"filename": "{recipe}.pte", "export": {"definition": "mlp", "recipe": "{recipe}", "seed": 0}}},
}
TEST: dict[str, Any] = {
    "metric": "delay",
    "identifier": "{recipe}-{copy}",
    "threads": 1,
    "matrix": {"include": [{"framework": "executorch", "recipe": "xnnpack_fp32"}], "copy": [1, 2]},
}


def specify(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - keys of JSON
    model = copy.deepcopy(MODEL)
    model["files"]["model"]["export"] |= changes.pop("export", {})
    return {"model": model, "tests": [{**TEST, **changes}]}


def test_copies_share_a_rank_and_another_seed_is_never_ranked(tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path / "cache")
    right = project.write("right.json", specify())
    slow = {"include": [{"framework": "executorch", "recipe": "portable"}], "copy": [1]}
    slower = project.write("slower.json", specify(matrix=slow))
    wrong = project.write(
        "wrong.json",
        specify(export={"seed": 1}, identifier="wrong", matrix={"include": TEST["matrix"]["include"]}),
    )
    page = project.folder / "page.html"

    done = project.harness(
        *("rank", right, slower, wrong, "--rounds", "20", "--alpha", "0.002"),  # else 17 of 1000 runs part the copies
        *("--seed", "5", "--json", "--reporter", f"html={page}"),
    )

    assert done.code == 5, done.stderr
    programs = {program.identifier: program for program in RankingDocument.model_validate_json(done.stdout).programs}
    assert set(programs) == {"xnnpack_fp32-1", "xnnpack_fp32-2", "portable-1", "wrong"}
    for name in ("xnnpack_fp32-1", "xnnpack_fp32-2"):
        rank = programs[name].rank
        assert (rank.best, rank.worst, rank.ranked, rank.parameters.seed) == (1, 2, 3, 5)
    slowest = programs["portable-1"].rank
    assert slowest.words == "3"
    assert slowest.low is not None
    assert slowest.low > 1
    other = programs["wrong"]
    assert other.rank.words == ""
    assert other.median is not None
    assert other.same_work is not None
    assert other.same_work.verdict == "different"
    proofs = [program.same_work for program in programs.values() if program is not other]
    assert len({(proof.weights_md5, proof.examples_digest) for proof in proofs if proof is not None}) == 1
    assert "it does other work, and is not ranked" in page.read_text()
    assert {result["rank"]["ranking"] for result in done.read()} == {"mlp"}
