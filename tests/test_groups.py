"""Tests of one group run in one process of a parallel run (`pytest --dist loadgroup`)."""

from __future__ import annotations

import os

import pytest

from tests.conftest import folder_of_run


@pytest.mark.xdist_group("groups")
@pytest.mark.parametrize("number", range(9))
def test_a_group_runs_in_one_process(
    number: int, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Several tests, for a process takes at least two before the next one gets any."""
    if not request.config.getoption("loadgroup", default=False):
        pytest.skip("not a parallel run by groups: pytest -n 3 --dist loadgroup")
    folder = folder_of_run(tmp_path_factory) / "processes_of_a_group"
    folder.mkdir(exist_ok=True)
    (folder / os.environ["PYTEST_XDIST_WORKER"]).touch()
    assert len(list(folder.iterdir())) == 1
