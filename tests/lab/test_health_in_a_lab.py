"""A phone that is too warm leaves the pool of its class with a reason, and comes back when it has cooled."""

from __future__ import annotations

import json

import pytest

from harness.testing.phones import start_phones
from tests.cli.project import Project, generic, one_test
from tests.lab.labs import open_lab, start

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("lab")]
pytest.importorskip("distributed")

LINE = (
    """sh -c 'echo PyTorchObserver \\{\\"type\\": \\"NET\\", \\"metric\\": \\"latency\\", """
    """\\"unit\\": \\"ms\\", \\"value\\": 5\\}'"""
)


@pytest.mark.exhaustive
def test_a_hot_phone_gets_no_jobs_until_it_has_cooled(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = project.write("spec.json", generic(*(one_test(f"a-{number}", LINE) for number in range(4))))
    with start_phones(2) as phones, open_lab(project.folder) as lab, monkeypatch.context() as changed:
        hot, _ = phones.phones
        hot.set_thermal(status=3)
        changed.setenv("HARNESS_ADB_SERVER", str(phones.server))
        changed.setenv("ANDROID_ADB_SERVER_PORT", str(phones.port))
        changed.setenv("HARNESS_COOL_TIMEOUT", "1")
        words = ("lab", "join", lab.address, "--platforms", "android", "--as-class", "phone")
        kept = ("--cache-dir", str(lab.folder / "kept"))
        host = start(lab.folder, "before", *words, *kept, "--check-every", "24")
        try:
            host.wait_for("joined as phone", count=3)  # one of them again, when it was found to be healthy
            host.wait_for(": out of the pool: ")
            document = json.loads(project.harness("lab", "status", lab.address, "--json").stdout)
            reasons = {device["identity"]: device["health"] for device in document["devices"]}
            assert sorted("thermal status 3" in reason for reason in reasons.values()) == [False, True], reasons
            assert "" in reasons.values()
            done = project.harness(spec, "--lab", lab.address)
            assert done.code == 0, done.stderr
            assert all(result["meta"]["last_good_check"] <= result["started"] for result in done.read())
            assert [reasons[result["device"]["identity"]] for result in done.read()] == [""] * 4
        finally:
            host.stop()
        hot.set_thermal(status=0)
        host = start(lab.folder, "after", *words, *kept, "--check-every", "0.001")
        try:
            host.wait_for("joined as phone, out of the pool")
            host.wait_for(": healthy")
            host.wait_for("joined as phone", count=3)
            assert host.text.count("joined as phone, out of the pool") >= 1
        finally:
            host.stop()
