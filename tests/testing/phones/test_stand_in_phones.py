from __future__ import annotations

import struct
from pathlib import Path

import pytest
from adbutils import AdbDevice

from harness import shell
from harness.core.command import Command
from harness.testing.phones import StandInUnavailable, start_phones
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from tests.processes import wait_until
from tests.testing.phones.conftest import Shell, device_of, shell_of

pytestmark = pytest.mark.slow


def test_the_shell_is_androids_and_its_user_is_shell(sh: Shell) -> None:
    assert sh("id -u; echo $KSH_VERSION").out.startswith("2000\n@(#)MIRBSD KSH")


def test_exit_codes_and_streams_arrive_apart(sh: Shell) -> None:
    answer = sh("echo out; echo err >&2; exit 7")
    assert (answer.code, answer.out, answer.err) == (7, "out\n", "err\n")


def test_a_missing_command_fails_as_on_android(sh: Shell) -> None:
    answer = sh("nonsense")
    assert answer.code == 127
    assert "nonsense: inaccessible or not found" in answer.err


def test_files_are_pushed_and_pulled_unchanged(device: AdbDevice, tmp_path: Path) -> None:
    sent, pulled = tmp_path / "sent", tmp_path / "came"
    sent.write_bytes(bytes(range(256)) * 4096)
    device.sync.push(sent, "/data/local/tmp/file")
    device.sync.pull("/data/local/tmp/file", pulled)
    assert pulled.read_bytes() == sent.read_bytes()


def test_files_of_a_phone_can_be_read_and_changed_from_outside(phone: StandInPhone, sh: Shell) -> None:
    sh("echo inside > /data/local/tmp/note")
    assert phone.read("/data/local/tmp/note") == "inside\n"
    phone.write("/data/made/there", "outside")
    assert sh("cat /data/made/there").out == "outside"
    assert phone.exists("/data/made")
    assert not phone.exists("/data/nothing")


def test_links_resolve_within_the_phone_from_outside_too(phone: StandInPhone, sh: Shell) -> None:
    sh("ln -s /system/bin/services.sh /data/local/tmp/link; ln -s /etc/os-release /data/local/tmp/machine")
    assert phone.read("/data/local/tmp/link").startswith("#!/system/bin/sh")
    with pytest.raises(FileNotFoundError):
        phone.read("/data/local/tmp/machine")


def test_files_of_the_host_are_not_accessible(root_sh: Shell) -> None:
    assert root_sh("ls /proc/1/root/").out == root_sh("ls /").out
    assert root_sh("touch /system/bin/toybox").code != 0
    assert root_sh("echo x > /usr/lib/*/libc.so.6").code != 0


def test_kernel_settings_of_the_host_cannot_be_changed(rooted: StandInPhone, root_sh: Shell, sh: Shell) -> None:
    assert root_sh("echo 0 > /proc/sys/vm/swappiness").code != 0
    assert root_sh("echo 3 > /proc/sys/vm/drop_caches").code == 0
    assert rooted.read("/services/drop_caches") == "3\n"
    assert sh("echo 3 > /proc/sys/vm/drop_caches").code != 0


def test_only_rooted_phones_have_root(sh: Shell, root_sh: Shell) -> None:
    governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
    assert sh(f"echo performance > {governor}").code != 0
    assert sh("su 0 id").code == 127
    assert root_sh(f"echo performance > {governor}; cat {governor}").out == "performance\n"
    assert root_sh("su 0 id -u").out == "0\n"
    assert root_sh("su root sh -c 'echo \"$1\"' sh 'a b'").out == "a b\n"


def test_phones_without_root_reject_root_with_a_message(
    device: AdbDevice, rooted_lab: PhoneLab, rooted: StandInPhone
) -> None:
    assert "cannot run as root in production builds" in device.root()
    assert "already running as root" in device_of(rooted_lab, rooted).root()


def test_cores_have_policies_and_frequencies(sh: Shell) -> None:
    answer = sh("cd /sys/devices/system/cpu; cat possible; cat cpu[0-7]/cpufreq/cpuinfo_max_freq; ls cpufreq")
    words = answer.out.split()
    assert words[0] == "0-7"
    assert [int(word) for word in words[1:9]] == [1_803_000] * 4 + [2_253_000] * 2 + [2_802_000] * 2
    assert words[9:] == ["policy0", "policy4", "policy6"]


def test_processes_of_other_phones_and_of_the_host_are_invisible(sh: Shell) -> None:
    # What an earlier test started ends a moment after that test.
    wait_until(lambda: sh("ps -A -o CMD").out.split() == ["CMD", "init", "adbd", "ps"])


def test_a_host_program_runs_with_a_library_pushed_beside_it(device: AdbDevice, sh: Shell, tmp_path: Path) -> None:
    (tmp_path / "answer.cpp").write_text('#include <string>\nstd::string answer() { return "forty" "-two"; }\n')
    (tmp_path / "main.cpp").write_text(
        "#include <iostream>\nstd::string answer();\nint main() { std::cout << answer() << '\\n'; }\n"
    )
    for argv in (
        ("c++", "-shared", "-fPIC", "-o", "libanswer.so", "answer.cpp"),
        ("c++", "-o", "main", "main.cpp", "-L.", "-lanswer"),
    ):
        completed = shell.run(Command(argv, cwd=tmp_path))
        assert completed.ok, completed.describe()
    for name in ("main", "libanswer.so"):
        device.sync.push(tmp_path / name, f"/data/local/tmp/{name}", 0o755)
    answer = sh("LD_LIBRARY_PATH=/data/local/tmp /data/local/tmp/main")
    assert (answer.code, answer.out) == (0, "forty-two\n"), answer.err
    assert "libanswer.so" in sh("/data/local/tmp/main").err


def test_arm64_programs_run_on_arm64_phones_only(lab: PhoneLab, phone: StandInPhone, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(_arm64_program())
    with start_phones(1, abi="arm64-v8a") as second_lab:
        codes = []
        for where, which in ((second_lab, second_lab.phones[0]), (lab, phone)):
            device_of(where, which).sync.push(program, "/data/local/tmp/program", 0o755)
            answer = shell_of(where, which)("/data/local/tmp/program")
            codes.append((answer.code, answer.out))
        assert codes == [(7, "arm\n"), (126, "")]
        assert shell_of(second_lab, second_lab.phones[0])("getprop ro.product.cpu.abi").out == "arm64-v8a\n"


def test_an_unsupported_abi_is_rejected(possible: None) -> None:
    with pytest.raises(StandInUnavailable, match="riscv64"), start_phones(abi="riscv64"):
        pass


def _arm64_program() -> bytes:
    """A static ELF of one segment that writes `arm` and exits with 7."""
    code = struct.pack(
        "<8I",
        *(0xD2800020, 0x100000E1, 0xD2800082, 0xD2800808, 0xD4000001),  # write(1, text, 4)
        *(0xD28000E0, 0xD2800BA8, 0xD4000001),  # exit(7)
    )
    code += b"arm\n"
    start, base = 64 + 56, 0x400000
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 2, 183, 1, base + start, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    size = start + len(code)
    return header + struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 0x1000) + code
