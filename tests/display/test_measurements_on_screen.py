"""Measurements on a terminal and in a pipe at the end of a run."""

from __future__ import annotations

import io
import os
import sys

import pytest
from rich.console import Console

from harness.config.settings import Settings
from harness.core.errors import ReporterFailed
from harness.core.metric import Direction, LaunchInterval, Metric
from harness.core.note import Note
from harness.core.percent import in_percent
from harness.core.result import Outcome, Result
from harness.testing.results import BUILD, DEVICE, failed_result, ok_result, report_of, timing
from reporters.screen import ScreenReporter, create
from tests.display.screens import DOUBT, ESCAPE, measured, on_terminal, piped, table, with_metrics
from tests.presentation.evaluation_samples import evaluated_result


def test_a_row_has_median_speed_and_spread() -> None:
    names, rows = table(piped(measured("mv2-fp32", 10.0), measured("mv2-q8", 4.0)))
    assert names == ["benchmark", "median", "±", "speed", "MAD", "p90", "peak memory", "launches", "n"]
    assert rows[0] == ["mv2-fp32", "10.0 ms", "2.7 %", "1.00×", "1.0 %", "10.2 ms", "40.0 MiB", "5", "5"]
    assert rows[1] == ["mv2-q8", "4.00 ms", "2.7 %", "2.50×", "1.0 %", "4.06 ms", "40.0 MiB", "5", "5"]


def test_columns_without_room_are_named() -> None:
    narrow = on_terminal(measured("mv2-fp32", 10.0), measured("mv2-q8", 4.0), width=50)
    assert "a wider terminal also shows: peak memory, launches, n" in " ".join(narrow.split())
    assert "a wider terminal" not in piped(measured("mv2-fp32", 10.0), measured("mv2-q8", 4.0))


def test_an_evaluation_keeps_its_name_on_a_narrow_terminal() -> None:
    text = on_terminal(evaluated_result("mv2-xnnpack_q8-t1"), evaluated_result("mv2-xnnpack_q8-t2"), width=80)
    assert "mv2-xnnpack_q8-t1" in text


def test_marks_show_what_can_be_trusted() -> None:
    results = (
        measured("a", 1.0),
        measured("b", 1.0, notes=[DOUBT]),
        failed_result(identifier="c"),
        failed_result(Outcome.SKIPPED, identifier="d"),
        failed_result(Outcome.DEVICE_LOST, identifier="e"),
    )
    _, rows = table(piped(*results))
    assert [row[: 2 if row[0] in "!✗-" else 1] for row in rows] == [
        ["a"],
        ["!", "b"],
        ["✗", "c"],
        ["-", "d"],
        ["✗", "e"],
    ]
    assert [row[-1] for row in rows[2:]] == ["crashed", "skipped", "device lost"]


def test_the_title_names_device_and_runner() -> None:
    title = piped(measured("a", 1.0)).splitlines()[1]
    assert title.startswith(
        "mv2 · Example CPU @ 2.10GHz (Example CPU, 4 CPUs) · executorch 1.5.1 native · 1 thread · harness "
    )


def test_what_differs_is_in_the_rows_and_not_in_the_title() -> None:
    other = ok_result(
        model="mv3",
        device=DEVICE.model_copy(update={"identity": "x", "name": "Pixel 8"}),
        build=BUILD.model_copy(update={"commit": "1.4.0"}),
    )
    text = piped(measured("a", 1.0), other)
    assert table(text)[0][:4] == ["model", "benchmark", "device", "runner"]
    assert not {"mv2", "Pixel", "executorch"} & set(text.splitlines()[1].split())


def test_a_generic_program_has_no_empty_columns() -> None:
    result = measured("sort", 3.0).model_copy(
        update={"launches": (), "build": BUILD.model_copy(update={"commit": "none", "recipe": ""})}
    )
    text = piped(result)
    assert table(text)[0] == ["benchmark", "median", "±", "MAD", "p90", "launches", "n"]
    assert "· executorch ·" in text


