"""`harness report --against`: results beside earlier ones, without a verdict."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from harness.config.settings import Settings
from harness.core.build import CONTENT, PREBUILT
from harness.core.errors import ExitCode, UsageError
from harness.core.reproduction import Reproduction
from harness.core.result import Result
from harness.flows.inspect.against import show_differences
from harness.flows.inspect.stored_results import EVERYTHING, ResultFilter
from harness.presentation.differences import WHAT_IS_UNKNOWN, describe_difference
from harness.testing.results import BUILD, DEVICE, STARTED, failed_result, noisy_result, ok_result, report_of
from reporters.local import LocalReporter
from tests.presentation.comparison_samples import compared, made_pairs

FAST, SLOW = (1.0, 1.0, 1.2, 1.2), (1.1, 1.1, 1.32, 1.32)


def _result(run: str, samples: Sequence[float], *, day: int = 0, identifier: str = "a", **changes: object) -> Result:
    result = ok_result(identifier=identifier, samples=samples, started=STARTED + 86_400 * day)
    return result.model_copy(update={"run": run, **changes})


def _keep(tree: Path, *results: Result) -> None:
    for result in results:
        LocalReporter(tree).report(report_of(result))


def _show(tree: Path, against: str = "LAST", path: Path | None = None) -> str:
    stream = io.StringIO()
    code = show_differences(path, against, Settings(local_reporter=tree), EVERYTHING, Console(file=stream, width=200))
    assert code is ExitCode.OK
    return stream.getvalue()


def _row(text: str, title: str) -> str:
    return next(line for line in text.splitlines() if title in line)


def test_medians_ranges_and_the_difference_are_shown_and_no_verdict(tmp_path: Path) -> None:
    _keep(tmp_path, _result("older", (9.0,) * 4), _result("before", FAST, day=1), _result("now", SLOW, day=2))
    text = _show(tmp_path)
    row = _row(text, "mv2/a")
    assert "1.10 ms" in row
    assert "1.00 ms ... 1.20 ms" in row
    assert "1.21 ms" in row
    assert "1.10 ms ... 1.32 ms" in row
    assert "+10.0 %" in row
    assert "9.00 ms" not in text
    assert " ".join(WHAT_IS_UNKNOWN.split()) in " ".join(text.split())
    assert "regression" not in text


def test_a_time_takes_the_newest_result_from_before_it(tmp_path: Path) -> None:
    _keep(tmp_path, _result("older", (9.0,) * 4), _result("before", FAST, day=1), _result("now", SLOW, day=2))
    day = datetime.fromtimestamp(STARTED + 86_400, UTC)
    assert "9.00 ms" in _row(_show(tmp_path, (day - timedelta(hours=1)).isoformat()), "mv2/a")
    assert "1.10 ms" in _row(_show(tmp_path, (day + timedelta(hours=1)).isoformat()), "mv2/a")
    assert "1.10 ms" in _row(_show(tmp_path, "0s"), "mv2/a")
    with pytest.raises(UsageError, match="no earlier result of mv2/a"):
        _show(tmp_path, "2000-01-01")
    with pytest.raises(UsageError, match="no result in 7x"):
        _show(tmp_path, "7x")


def test_results_of_the_same_run_are_no_earlier_ones(tmp_path: Path) -> None:
    _keep(tmp_path, _result("now", FAST), _result("now", SLOW, day=1))
    with pytest.raises(UsageError, match="no earlier result"):
        _show(tmp_path)


def test_a_benchmark_without_an_earlier_result_says_so(tmp_path: Path) -> None:
    _keep(tmp_path, _result("before", FAST), _result("now", SLOW, day=1), _result("now", SLOW, day=1, identifier="new"))
    text = _show(tmp_path)
    assert "no earlier result" in _row(text, "mv2/new")
    assert "%" in _row(text, "mv2/a")


def test_another_device_is_put_beside_only_where_a_folder_is_named(tmp_path: Path) -> None:
    other = DEVICE.model_copy(update={"identity": "elsewhere", "name": "Other"})
    _keep(tmp_path / "there", _result("before", FAST, device=other))
    _keep(tmp_path / "here", _result("before", FAST, device=other), _result("now", SLOW, day=1))
    with pytest.raises(UsageError, match="no earlier result"):
        _show(tmp_path / "here")
    assert "another device (Other)" in _show(tmp_path / "here", str(tmp_path / "there"))


def test_a_folder_may_hold_the_present_results(tmp_path: Path) -> None:
    _keep(tmp_path / "there", _result("a", FAST))
    _keep(tmp_path / "here", _result("b", SLOW))
    assert "+10.0 %" in _show(tmp_path / "tree", str(tmp_path / "there"), tmp_path / "here")


def test_a_selection_is_looked_for_in_earlier_runs(tmp_path: Path) -> None:
    _keep(
        tmp_path,
        _result("before", FAST),
        _result("before", FAST, identifier="b"),
        _result("now", SLOW, day=1),
        _result("later", SLOW, day=2, identifier="other"),
    )
    settings, stream = Settings(local_reporter=tmp_path), io.StringIO()
    console = Console(file=stream, width=200)
    assert show_differences(None, "LAST", settings, ResultFilter(only=("mv2/[ab]",)), console) is ExitCode.OK
    assert "+10.0 %" in _row(stream.getvalue(), "mv2/a")
    assert "mv2/b" not in stream.getvalue()
    with pytest.raises(UsageError, match="no such result: --only mv2/a in the last run") as caught:
        show_differences(None, "LAST", settings, ResultFilter(only=("mv2/a",), last_run=True), console)
    assert caught.value.hint == "benchmarks there: mv2/other"


def test_a_missing_folder_is_a_mistake(tmp_path: Path) -> None:
    _keep(tmp_path, _result("now", FAST))
    for against, path in (("nowhere", None), ("LAST", Path("nowhere"))):
        with pytest.raises(UsageError, match="no result in nowhere"):
            _show(tmp_path, against, path)
    with pytest.raises(UsageError, match="no such result"):
        _show(tmp_path / "empty")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"build": BUILD.model_copy(update={"commit": "1.4.0"})}, "another commit (1.4.0)"),
        ({"build": BUILD.model_copy(update={"digest": "c" * 64})}, "another build of the commit"),
        ({"build": BUILD.model_copy(update={"options": {"event_tracer": "on"}})}, "other build options"),
        ({"device": DEVICE.model_copy(update={"os": "Linux 5"})}, "another system (Linux 5)"),
        ({"benchmark": ok_result(identifier="a").benchmark.model_copy(update={"digest": "f" * 64})}, "definition"),
        ({"files": {}}, "other files"),
        ({"harness_version": "0.0.9"}, "another harness (0.0.9)"),
        ({"metrics": ()}, "lacks the metric"),
    ],
)
def test_what_is_unlike_is_told(changes: dict[str, object], words: str) -> None:
    difference = describe_difference(_result("before", FAST).model_copy(update=changes), _result("now", SLOW))
    assert any(words in unlike for unlike in difference.unlike)
    assert describe_difference(_result("before", FAST), _result("now", SLOW)).unlike == ()


def test_a_program_measured_alone_and_in_a_comparison_is_the_same(tmp_path: Path) -> None:
    """A comparison adds the digest of all programs to a runner's own, chooses a seed, and is another command."""
    alone = BUILD.model_copy(update={"flags": {}, "digest": "a" * 64})
    compared = BUILD.model_copy(update={"flags": {"programs_sha256": "a" * 64}, "digest": "b" * 64})
    run, seed, pairs = ("harness", "run", "-b", "s"), ("--seed", "1"), ("--pairs", "9")

    def unlike(*commands: tuple[str, ...]) -> tuple[str, ...]:
        earlier, now = (
            _result(
                name, FAST, build=build, reproduction=Reproduction(command=words, benchmark="a", benchmark_digest="")
            )
            for name, build, words in zip(("before", "now"), (compared, alone), commands, strict=True)
        )
        return describe_difference(earlier, now).unlike

    compare = ("harness", "compare", "-b", "s")
    assert unlike((*compare, *pairs, *seed), run) == ()
    assert unlike((*compare, *seed), (*compare, "--only", "a", "b", "--resume")) == ()
    assert unlike((*compare, *seed), (*compare, *pairs)) == ("other flags",)


