"""Signals, and waiting that ends with them."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command
from harness.shell import process
from harness.shell.signals import set_stopping
from tests.processes import is_running, wait_until, written


def test_a_pause_takes_at_least_its_time() -> None:
    started = time.monotonic()
    shell.pause(0.05)
    shell.pause(0.0)
    assert time.monotonic() - started >= 0.05


@pytest.mark.slow
def test_attempts_are_repeated_until_one_succeeds_or_the_time_limit_expires() -> None:
    answers = iter((False, False, True))
    assert shell.poll_until(lambda: next(answers))
    assert not shell.poll_until(lambda: False, 0.05)


AT_ONCE = """
import os, signal, subprocess, sys
from harness import shell
from harness.core.command import Command
real = subprocess.Popen
def started(*words, **options):
    process = real(*words, **options)
    print(process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    return process
subprocess.Popen = started
try:
    with shell.handle_signals():
        shell.run(Command(("sleep", "60")))
except KeyboardInterrupt as error:
    print("stopped by", error, flush=True)
"""


@pytest.mark.slow
def test_a_signal_while_a_program_is_being_started_leaves_no_process_behind() -> None:
    done = subprocess.run((sys.executable, "-c", AT_ONCE), capture_output=True, text=True, timeout=50, check=False)
    pid, line = done.stdout.splitlines()
    assert line == "stopped by SIGTERM", done.stderr
    assert not is_running(int(pid))


CLEANUP = """
import os, signal
from harness import shell
from harness.cli import _COMMANDS, app, main
from harness.core.command import Command
_COMMANDS["work"] = ("", "")
@app.command
def work():
    with shell.handle_signals():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            shell.run(Command(("true",)))
main(["work"])
"""


@pytest.mark.slow
def test_an_interruption_that_meets_a_program_on_its_way_out_is_still_told_as_one() -> None:
    done = subprocess.run((sys.executable, "-c", CLEANUP), capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout) == (130, ""), done.stderr


SERIALISING = """
import os, signal
from typing import Annotated
from pydantic import BaseModel, PlainSerializer
from harness import shell
def interrupt(value):
    os.kill(os.getpid(), signal.SIGINT)
    return value
class Told(BaseModel):
    value: Annotated[int, PlainSerializer(interrupt)]
try:
    with shell.handle_signals():
        print(Told(value=1).model_dump_json(), flush=True)
        shell.pause(30)
except KeyboardInterrupt as error:
    print("stopped by", error)
"""


@pytest.mark.slow
def test_an_interruption_that_meets_what_is_written_as_json_is_no_error_of_it() -> None:
    done = subprocess.run((sys.executable, "-c", SERIALISING), capture_output=True, text=True, timeout=50, check=False)
    assert done.stdout.splitlines() == ['{"value":1}', "stopped by SIGINT"], done.stderr


MAIN = """
import sys
from harness import shell
from harness.core.command import Command
try:
    with shell.handle_signals():
        print("ready", flush=True)
        shell.run(Command(("/bin/sh", "-c", "echo $$ > " + sys.argv[1] + "; sleep 60")))
except KeyboardInterrupt as error:
    print("stopped by", error, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interruption_kills_child_processes_and_unwinds(tmp_path: Path, number: signal.Signals) -> None:
    pid = tmp_path / "pid"
    main = subprocess.Popen((sys.executable, "-c", MAIN, str(pid)), stdout=subprocess.PIPE, text=True)
    wait_until(lambda: written(pid))
    main.send_signal(number)
    output, _ = main.communicate(timeout=50)
    assert f"stopped by {number.name}" in output
    assert not is_running(int(pid.read_text()))


PAUSED = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from harness import shell
def work():
    Path(sys.argv[1]).write_text("1")
    try:
        shell.poll_until(lambda: False) if sys.argv[2] == "try" else shell.pause(60)
    except shell.Interrupted:
        print("gave up", flush=True)
try:
    with shell.handle_signals(), ThreadPoolExecutor() as pool:
        pool.submit(work).result()
except KeyboardInterrupt as error:
    print("stopped by", error, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["pause", "try"])
def test_interruption_ends_waiting_in_every_thread(tmp_path: Path, way: str) -> None:
    begun = tmp_path / "begun"
    main = subprocess.Popen((sys.executable, "-c", PAUSED, str(begun), way), stdout=subprocess.PIPE, text=True)
    wait_until(lambda: written(begun))
    main.send_signal(signal.SIGINT)
    output, _ = main.communicate(timeout=50)
    assert output.splitlines() == ["gave up", "stopped by SIGINT"]


@pytest.mark.slow
def test_sighup_is_ignored_under_nohup(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    quick = (
        MAIN.replace("sleep 60", "sleep 1; echo over").replace("shell.run(", "print(shell.run(").replace(")))", "))))")
    )
    argv = ("nohup", sys.executable, "-c", quick, str(pid))
    main = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    wait_until(lambda: written(pid))
    main.send_signal(signal.SIGHUP)
    output, _ = main.communicate(timeout=50)
    assert "over" in output
    assert "stopped" not in output


ANOTHER_THREAD = """
import signal, threading, time
from concurrent.futures import ThreadPoolExecutor
from harness import shell
from harness.shell.threads import wait_for_all
def work():
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    end = time.monotonic() + 40
    while time.monotonic() < end:
        shell.pause(0.1)
started = time.monotonic()
try:
    with shell.handle_signals(), ThreadPoolExecutor(1) as pool:
        wait_for_all([pool.submit(work)])
except KeyboardInterrupt as error:
    print("stopped by", error, time.monotonic() - started < 30)
"""


@pytest.mark.slow
def test_a_signal_that_the_system_gives_to_a_working_thread_stops_it() -> None:
    done = subprocess.run(
        (sys.executable, "-c", ANOTHER_THREAD), capture_output=True, text=True, timeout=90, check=False
    )
    assert done.stdout == "stopped by SIGINT True\n", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("is_ours", [True, False])
def test_a_program_that_ctrl_c_reached_has_not_crashed(
    is_ours: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has not left the process group of the harness yet, whose main thread hears of the signal a moment later."""
    code = f"import os, signal; open({str(tmp_path / 'ended')!r}, 'w').close(); os.kill(os.getpid(), signal.SIGTERM)"

    def hear() -> None:
        wait_until((tmp_path / "ended").exists)
        time.sleep(0.5)  # until then it has ended
        set_stopping(stopping=True)

    hearing = threading.Thread(target=hear)
    if is_ours:
        monkeypatch.setattr(process, "_HEARING_S", 60.0)  # on a busy machine, too
        hearing.start()
    try:
        with pytest.raises(shell.Interrupted) if is_ours else contextlib.nullcontext():
            assert shell.run(Command((sys.executable, "-c", code))).signal == signal.SIGTERM
    finally:
        if is_ours:
            hearing.join()
        set_stopping(stopping=False)
