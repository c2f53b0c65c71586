"""Choice of probes for devices, by FAI-PEP's defaults where nobody names one."""

from __future__ import annotations

import pytest

from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import UsageError
from harness.core.probe import ProbePass, ProbeRequest
from harness.flows.measure.named_parts import find_problems
from harness.flows.measure.probing import choose_probes, name_probe
from harness.testing.frameworks import benchmark_of
from harness.testing.results import ok_result

HOST = ok_result().device
assert HOST is not None


def device(platform: str) -> Device:
    assert HOST is not None
    return HOST.model_copy(update={"platform": platform, "name": platform})


@pytest.mark.parametrize(
    ("request_", "platform", "name"),
    [
        (ProbeRequest(types=("cpu",)), "android", "simpleperf"),
        (ProbeRequest(types=("cpu", "memory")), "android", "perfetto"),
        (ProbeRequest(), "android", "perfetto"),
        (ProbeRequest(stat=True), "android", "simpleperf-stat"),
        (ProbeRequest(name="simpleperf", stat=True), "android", "simpleperf-stat"),
        (ProbeRequest(), "ios", "xctrace"),
        (ProbeRequest(), "host", "perf-record"),
        (ProbeRequest(stat=True), "host", "perf-stat"),
        (ProbeRequest(name="perfetto"), "host", "perfetto"),
    ],
)
def test_defaults_are_those_of_fai_pep(request_: ProbeRequest, platform: str, name: str) -> None:
    assert name_probe(request_, platform) == name


@pytest.mark.parametrize(
    ("request_", "platform", "reason"),
    [
        (ProbeRequest(name="simpleperf"), "host", "simpleperf observes programs on android, and host is of platform"),
        (ProbeRequest(name="perf-stat"), "android", "perf-stat observes programs on host"),
        (ProbeRequest(), "ios", "there is no probe xctrace"),
    ],
)
def test_what_cannot_observe_a_device_is_a_skipped_pass(request_: ProbeRequest, platform: str, reason: str) -> None:
    (chosen,) = choose_probes(benchmark_of("generic", probes=(request_,)), device(platform))
    assert isinstance(chosen, ProbePass)
    assert chosen.outcome.is_skipped
    assert reason in (chosen.reason or "")


def test_what_can_is_a_probe() -> None:
    (chosen,) = choose_probes(benchmark_of("generic", probes=(ProbeRequest(name="perf-stat"),)), device("host"))
    assert not isinstance(chosen, ProbePass)
    assert chosen.name == "perf-stat"


def test_unknown_probes_are_refused_before_anything_is_measured() -> None:
    with pytest.raises(UsageError, match="no probe `perf-sta`"):
        choose_probes(benchmark_of("generic", probes=(ProbeRequest(name="perf-sta"),)), device("host"))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (ProbeRequest(name="perf-sta"), "no probe `perf-sta`"),
        (ProbeRequest(name="perf-stat", options={"event": "x"}), "the probe perf-stat has no option 'event'"),
        (ProbeRequest(name="simpleperf", types=("gpu",)), "the probe simpleperf does not observe 'gpu'"),
    ],
)
def test_validation_finds_wrong_names_options_and_types(request_: ProbeRequest, message: str) -> None:
    (problem,) = find_problems([benchmark_of("generic", probes=(request_,), commands=("x",))], Settings())
    assert problem.message == message