def test_without_latency_the_table_shows_the_main_metric_by_name() -> None:
    rate = timing("LLM", "rate", "tokens/s", [40.0] * 5).model_copy(update={"direction": Direction.HIGHER})
    slower = rate.model_copy(update={"summary": {**rate.summary, "p50": 20.0}})
    names, rows = table(piped(with_metrics(ok_result(), slower), with_metrics(ok_result(), rate)))
    assert rows[1][names.index("median")] == "40 tokens/s"
    assert rows[1][names.index("speed")] == "2.00×"
    assert [row[names.index("metric")] for row in rows] == ["LLM rate"] * 2
    accuracy = Metric(name="NET top1", type="NET", metric="top1", unit="", summary={"p50": 0.71875, "n": 1.0})
    names, rows = table(piped(measured("a", 1.0), with_metrics(ok_result(identifier="b"), accuracy)))
    assert rows[1][:3] == ["b", "NET top1", "0.719"]
    assert "speed" not in names


def test_a_result_of_texts_only_has_a_row() -> None:
    text = Metric(name="NET delegate", type="NET", metric="delegate", unit="", direction=None, info="XnnpackBackend")
    assert "no number" in piped(with_metrics(ok_result(), text), measured("b", 1.0))


def test_of_many_operators_the_first_are_shown_and_the_rest_counted() -> None:
    operators = [timing(f"conv_{i:03}", "latency", "us", [i + 1.0] * 5) for i in range(300)]
    text = piped(with_metrics(ok_result(), *measured("a", 1.0).metrics, *operators))
    assert text.count("conv_") == 20
    assert "and 280 more in its result.json" in text
    assert "mv2/mv2-xnnpack_fp32-t1  conv_000 latency " in text


def test_the_fastest_is_named_with_the_range_of_its_lead() -> None:
    text = piped(measured("fp32", 10.0), measured("q8", 4.0), measured("fp16", 8.0))
    assert "fastest of mv2: q8, 1.90-2.11× as fast as fp16 and 2.37-2.64× as fast as fp32\n" in text


def test_what_cannot_be_told_apart_is_named() -> None:
    assert "mv2: a and b cannot be told apart here\n" in piped(measured("b", 1.02), measured("a", 1.0))
    near = (
        "mv2: a and b cannot be told apart here: their intervals lie less than 10 % apart, and the machine may have "
        "changed between them\n"
    )
    assert near in piped(measured("b", 1.12), measured("a", 1.0))
    text = piped(measured("slow", 160.0), measured("a", 1.0), measured("b", 1.02))
    assert "fastest of mv2: a and b, which cannot be told apart here; a is 152-169× as fast as slow\n" in text
    text = piped(measured("c", 4.0), measured("a", 1.0), measured("b", 4.02))
    assert "fastest of mv2: a, 3.79-4.22× as fast as c\nc and b cannot be told apart here\n" in text


def test_results_of_several_runs_have_no_fastest() -> None:
    first = [measured(name, median).model_copy(update={"run": "1"}) for name, median in (("a", 1.0), ("b", 9.0))]
    again = [result.model_copy(update={"run": "2", "uid": f"{result.uid} again"}) for result in first]
    assert "fastest of mv2: a, " in piped(*first)
    text = piped(*first, *again)
    assert "fastest" not in text
    assert "told apart" not in text


def test_results_of_a_single_launch_are_not_ranked() -> None:
    single = timing("NET", "latency", "ms", [1.0, 1.0, 1.0])
    slower = timing("NET", "latency", "ms", [9.0, 9.0, 9.0])
    results = [with_metrics(ok_result(identifier=name), metric) for name, metric in (("a", single), ("b", slower))]
    assert "fastest of mv2: unknown, because 2 of 2 have no interval\n" in piped(*results)
    assert "not ranked: a (no interval)\n" in piped(*results[:1], measured("c", 5.0), measured("d", 50.0))


def test_an_untrusted_result_is_never_the_fastest() -> None:
    doubtful = measured("q8", 1.0, notes=[DOUBT])
    text = piped(measured("fp32", 10.0), measured("fp16", 5.0), doubtful)
    assert "fastest of mv2: fp16, 1.90-2.11× as fast as fp32\nnot ranked: q8 (cannot be trusted)\n" in text
    assert "fastest of mv2: unknown, because 1 of 2 cannot be trusted" in piped(measured("fp32", 10.0), doubtful)
    single = with_metrics(ok_result(identifier="one"), timing("NET", "latency", "ms", [1.0, 1.0, 1.0]))
    text = piped(measured("fp32", 10.0), measured("fp16", 5.0), doubtful, single)
    assert "not ranked: one (no interval)\nnot ranked: q8 (cannot be trusted)\n" in text, "each for its own reason"


