"""The guardian: it knows what runs, wakes up when the harness ends, and touches nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from harness.shell.guardian import Guardian, start_guardian
from tests.processes import is_running, wait_until

GUARDED = """
import os, signal, subprocess, sys
from harness.shell.guardian import start_guardian
guardian = start_guardian()
children = [subprocess.Popen(("sleep", "60"), process_group=0, stdout=subprocess.DEVNULL) for _ in range(5)]
for child in children:
    guardian.add(child.pid)
for child in children[1::2]:
    guardian.remove(child.pid)
late = subprocess.Popen(("sleep", "60"), process_group=0, stdout=subprocess.DEVNULL)
guardian.add(late.pid)
print(*(child.pid for child in (*children, late)), flush=True)
os.kill(os.getpid(), signal.Signals[sys.argv[1]])
"""


@pytest.mark.parametrize("signal_name", ["SIGKILL", "SIGTERM"])
def test_groups_that_are_guarded_end_with_the_harness_and_others_do_not(signal_name: str) -> None:
    done = subprocess.run((sys.executable, "-c", GUARDED, signal_name), stdout=subprocess.PIPE, text=True, check=False)
    first, spared, second, also_spared, third, late = map(int, done.stdout.split())
    try:
        wait_until(lambda: not any(map(is_running, (first, second, third, late))), within_s=10)
        assert is_running(spared)
        assert is_running(also_spared)
    finally:
        for pid in (spared, also_spared):
            os.kill(pid, 9)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "table", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


def test_each_group_is_one_line_that_is_used_again(table: int) -> None:
    guardian = Guardian(table, -1)
    for group in (11, 4_194_304, 33):
        guardian.add(group)
    guardian.remove(4_194_304)
    guardian.remove(99)
    assert os.pread(table, 1000, 0).split(b"\n") == [b"11".ljust(15), b" " * 15, b"33".ljust(15), b""]
    guardian.add(44)
    assert os.pread(table, 1000, 0).split() == [b"11", b"44", b"33"]


def test_there_is_one_guardian_and_it_is_no_child() -> None:
    assert start_guardian() is start_guardian()
    children = [child.cmdline() for child in psutil.Process().children()]
    assert not [words for words in children if "harness-guardian" in words]
