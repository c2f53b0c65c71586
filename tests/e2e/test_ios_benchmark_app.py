"""ExecuTorch's Benchmark app on stand-in iPhones, through the real go-ios: a model in its bundle, and its tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.testing.phones.ios.apps.xctests import BENCHMARK_BUNDLE, XCTestScript, xctest_app
from harness.testing.phones.ios.lab import IPhoneLab
from tests.cli.project import Outcome, Project
from tests.e2e.iphone_desk import IPhoneDesk
from tests.iphones import go_ios, iphone_lab, iphones

__all__ = ["go_ios", "iphone_lab", "iphones"]

pytestmark = pytest.mark.slow

NAME = "mv2_xnnpack_q8_pte_iOS_16_7_10_iPhone14_7"
NEEDS_MODEL = '[ "$(cat "$(dirname "$0")/aatp/data/mv2_xnnpack_q8.pte")" = model ] || kill -ABRT $$'
SIGN = f"""'{sys.executable}' -c 'import pathlib, sys; pathlib.Path(sys.argv[1], "signed").touch()' {{app}}"""


@pytest.fixture
def desk(iphones: IPhoneLab, go_ios: Path, tmp_path: Path) -> Iterator[IPhoneDesk]:
    desk = IPhoneDesk(iphones, Project(tmp_path, tmp_path / "cache"), go_ios)
    yield desk
    desk.forget_locks()


def measure(desk: IPhoneDesk, *tests: XCTestScript, sign: str | None = SIGN, **fields: object) -> Outcome:
    """Measure a model with an app that has these tests, on one phone."""
    (desk.project.folder / "mv2.pte").write_text("model")
    model = {
        "name": "mv2",
        "format": "executorch",
        "framework": "executorch",
        "app": {"package": BENCHMARK_BUNDLE, "tests": "Tests.xctest"},
        "files": {"model": {"filename": "mv2_xnnpack_q8.pte", "location": str(desk.project.folder / "mv2.pte")}},
    }
    spec = desk.project.write(
        "spec.json", {"model": model, "tests": [{"metric": "delay", "identifier": "mv2", **fields}]}
    )
    package = xctest_app(desk.project.folder / "app", tests)
    signing = () if sign is None else ("--ios-sign", sign)
    return desk.harness("run", "-b", spec, "--program", f"app={package}", *signing, on=desk.phones[0].model.udid)


def test_a_model_is_measured_by_tests_that_find_it_in_their_bundle(desk: IPhoneDesk) -> None:
    forward = XCTestScript(f"test_forward_{NAME}", (0.001912, 0.002088, 0.002001), then=NEEDS_MODEL)
    done = measure(desk, forward, XCTestScript(f"test_load_{NAME}", (0.0201, 0.0203)))
    assert done.code == 0, done.stderr + done.stdout
    (result,) = done.read()
    metrics = {metric["name"]: metric for metric in result["metrics"]}
    assert metrics["NET latency"]["samples"] == [1912.0, 2088.0, 2001.0]
    assert metrics["NET latency"]["unit"] == "us"
    assert metrics["RUN load_time"]["samples"] == [20100.0, 20300.0]
    assert (desk.phones[0].apps[BENCHMARK_BUNDLE].folder / "signed").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("test", "words"),
    [
        (XCTestScript(f"test_forward_{NAME}", failure="(32) is not equal to (0)"), "(32) is not equal to (0)"),
        (XCTestScript(f"test_forward_{NAME}"), "no test measured anything"),
        (
            XCTestScript(f"test_forward_{NAME}", (0.001,), then="kill -SEGV $$"),
            "the app crashed while test_forward_mv2",
        ),
    ],
    ids=["failed", "silent", "crashed"],
)
def test_tests_that_do_not_pass_are_no_result(desk: IPhoneDesk, test: XCTestScript, words: str) -> None:
    done = measure(desk, test)
    assert done.code == 4, done.stderr + done.stdout
    (result,) = done.read()
    assert result["outcome"] in {"failed", "crashed"}
    assert words in result["reason"]


@pytest.mark.exhaustive
def test_tests_that_hang_are_ended_with_their_time(desk: IPhoneDesk) -> None:
    done = measure(desk, XCTestScript(f"test_forward_{NAME}", (0.001,), then="sleep 600"), timeout=20)
    assert done.code == 4, done.stderr + done.stdout
    (result,) = done.read()
    assert result["outcome"] == "timeout"
    assert desk.phones[0].processes() == ()


def test_without_a_command_to_sign_nothing_is_installed(desk: IPhoneDesk) -> None:
    done = measure(desk, XCTestScript(f"test_forward_{NAME}", (0.001,)), sign=None)
    assert done.code in {3, 4}, done.stderr + done.stdout
    assert "iOS refuses an app that was changed" in done.stderr + done.stdout
    assert BENCHMARK_BUNDLE not in desk.phones[0].apps