def test_a_doubt_of_known_size_widens_the_range() -> None:
    slowed = Note(code="disturbed", message="another program used the CPU", trust=False, error=0.25)
    text = piped(measured("fp32", 10.0, notes=[slowed]), measured("q8", 1.0))
    assert "fastest of mv2: q8, 7.58-10.5× as fast as fp32\n" in text
    text = piped(measured("fp32", 1.4, notes=[slowed]), measured("q8", 1.0))
    assert "mv2: q8 and fp32 cannot be told apart here, because of what their notes say\n" in text


def test_programs_that_do_not_do_the_same_work_have_no_ratio() -> None:
    def sort(identifier: str, median_ms: float, **axes: str | int) -> Result:
        result = measured(identifier, median_ms, model="tools")
        return result.model_copy(update={"benchmark": result.benchmark.model_copy(update={"axes": axes, "inputs": {}})})

    other_sizes = (sort("sort-1000", 1.0, size=1000), sort("sort-100000", 100.0, size=100_000))
    other_tests = (sort("encode", 1.0), sort("decode", 5.0))
    for results in (other_sizes, other_tests):
        text = piped(*results)
        assert "fastest" not in text
        assert "speed" not in text
    assert "fastest of tools: t2" in piped(sort("t1", 5.0, size=1, threads=1), sort("t2", 1.0, size=1, threads=2))


def test_only_equal_work_in_one_place_is_compared() -> None:
    small = measured("a", 1.0)
    large = small.benchmark.model_copy(update={"inputs": {"data": (8, 3, 224, 224)}})
    elsewhere = DEVICE.model_copy(update={"identity": "other"})
    text = piped(
        small,
        measured("b", 2.0).model_copy(update={"benchmark": large}),
        measured("c", 3.0).model_copy(update={"device": elsewhere}),
        measured("d", 4.0, model="mv3"),
    )
    assert "fastest" not in text
    assert "speed" not in table(text)[0]


def test_a_hint_for_all_names_none_and_a_hint_for_many_names_a_few() -> None:
    doubtful = [measured(name, 1.0, notes=[DOUBT]) for name in "abcde"]
    assert "  hint: close other programs" in piped(*doubtful, verbose=True).splitlines()
    some = piped(*doubtful, measured("f", 1.0), verbose=True).splitlines()
    assert "  hint for mv2/a, mv2/b, mv2/c, 2 more: close other programs" in some


def test_each_result_has_one_line_of_remarks_and_each_hint_is_shown_once() -> None:
    time_limit = Note(code="stopped_early", message="the time limit ended it", hint="raise the limit")
    text = piped(
        measured("a", 1.0, notes=[time_limit, DOUBT]),
        measured("b", 1.0, notes=[DOUBT]),
        measured("c", 1.0, notes=[time_limit]),
        failed_result(identifier="d", reason="two\nlines"),
        measured("e", 1.0),
        verbose=True,
    )
    lines = text.splitlines()
    assert "! mv2/a: launches differ by 40 %; the time limit ended it" in lines
    assert "! mv2/b: launches differ by 40 %" in lines
    assert "· mv2/c: the time limit ended it" in lines
    assert "✗ mv2/d: crashed: two lines" in lines
    assert [line for line in lines if "hint" in line] == [
        "  hint: run it again with --debug to see what the program writes",
        "  hint for mv2/a, mv2/c: raise the limit",
        "  hint for mv2/a, mv2/b: close other programs",
    ]
    assert lines.index("✗ mv2/d: crashed: two lines") + 1 == lines.index(
        "  hint: run it again with --debug to see what the program writes"
    )
    assert not any("mv2/e:" in line for line in lines)