def test_given_programs_are_the_same_by_their_bytes_wherever_they_were_started() -> None:
    program = BUILD.model_copy(
        update={"source": PREBUILT, "commit": "1" * 12, "flags": {"program": "1" * 64}, "digest": "a" * 64}
    )
    copied = program.model_copy(update={"flags": {**program.flags, CONTENT: "c" * 64}, "digest": "b" * 64})
    helped = program.model_copy(update={"flags": {**program.flags, "tool": "2" * 64}})
    other = program.model_copy(update={"commit": "3" * 12, "flags": {"program": "3" * 64}})
    now = _result("now", FAST, build=program)
    for build, unlike in (
        (copied, ()),
        (program.model_copy(update={"digest": "d" * 64}), ()),
        (helped, ("other programs",)),
        (other, ("another program (333333333333)",)),
    ):
        assert describe_difference(_result("before", FAST, build=build), now).unlike == unlike


def test_a_treatment_that_ran_in_turns_with_its_control_is_told() -> None:
    alone, paired = _result("before", FAST), compared("a", made_pairs(0.0, 9))
    assert "now: in turns with a control" in describe_difference(alone, paired).unlike
    assert "earlier: in turns with a control" in describe_difference(paired, alone).unlike
    assert not [text for text in describe_difference(paired, paired).unlike if "in turns" in text]


