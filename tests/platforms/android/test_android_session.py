from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DeviceLost, EnvironmentProblem
from harness.core.protocols import Gated, Interactive, Reconnectable
from harness.running.padding import pad_environment, separate_padding
from harness.shell import signals
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from harness.testing.progress import RecordedProgress
from platforms.android.link.phone import Phone
from platforms.android.session import AndroidSession
from tests.platforms.android.conftest import MakePlatform
from tests.processes import wait_until

pytestmark = pytest.mark.slow

SH = "/system/bin/sh"
OWN = "/data/local/tmp/edge-harness"


def script(text: str, *arguments: str, **limits: float) -> Command:
    return Command((SH, "-c", text, "sh", *arguments), **limits)  # type: ignore[arg-type]


def test_a_phone_s_session_can_do_everything(session: AndroidSession) -> None:
    assert isinstance(session, Interactive)
    assert isinstance(session, Gated)
    assert isinstance(session, Reconnectable)


def test_a_launch_whose_files_are_there_costs_two_round_trips(
    session: AndroidSession, stand_in: StandInPhone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platforms.android.state.state._FRESH_S", 60.0)
    model, program = tmp_path / "model.pte", tmp_path / "runner"
    model.write_bytes(b"model" * 1000)
    program.write_text(f'#!{SH}\ncat "$1" | wc -c\n')
    session.stage({"model.pte": model}, {"program": program})
    stand_in.round_trips = 0
    staged = session.stage({"model.pte": model}, {"program": program})
    session.wait_until_ready()
    before = session.state()
    completed = session.run(Command((staged.programs["program"], staged.files["model.pte"])))
    after = session.state()
    assert completed.stdout.strip() == "5000", completed.describe()
    assert before.time < after.time
    assert stand_in.round_trips == 2


def test_sending_files_costs_one_more_round_trip(
    session: AndroidSession, stand_in: StandInPhone, tmp_path: Path
) -> None:
    files = {f"input-{number}": tmp_path / f"input-{number}" for number in range(20)}
    for name, path in files.items():
        path.write_text(f"{time.time()} {name}")
    stand_in.round_trips = 0
    session.stage(files, {})
    assert stand_in.round_trips == 2


def test_time_and_cpu_seconds_are_the_phone_s_own(session: AndroidSession, stand_in: StandInPhone) -> None:
    stand_in.set_latency(0.5)
    asked = time.monotonic()
    try:
        completed = session.run(script("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 0.2"))
    finally:
        stand_in.set_latency(0.0)
    assert completed.wall_s < time.monotonic() - asked - 0.4, "the way to the phone takes 0.5 s"
    assert completed.cpu_s is not None
    assert 0.05 < completed.cpu_s < completed.wall_s
    assert completed.peak_memory_bytes is None


def test_long_output_arrives_whole(session: AndroidSession) -> None:
    text = "x" * 127
    loop = 'i=0; while [ $i -lt 8192 ]; do echo "$1"; echo "$1" >&2; i=$((i+1)); done'
    completed = session.run(script(loop, text))
    assert len(completed.stdout) == len(completed.stderr) == 8192 * 128


def test_a_program_that_writes_too_much_is_ended(session: AndroidSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "MAX_OUTPUT_BYTES", 1 << 20)
    completed = session.run(script("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"))
    assert (completed.signal, completed.timed_out, completed.flooded) == (9, False, True)
    assert "wrote more than" in completed.describe()
    wait_until(lambda: "do echo xxx" not in session.run(script("ps -A -o ARGS | grep -v grep")).stdout)


def test_output_that_looks_like_a_report_is_the_program_s(session: AndroidSession) -> None:
    output = "\n0123 ended 0 1 2\nno newline at the end"
    assert session.run(Command((SH, "-c", 'echo -n "$1"', "sh", output))).stdout == output


def test_a_daemon_that_keeps_the_outputs_open_does_not_delay_the_result(session: AndroidSession, phone: Phone) -> None:
    runs = "ps -A -o ARGS | grep '[s]leep 987'"
    elsewhere = "cd /; setsid sh -c 'echo $$ >/data/local/tmp/daemon; exec sleep 987' & "  # what is ours is ended
    begun = "while [ ! -s /data/local/tmp/daemon ]; do sleep 0.05; done; echo done"
    try:
        completed = session.run(script(elsewhere + begun, timeout_s=60.0))
        assert (completed.ok, completed.stdout, completed.stderr) == (True, "done\n", "")
        assert phone.sh(runs).exit_code == 0, "it still runs: this test proves nothing"
    finally:
        phone.sh("kill -9 $(cat /data/local/tmp/daemon); rm /data/local/tmp/daemon")


def test_processes_that_a_program_leaves_running_are_ended(session: AndroidSession, phone: Phone) -> None:
    in_a_session_of_its_own = "setsid sh -c ': >begun; exec sleep 77.5' & while [ ! -e begun ]; do sleep 0.05; done"
    completed = session.run(script(f"{in_a_session_of_its_own}; echo done"))
    assert (completed.ok, completed.stdout) == (True, "done\n")
    assert re.search(r"left running: [0-9]+ \(\w+\)$", completed.stderr.rstrip())
    wait_until(lambda: phone.sh("ps -A -o ARGS | grep '[s]leep 77.5'").stdout == "")
    assert session.run(script("echo alone")).stderr == ""


def test_interactive_programs_do_not_end_each_other(session: AndroidSession) -> None:
    with session.start(script("echo ready; read -r line; echo $line")) as first:
        assert first.wait_for_line("ready")
        with session.start(script("echo ready")) as second:
            assert second.finish().ok
        first.write_line("still here")
        assert first.finish().stdout == "ready\nstill here\n"


def test_where_memory_is_short_the_program_goes_first(session: AndroidSession) -> None:
    assert session.run(script("cat /proc/self/oom_score_adj")).stdout == "900\n"


def test_a_killed_program_is_a_crash_and_not_a_lost_phone(session: AndroidSession) -> None:
    completed = session.run(script("kill -9 $$"))
    assert (completed.signal, completed.timed_out) == (9, False)
    with_its_shell = session.run(script("echo said; kill -9 $PPID"))
    assert (with_its_shell.signal, with_its_shell.timed_out, with_its_shell.stdout) == (9, False, "said\n")
    parents = ("the shell that started it", "was ended by SIGKILL")  # on Android 11 and 12 the parent is a `setsid`
    assert any(parent in with_its_shell.describe() for parent in parents)


def test_outputs_outside_stay_there_and_old_ones_are_not_pulled(
    session: AndroidSession, stand_in: StandInPhone, phone: Phone, tmp_path: Path
) -> None:
    users = "/data/local/tmp/users.log"
    phone.sh('echo mine >"$1"; touch -d 2020-01-01T00:00:00 "$1"', users)
    outside = f"{OWN}/../users.log"
    for remote in (users, outside):
        with pytest.raises(FileNotFoundError, match="since the launch"):
            session.pull(remote, tmp_path / "got")
    session.run(script("true"))
    with pytest.raises(FileNotFoundError, match="since the launch"):
        session.pull(users, tmp_path / "got")
    session.run(script('echo new >"$1"', users))
    session.pull(users, tmp_path / "got")
    assert (tmp_path / "got").read_text() == stand_in.read(users) == "new\n"
    phone.sh('rm "$1"', users)


def test_cpus_that_went_offline_are_reported(session: AndroidSession, stand_in: StandInPhone, tmp_path: Path) -> None:
    online = "/sys/devices/system/cpu/online"
    assert "offline_cpus" not in session.device.attributes
    (tmp_path / "fails").write_text(f"#!{SH}\necho 'taskset: failed to set pid mask: Invalid argument' >&2; exit 1\n")
    staged = session.stage({}, {"program": tmp_path / "fails"})
    failing = Command((staged.programs["program"],), threads=2)
    assert not session.run(failing).ok
    stand_in.write(online, "0-5\n")
    try:
        with pytest.raises(BenchmarkFailed, match=r"CPU 6, 7 .* went offline"):
            session.run(failing)
        assert session.run(Command((SH, "-c", "true"), threads=2)).cpus == (4, 5)
    finally:
        stand_in.write(online, "0-7\n")


def test_offline_cores_are_recorded_at_the_start(
    lab: PhoneLab, make_platform: MakePlatform, stand_in: StandInPhone
) -> None:
    stand_in.write("/sys/devices/system/cpu/online", "0-5\n")
    platform = make_platform(lab)
    try:
        with platform.open(platform.devices()[0], RecordedProgress()) as session:
            assert session.device.attributes["offline_cpus"] == "6, 7 (bigger ones among them)"
    finally:
        stand_in.write("/sys/devices/system/cpu/online", "0-7\n")


def test_a_phone_that_stays_hot_is_waited_for_once(
    broken_lab: PhoneLab, make_platform: MakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = make_platform(broken_lab, cool_timeout=1.0)
    hot = broken_lab.phones[0]
    monkeypatch.setattr("platforms.android.state.state._FRESH_S", 0.0)
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        hot.set_thermal(status=3, skin_c=47.0)
        with pytest.raises(EnvironmentProblem, match=r"after [1-9][0-9]* s") as first:
            session.wait_until_ready()
        monkeypatch.setattr(session._gate, "wait_until_ready", lambda _: pytest.fail("it waits again"))
        with pytest.raises(EnvironmentProblem) as second:
            session.wait_until_ready()
        assert (second.value.message, second.value.hint) == (first.value.message, first.value.hint)
        monkeypatch.undo()
        hot.set_thermal(status=0, skin_c=30.0)
        session._states.clear()
        session.wait_until_ready()


def test_a_missing_program_fails(session: AndroidSession) -> None:
    completed = session.run(Command(("/data/local/tmp/nowhere",)))
    assert (completed.exit_code, completed.ok) == (127, False)
    assert "nowhere" in completed.describe()


def test_programs_are_pinned_to_the_biggest_cores_by_mask(session: AndroidSession, stand_in: StandInPhone) -> None:
    chosen = session.run(Command((SH, "-c", "echo ran"), threads=2))
    assert (chosen.stdout, chosen.cpus, chosen.command.argv[:2]) == ("ran\n", (6, 7), ("taskset", "c0"))
    assert stand_in.read("/services/taskset").split()[-1] == "c0"
    assert session.run(Command((SH, "-c", "true"), threads=2, cpus=())).cpus is None
    assert session.run(Command((SH, "-c", "true"), threads=1, cpus=(0, 3))).command.argv[:2] == ("taskset", "9")
    with pytest.raises(BenchmarkUnsupported, match="CPU 8, 9 does not exist"):
        session.run(Command((SH, "-c", "true"), cpus=(0, 8, 9)))


def test_of_the_cpus_to_choose_from_the_biggest_are_taken(lab: PhoneLab, make_platform: MakePlatform) -> None:
    platform = make_platform(lab, cpus=(0, 1, 5, 6))
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        assert session.run(Command((SH, "-c", "true"), threads=2)).cpus == (5, 6)
        assert session.run(Command((SH, "-c", "true"), threads=9)).cpus == (0, 1, 5, 6)
        assert session.run(Command((SH, "-c", "true"))).cpus == (0, 1, 5, 6), "of unknown threads: all of them"


def test_padding_of_any_length_arrives(session: AndroidSession) -> None:
    (command,) = pad_environment([script("echo ${#HARNESS_PADDING}")], 4095)
    completed = session.run(command)
    assert completed.stdout.strip() == "4095", completed.describe()
    assert separate_padding(completed.command.env) == ({}, 4095)


def test_an_invalid_variable_name_is_reported(session: AndroidSession) -> None:
    with pytest.raises(BenchmarkFailed, match="no name for a variable"):
        session.run(Command((SH, "-c", "true"), env={"A B": "x"}))


def test_the_working_directory_is_the_session_s_or_the_command_s(session: AndroidSession) -> None:
    assert session.run(script("pwd")).stdout.strip().startswith(f"{OWN}/sessions/")
    assert session.run(Command((SH, "-c", "pwd"), cwd=Path("/data/local"))).stdout.strip() == "/data/local"


def test_the_log_is_included_when_a_program_fails(session: AndroidSession) -> None:
    completed = session.run(script("log -p f -t DEBUG 'it crashed here'; echo mine >&2; exit 1"))
    assert "it crashed here" in completed.stderr
    assert completed.describe().endswith("mine")
    assert "it crashed here" not in session.run(script("exit 1")).stderr  # of the launch after it, in the same second


def test_an_interruption_ends_the_waiting_and_the_program(
    session: AndroidSession, stand_in: StandInPhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive = f"{session.stage({}, {}).folder}/alive"

    def stop_when_it_runs() -> None:
        if stand_in.exists(alive):
            raise shell.Interrupted("stopped")

    monkeypatch.setattr(session._phone, "_check_waiting", stop_when_it_runs)
    with pytest.raises(shell.Interrupted):
        session.run(script('while :; do echo x >>"$1"; sleep 0.05; done', alive))
    monkeypatch.undo()

    def is_still() -> bool:
        before, after = session.run(script('wc -c <"$1"; sleep 0.5; wc -c <"$1"', alive)).stdout.split()
        return before == after

    wait_until(is_still)


@pytest.fixture
def stopping() -> Iterator[threading.Event]:
    """Set by a signal."""
    yield signals._stopping
    signals._stopping.clear()


def test_everything_is_restored_when_the_harness_is_being_stopped(
    lab: PhoneLab, make_platform: MakePlatform, phone: Phone, stopping: threading.Event
) -> None:
    platform = make_platform(lab)
    scale = "settings get global window_animation_scale"
    before = phone.sh(scale).stdout
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        folder = session.stage({}, {}).folder
        assert phone.sh(scale).stdout != before
        stopping.set()
        with pytest.raises(shell.Interrupted):
            session.run(script("true"))
    stopping.clear()
    assert phone.sh(scale).stdout == before
    assert phone.sh('ls "$1"', folder).exit_code != 0


def test_interactive_programs_read_and_write_lines(session: AndroidSession) -> None:
    loop = 'echo ready; while read -r line; do echo "done $line"; [ "$line" = end ] && exit 3; done; echo closed'
    with session.start(script(loop)) as first, session.start(script(loop)) as second:
        for live in (first, second):
            assert live.wait_for_line("ready")
            live.write_line("1")
            assert live.wait_for_line("done 1")
        first.write_line("end")
        ended, closed = first.finish(), second.finish()
    assert (ended.exit_code, ended.stdout) == (3, "ready\ndone 1\ndone end\n")
    assert (closed.exit_code, closed.stdout) == (0, "ready\ndone 1\nclosed\n")


def test_the_time_limit_of_an_interactive_program_counts_waiting_only(session: AndroidSession) -> None:
    with session.start(script("echo ready; read -r line; sleep 60", timeout_s=4.0)) as live:
        assert live.wait_for_line("ready")
        time.sleep(4.5)
        live.write_line("go")
        assert not live.wait_for_line("never")
        completed = live.finish()
    assert completed.timed_out
    assert not completed.ok


def test_a_phone_that_restarts_is_reconnected(
    broken_lab: PhoneLab, make_platform: MakePlatform, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("content")
    platform = make_platform(broken_lab)
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        staged = session.stage({"file": tmp_path / "file"}, {})
        timer = threading.Timer(0.5, broken_lab.phones[0].reboot)
        timer.start()
        with pytest.raises(DeviceLost):
            session.run(script("sleep 60", timeout_s=90.0))
        session.reconnect()
        staged = session.stage({"file": tmp_path / "file"}, {})
        assert session.run(Command(("/system/bin/cat", staged.files["file"]))).stdout == "content"


def test_a_phone_that_stays_away_is_lost(broken_lab: PhoneLab, make_platform: MakePlatform) -> None:
    platform = make_platform(broken_lab, return_timeout=1.0)
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        broken_lab.phones[0].unplug()
        with pytest.raises(DeviceLost):
            session.run(script("true"))
        with pytest.raises(DeviceLost, match="did not come back"):
            session.reconnect()


def test_a_phone_behind_a_killed_server_is_reconnected(broken_lab: PhoneLab, make_platform: MakePlatform) -> None:
    platform = make_platform(broken_lab)
    try:
        with platform.open(platform.devices()[0], RecordedProgress()) as session:
            broken_lab.kill_server()
            with pytest.raises(DeviceLost):
                session.run(script("true"))
            session.reconnect()
            assert session.run(script("echo back")).stdout == "back\n"
    finally:
        broken_lab.kill_server()


def test_the_page_cache_of_a_phone_that_is_not_rooted_cannot_be_dropped(
    lab: PhoneLab, make_platform: MakePlatform
) -> None:
    platform = make_platform(lab, wipe_cache=True)
    device = platform.devices()[0]
    with pytest.raises(EnvironmentProblem, match="not rooted"), platform.open(device, RecordedProgress()):
        pass


def test_a_page_cache_that_cannot_be_dropped_is_an_error(session: AndroidSession) -> None:
    session._root_prefix = "false"  # instead of becoming root: the real thing would drop this machine's
    with pytest.raises(EnvironmentProblem, match="page cache"):
        session.run(script("true"))
    session._root_prefix = "true"
    assert session.run(script("echo ran")).stdout == "ran\n"