def test_notes_are_folded_by_cause_and_the_hints_of_doubts_follow() -> None:
    def busy(share: float, *, error: float | None = None) -> Note:
        message = f"other programs used up to {in_percent(share)}"
        return Note(code="busy", message=message, hint="use an idle machine", trust=error is None, error=error)

    late = Note(code="stopped_early", message="the time limit ended it", hint="raise the limit")
    noisy = Note(code="noisy", message="launches differ by 40 %")
    text = piped(
        measured("a", 1.0, notes=[busy(0.2), noisy]),
        measured("b", 1.0, notes=[busy(0.3), late]),
        measured("c", 1.0, notes=[busy(0.5, error=0.4), noisy]),
        measured("d", 1.0, notes=[busy(0.6, error=0.9)]),
        failed_result(identifier="e", reason="no such file"),
        failed_result(identifier="f", reason="no such file"),
    )
    lines = text.splitlines()
    assert lines[lines.index("✗ mv2/e, mv2/f: crashed: no such file") :] == [
        "✗ mv2/e, mv2/f: crashed: no such file",
        "  hint: run it again with --debug to see what the program writes",
        "! 2 of 6: other programs used the machine; by that the median may be up to 90 % too slow",
        "  hint: use an idle machine",
        "· 2 of 6: other programs used the machine",
        "· mv2/b: the time limit ended it",
        "`harness report LAST -v` shows every note in full, and how to measure again",
    ]


def test_a_doubt_of_a_single_result_says_how_wrong_it_may_be() -> None:
    doubt = Note(code="busy", message="others used up to 50 %", trust=False, error=1 / 3)
    for verbose in (False, True):
        text = piped(measured("a", 1.0, notes=[doubt]), verbose=verbose)
        assert "! mv2/a: others used up to 50 %; by that the median may be up to 33 % too slow\n" in text


def test_an_interval_wider_than_wanted_is_noted_quietly() -> None:
    def wanting(identifier: str, precision: float) -> Result:
        result = ok_result(identifier=identifier)
        benchmark = result.benchmark.model_copy(update={"precision": precision})
        latency = timing("NET", "latency", "ms", [1.0, 1.01, 1.02, 1.03, 1.04], launches=5)
        interval = LaunchInterval(low=0.99, high=1.05, confidence=0.95, launches=5)
        return with_metrics(
            result.model_copy(update={"benchmark": benchmark}), latency.model_copy(update={"interval": interval})
        )

    wide = "mv2/b: the interval is wider than ±2 % after all launches or the time limit\n"
    for verbose in (False, True):
        assert f"· {wide}" in piped(wanting("a", 0.05), wanting("b", 0.02), verbose=verbose)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_text_is_broken_between_words_at_every_width(width: int) -> None:
    words = [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "omicron",
        "pi",
        "rho",
        "sigma",
        "tau",
    ]
    doubt = DOUBT.model_copy(update={"message": " ".join(words), "hint": " ".join(reversed(words))})
    lines = on_terminal(measured("a", 1.0, notes=[doubt]), width=width).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("! mv2/a: alpha"))
    text = lines[start : next(number for number, line in enumerate(lines) if line.startswith("`harness report"))]
    assert max(map(len, text)) <= width
    assert " ".join(text).split() == ["!", "mv2/a:", *words, "hint:", *reversed(words)]
    hint = next(number for number, line in enumerate(text) if line.startswith("  hint"))
    assert all(line.startswith("  ") for line in text[1:hint])


def test_a_path_longer_than_the_terminal_is_left_whole() -> None:
    path = "/results/" + "x" * 100
    doubt = DOUBT.model_copy(update={"message": f"see {path} for more"})
    assert f"  {path}" in on_terminal(measured("a", 1.0, notes=[doubt]), width=60).splitlines()


def test_in_a_pipe_nothing_is_folded_or_cut() -> None:
    name = "x" * 400
    long = measured(name, 1.0, notes=[DOUBT.model_copy(update={"message": "y" * 900})])
    lines = piped(long, measured("b", 2.0)).splitlines()
    assert sum(name in line for line in lines) == 2
    assert any(line.endswith("y" * 900) for line in lines)
    assert "\x1b" not in "".join(lines)