def test_failures_and_doubts_are_told() -> None:
    failed = describe_difference(failed_result(), _result("now", SLOW))
    assert (failed.earlier, failed.relative_change) == (None, None)
    assert "earlier: crashed" in failed.unlike
    assert "now: crashed" in describe_difference(_result("before", FAST), failed_result()).unlike
    assert "earlier: not to be trusted" in describe_difference(noisy_result(), _result("now", SLOW)).unlike


def test_times_in_other_units_are_converted() -> None:
    earlier = _result("before", FAST)
    latency = earlier.metrics[0]
    in_us = latency.model_copy(
        update={
            "unit": "us",
            "samples": tuple(1000 * sample for sample in latency.samples),
            "summary": {name: None if value is None else 1000 * value for name, value in latency.summary.items()},
        }
    )
    difference = describe_difference(earlier.model_copy(update={"metrics": (in_us,)}), _result("now", SLOW))
    assert difference.relative_change == pytest.approx(0.1)
    assert difference.earlier is not None
    assert difference.earlier.low == pytest.approx(1.0)
    assert difference.earlier.high == pytest.approx(1.2)


def test_there_is_no_ratio_to_what_is_not_above_0() -> None:
    """From -10 to -5 is more, and would be called 50 % less."""
    difference = describe_difference(_result("before", [-10.0] * 5), _result("now", [-5.0] * 5))

    assert difference.relative_change is None
    assert "of an earlier figure that is not above 0 there is no ratio" in difference.unlike


def test_the_document_has_the_caution(tmp_path: Path) -> None:
    _keep(tmp_path, _result("before", FAST), _result("now", SLOW, day=1))
    stream = io.StringIO()
    show_differences(None, "LAST", Settings(local_reporter=tmp_path), EVERYTHING, Console(file=stream), as_json=True)
    document = json.loads(stream.getvalue())
    assert document["caution"] == WHAT_IS_UNKNOWN
    (difference,) = document["differences"]
    assert difference["relative_change"] == pytest.approx(0.1)
    assert difference["earlier"]["launches"] == 2
