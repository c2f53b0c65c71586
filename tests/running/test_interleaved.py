from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.protocols import Interactive
from harness.core.result import Outcome
from harness.running.interleaved import (
    SMALLEST_BATCH,
    BatchPlan,
    GenerationTurns,
    InterleavedRun,
    run_interleaved,
    split_into_batches,
)
from tests.processes import is_running
from tests.running.players import InterleavablePlayers, benchmark, player, read_journal

pytestmark = pytest.mark.slow  # waits for programs that do not answer


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def run_players(
    session: Interactive, journal: Path, *players: str, plan: BatchPlan | None = None, timeout_s: float = 60.0
) -> InterleavedRun:
    framework, test = InterleavablePlayers(journal), benchmark(timeout_s=timeout_s)
    commands = [framework.interleaved_command(framework.command(test, player(how), {})) for how in players]
    starts = [
        (3 + index, type(command)(command.argv, timeout_s=timeout_s, threads=1))
        for index, command in enumerate(commands)
    ]
    return run_interleaved(starts, plan or BatchPlan((5, 5, 5)), session, time.time)


@given(st.integers(min_value=1, max_value=100_000))
def test_all_iterations_are_split_into_batches_that_are_long_enough(iterations: int) -> None:
    batches = split_into_batches(iterations)
    assert sum(batches) == iterations
    assert iterations < SMALLEST_BATCH or min(batches) >= SMALLEST_BATCH
    assert max(batches) < 2 * SMALLEST_BATCH


def test_batches_of_long_iterations_are_single() -> None:
    assert split_into_batches(3, 1) == (1, 1, 1)


def test_both_programs_run_at_once_with_batches_in_the_order_of_their_starts(
    session: Interactive, journal: Path
) -> None:
    interleaved_run = run_players(session, journal, "good", "good", plan=BatchPlan((5, 6)))
    (_, first, _), (_, second, _) = read_journal(journal)[:2]
    assert [(process, words) for _, process, words in read_journal(journal)] == [
        (first, "starts"),
        (second, "starts"),
        (first, "run 5"),
        (second, "run 5"),
        (first, "run 6"),
        (second, "run 6"),
        (first, "ends"),
        (second, "ends"),
    ]
    assert (interleaved_run.ready, interleaved_run.iterations) == (True, 11)


@pytest.mark.parametrize(
    ("turns", "request_"), [(GenerationTurns(4, 0, 2), "run 1 by 2"), (GenerationTurns(2, 1, 2), "run 1 by 2 after 1")]
)
def test_generations_alternate_turn_by_turn(
    session: Interactive, journal: Path, turns: GenerationTurns, request_: str
) -> None:
    assert turns.count == 3
    interleaved_run = run_players(session, journal, "good", "good", plan=BatchPlan((1, 1), turns=turns))
    (_, first, _), (_, second, _) = read_journal(journal)[:2]
    turn = [(first, "pauses"), (second, "pauses")]
    done = [(first, request_), (second, request_)]
    words = [(process, words) for _, process, words in read_journal(journal)][2:-2]
    assert words == [*turn, *turn, *done, *turn, *turn, *done]
    assert (interleaved_run.ready, interleaved_run.iterations) == (True, 2)


def test_programs_of_a_duet_make_each_batch_at_once(session: Interactive, journal: Path) -> None:
    duet = run_players(session, journal, "waits", "waits", plan=BatchPlan((5, 5, 5), at_once=True), timeout_s=20.0)
    assert (duet.ready, duet.iterations) == (True, 15)
    assert [record.launch.outcome for record in duet.records] == [Outcome.OK] * 2


@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_the_partner_of_a_program_that_dies_in_a_duet_ends_well(
    session: Interactive, journal: Path, *, first: bool
) -> None:
    players = ("dies", "good") if first else ("good", "dies")
    duet = run_players(session, journal, *players, plan=BatchPlan((5, 5, 5), at_once=True))
    outcomes = dict(zip(players, (record.launch.outcome for record in duet.records), strict=True))
    assert outcomes == {"dies": Outcome.CRASHED, "good": Outcome.OK}
    assert duet.iterations == 10
    assert not any(is_running(process) for _, process, _ in read_journal(journal))


@pytest.mark.parametrize(("new_tokens", "prompts", "turns"), [(1, 0, 1), (2, 0, 2), (9, 0, 3), (10, 3, 7), (1, 2, 3)])
def test_a_generation_has_a_turn_for_each_prompt_and_for_every_few_tokens(
    new_tokens: int, prompts: int, turns: int
) -> None:
    assert GenerationTurns(new_tokens, prompts, 4).count == turns


def test_each_program_is_recorded_as_a_complete_launch(session: Interactive, journal: Path) -> None:
    interleaved_run = run_players(session, journal, "good", "good")
    first, second = (record.launch for record in interleaved_run.records)
    assert (first.index, second.index) == (3, 4)
    assert first.outcome is second.outcome is Outcome.OK
    assert first.commands[0][-1] == "--turns"
    assert first.cpus == second.cpus
    assert first.before == second.before
    assert first.after == second.after
    assert first.before is not None
    assert first.after is not None
    assert first.before.time <= first.started <= second.started <= first.after.time
    assert first.cpu_s is not None
    assert (first.beside_cpu_s, second.beside_cpu_s) == (second.cpu_s, first.cpu_s)
    assert max(first.wall_s, second.wall_s) <= interleaved_run.seconds < first.wall_s + second.wall_s
    assert [log.name for record in interleaved_run.records for log in record.logs] == [
        "launch-3.stdout",
        "launch-4.stdout",
    ]


@pytest.mark.parametrize(
    ("how", "timeout_s", "outcome", "words"),
    [
        ("dies", 60.0, Outcome.CRASHED, "SIGKILL"),
        ("leaves", 60.0, Outcome.FAILED, "before its last batch"),
        ("silent", 4.0, Outcome.TIMEOUT, "did not end within 4 s"),
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_a_program_failing_between_batches_ends_the_run_and_is_the_only_failure(
    session: Interactive, journal: Path, *, how: str, timeout_s: float, outcome: Outcome, words: str, first: bool
) -> None:
    players = (how, "good") if first else ("good", how)
    interleaved_run = run_players(session, journal, *players, timeout_s=timeout_s)
    launches = dict(zip(players, (record.launch for record in interleaved_run.records), strict=True))
    assert launches[how].outcome is outcome
    assert words in (launches[how].reason or "")
    assert launches["good"].outcome is Outcome.OK
    assert interleaved_run.iterations == 10
    assert not any(is_running(process) for _, process, _ in read_journal(journal))


@pytest.mark.parametrize(("how", "outcome"), [("old", "failed"), ("deaf", "failed"), ("crashes", "crashed")])
def test_if_the_first_program_never_gets_ready_the_second_is_not_started(
    session: Interactive, journal: Path, how: str, outcome: str
) -> None:
    interleaved_run = run_players(session, journal, how, "good")
    assert not interleaved_run.ready
    assert [record.launch.outcome for record in interleaved_run.records] == [outcome]
    assert {player_name for player_name, _, _ in read_journal(journal)} == {how}


def test_batches_end_at_the_time_limit_but_not_before_the_minimum_of_iterations(
    session: Interactive, journal: Path
) -> None:
    interleaved_run = run_players(
        session, journal, "good", "good", plan=BatchPlan((5,) * 1000, least=12, limit_s=0.000001)
    )
    assert interleaved_run.iterations == 15
    assert [words for _, _, words in read_journal(journal)].count("run 5") == 6
    assert [record.launch.outcome for record in interleaved_run.records] == [Outcome.OK] * 2
