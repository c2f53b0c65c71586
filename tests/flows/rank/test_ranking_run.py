"""One ranking on a simulated device: who is launched in rounds, who fails, and who is only measured."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from frameworks.generic.framework import Generic
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkFailed
from harness.core.measurement import Job
from harness.core.ranking import RankingParameters
from harness.core.result import Outcome, RawLog
from harness.core.same_work import SameWork, WorkVerdict
from harness.flows.rank import ranking_run
from harness.flows.rank.ranking_run import RankedMeasurement, RankingRun
from harness.running.launcher import Launcher
from harness.testing.progress import RecordedProgress
from tests.flows.instant import Instant, InstantSession, benchmark

BUILD = Build(source="prebuilt", commit="c", digest="d", programs={"program": Path("/program")})


class Uneven(InstantSession):
    """Session on which programs take as many times as long as `factors` says, and fail from a launch on."""

    def __init__(self, factors: Mapping[str, float], failing: Mapping[str, int]) -> None:
        super().__init__(Instant(["A"]).devices()[0], lambda _: None)
        self.launched: list[str] = []
        self._factors = factors
        self._failing = failing

    def run(self, command: Command) -> Completed:
        name = command.argv[1]
        self.launched.append(name)
        if self.launched.count(name) > self._failing.get(name, 10_000):
            return Completed(command, 3, stderr="no such kernel", wall_s=0.1)
        values = [self._factors[name] * (1000 + self._chance.gauss(0, 3)) for _ in range(12)]
        return self._printed(command, values, {"type": "NET", "metric": "latency", "unit": "us"})


def run(
    session: Uneven,
    names: Sequence[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    proofs: Mapping[str, WorkVerdict] | None = None,
    rounds: int = 30,
) -> list[RankedMeasurement]:
    """Rank programs whose proofs are given: those that are not named do the same work."""

    def prove(job: Job, *_: object, **__: object) -> tuple[SameWork, tuple[RawLog, ...]]:
        verdict = (proofs or {}).get(job.benchmark.identifier, WorkVerdict.SAME)
        reason = None if verdict is WorkVerdict.SAME else "its outputs differ"
        return SameWork(verdict=verdict, reason=reason), ()

    monkeypatch.setattr(ranking_run, "prove_same_work", prove)
    folders = (tmp_path / str(number) for number in itertools.count())

    def make_scratch() -> Path:
        folder = next(folders)
        folder.mkdir()
        return folder

    ranking = RankingRun(
        "m",
        [Job(benchmark(name), BUILD) for name in names],
        session,
        {"generic": Generic({})},
        parameters=RankingParameters(seed=2, max_rounds=rounds),
        make_scratch=make_scratch,
        progress=RecordedProgress(),
    )
    return ranking.rank()


def test_programs_come_by_rank_with_ratios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Uneven({"slow": 1.5, "fast": 1.0, "far": 8.0}, {})

    ranked = run(session, ["slow", "fast", "far"], tmp_path, monkeypatch)

    assert [(each.job.benchmark.identifier, each.rank.words) for each in ranked] == [
        ("fast", "1"), ("slow", "2"), ("far", "3")
    ]  # fmt: skip
    assert [each.rank.ratio for each in ranked] == [pytest.approx(ratio, rel=0.01) for ratio in (1, 1.5, 8)]
    assert {each.rank.fastest for each in ranked} == {"fast"}
    assert {each.measurement.outcome for each in ranked} == {Outcome.OK}


def test_a_step_that_fails_after_the_rounds_costs_the_others_no_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Launcher) -> None:
        if self.job.benchmark.identifier == "fast":
            raise BenchmarkFailed("postprocess-model failed")

    monkeypatch.setattr(Launcher, "end", fail)
    ranked = run(Uneven({"slow": 1.5, "fast": 1.0}, {}), ["slow", "fast"], tmp_path, monkeypatch)
    ends = {each.job.benchmark.identifier: (each.measurement.outcome, each.measurement.reason) for each in ranked}
    assert ends == {"fast": (Outcome.FAILED, "postprocess-model failed"), "slow": (Outcome.OK, None)}


def test_a_budget_that_cannot_tell_anything_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(RecordedProgress, "warn", lambda _, message: warnings.append(message))
    run(Uneven({"slow": 9.0, "fast": 1.0}, {}), ["slow", "fast"], tmp_path, monkeypatch, rounds=7)
    (warning,) = warnings
    assert warning.startswith("m: nothing can be called faster within 7 rounds: 2 programs need 8 at least (--rounds)")


def test_other_work_is_measured_and_never_ranked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Uneven({"a": 1.2, "b": 1.0, "wrong": 0.1, "unknown": 0.2}, {})
    proofs = {"wrong": WorkVerdict.DIFFERENT, "unknown": WorkVerdict.NOT_COMPARED}

    ranked = run(session, ["wrong", "a", "unknown", "b"], tmp_path, monkeypatch, proofs=proofs)

    assert [(each.job.benchmark.identifier, each.rank.words) for each in ranked] == [
        ("b", "1"), ("a", "2"), ("wrong", ""), ("unknown", "")
    ]  # fmt: skip
    wrong, unknown = ranked[2:]
    assert wrong.rank.reason == "its outputs differ"
    assert [note.code for note in wrong.measurement.notes] == ["different_work"]
    assert not wrong.measurement.notes[0].trust
    assert [note.code for note in unknown.measurement.notes] == ["unproven_work"]
    assert session.launched.count("wrong") == 1, "as by `harness run`"


def test_a_program_that_fails_is_the_finding_and_the_others_are_ranked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Uneven({"a": 1.0, "b": 1.2, "broken": 1.1, "never": 1.0}, {"broken": 4, "never": 0})

    ranked = run(session, ["broken", "a", "never", "b"], tmp_path, monkeypatch)

    places = {each.job.benchmark.identifier: each for each in ranked}
    assert (places["a"].rank.words, places["b"].rank.words, places["a"].rank.ranked) == ("1", "2", 2)
    for name in ("broken", "never"):
        failed = places[name]
        assert failed.measurement.outcome is Outcome.FAILED
        assert failed.rank.best is None
        assert failed.rank.reason is not None
        assert "failed in" in failed.rank.reason


def test_a_single_program_has_nobody_to_be_compared_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = {"b": WorkVerdict.DIFFERENT}

    ranked = run(Uneven({"a": 1.0, "b": 1.0}, {}), ["a", "b"], tmp_path, monkeypatch, proofs=proofs)

    assert [each.rank.words for each in ranked] == ["", ""]
    assert ranked[0].rank.reason == "there is no other program that does the same work"
    assert ranked[0].measurement.outcome is Outcome.OK


def test_a_spent_budget_names_who_is_not_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = run(Uneven({"a": 1.0, "b": 1.0}, {}), ["a", "b"], tmp_path, monkeypatch, rounds=4)

    assert [each.rank.words for each in ranked] == ["1-2", "1-2"]
    assert {name for each in ranked for name in each.rank.undecided} == {"a", "b"}
    assert {each.rank.rounds for each in ranked} == {4}