def test_on_a_narrow_terminal_every_line_fits_and_keeps_its_verdict() -> None:
    results = [
        with_metrics(
            measured(f"mv2-xnnpack_{name}-t{n}", 10.0 / n),
            *measured("a", 10.0 / n).metrics,
            timing("RUN", "load_time", "ms", [12.5]),
            timing("RUN", "first_iteration", "ms", [22.5]),
        )
        for name in ("fp32", "q8")
        for n in (1, 2)
    ]
    text = on_terminal(*results)
    names, rows = table(text)
    assert {"benchmark", "median", "speed", "MAD"} <= set(names)
    assert all("mv2-xnnpack_" in row[0] for row in rows)
    top = text.splitlines()[3 : 4 + len(rows)]
    assert max(map(len, top)) <= 80
    assert "load" in table(on_terminal(*results, width=150))[0]


@pytest.mark.parametrize("width", [40, 44, 48, 56])
def test_a_name_is_broken_behind_its_separators(width: int) -> None:
    name = "mobilenet_v2-xnnpack_fp32-threads_2.large"
    lines = on_terminal(measured(name, 1.0), width=width).splitlines()
    begin = next(number for number, line in enumerate(lines) if set(line) == {"─"}) + 1
    end = next(number for number, line in enumerate(lines) if line.startswith("±"))
    cell = [line.split()[0] for line in lines[begin:end]]
    assert "".join(cell) == name
    assert len(cell) > 1
    assert all(part.endswith(("-", "_", ".")) for part in cell[:-1])


@pytest.mark.parametrize("width", range(20, 40))
def test_a_number_keeps_its_percent_sign(width: int) -> None:
    doubt = DOUBT.model_copy(update={"message": "differs by 10 % and 20 %, of 30 % and 40 % of 50 %"})
    lines = on_terminal(measured("a", 1.0, notes=[doubt]), width=width).splitlines()
    assert not [line for line in lines if line.strip().startswith("%")]


def test_a_name_longer_than_the_terminal_is_folded_and_numbers_are_not() -> None:
    text = on_terminal(measured("W" * 200, 1.0))
    assert text.count("W") == 200
    assert "1.00 ms" in text


@pytest.mark.parametrize("show", [piped, on_terminal])
def test_numbers_are_aligned_to_the_right(show: object) -> None:
    assert callable(show)
    lines = str(show(measured("a", 10.0), measured("b", 0.1, notes=[DOUBT]), measured("c", 2000.0))).splitlines()
    rule = next(i for i, line in enumerate(lines) if set(line) == {"─"})
    end = lines[rule - 1].index("median") + len("median")
    ends = [
        line[:end].endswith(unit) and line[end] == " "
        for line, unit in zip(lines[rule + 1 :], ("ms", "µs", "s"), strict=False)
    ]
    assert ends == [True] * 3


def test_names_are_shown_as_they_are_and_control_nothing() -> None:
    text = on_terminal(measured("mv2[int8]\x1b[31m", 1.0, model="[red]m\n"), width=150)
    assert "mv2[int8]\ufffd[31m" in text
    assert "[red]m" in text
    assert "\x1b" not in text


def test_the_row_of_the_fastest_is_coloured() -> None:
    stream = io.StringIO()
    screen = ScreenReporter(
        Console(file=stream, width=100, force_terminal=True, color_system="standard", no_color=False)
    )
    for result in (measured("a", 2.0), measured("b", 1.0)):
        screen.report(report_of(result))
    screen.close()
    coloured = next(line for line in stream.getvalue().splitlines() if "1.00 ms" in line)
    assert "\x1b[1;32m1.00 ms" in coloured
    assert ESCAPE.sub("", coloured).strip().startswith("b")


def test_beside_lines_of_json_the_table_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    screen = create(Settings(simple_screen_reporter=True))
    assert screen is not None
    screen.report(report_of(measured("a", 1.0)))
    screen.close()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "1.00 ms" in shown.err


def test_it_can_be_switched_off_and_shows_nothing_without_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert create(Settings(screen_reporter=False)) is None
    ScreenReporter(Console(file=sys.stdout)).close()
    assert capsys.readouterr().out == ""


def test_a_reader_that_has_gone_is_neither_a_failure_nor_an_exit() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        screen = ScreenReporter(Console(file=stream))
        screen.report(report_of(measured("a", 1.0)))
        screen.close()


def test_a_stream_without_our_characters_is_a_failure_with_a_remedy() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    screen = ScreenReporter(Console(file=stream))
    screen.report(report_of(measured("a", 1.0)))
    with pytest.raises(ReporterFailed, match="PYTHONIOENCODING"):
        screen.close()
