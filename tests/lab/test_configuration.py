"""Settings of the library that suit devices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")

_LOOK = """
import sys
from pathlib import Path
from harness.lab.configuration import configure, load_security
load_security(Path(sys.argv[1]) if sys.argv[1:] else None)
configure()
from distributed.comm import utils
print(utils.OFFLOAD_THRESHOLD)
"""


@pytest.mark.parametrize("encrypted", [False, True])
def test_sizes_of_messages_are_not_estimated(tmp_path: Path, encrypted: bool) -> None:
    """The library reads that setting when it is imported, which certificates do first."""
    for name in ("ca.pem", "this.pem"):
        (tmp_path / name).touch()
    words = (sys.executable, "-c", _LOOK, *([str(tmp_path)] if encrypted else []))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DASK_")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
