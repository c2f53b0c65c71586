from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frameworks.observations.collector import LARGEST
from frameworks.observations.observer import parse_announced, parse_lines
from harness.core.metric import Observation
from harness.core.note import Note

untimed = settings(deadline=None)  # a busy machine is no finding
VALUE = 'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "%s"}'


def one(text: str) -> Observation:
    observations, notes = parse_lines(text)
    assert notes == ()
    assert len(observations) == 1
    return observations[0]


def only_note(notes: tuple[Note, ...], code: str) -> Note:
    """The note with that code; beside it stands none but that a metric is lost."""
    assert {note.code for note in notes} <= {code, "lost_metric"}
    (note_found,) = [note for note in notes if note.code == code]
    return note_found


def test_value_lines_of_one_key_become_samples_of_one_observation_in_printed_order() -> None:
    assert one("\n".join(VALUE % value for value in (3, 1, 2))) == Observation(
        type="NET", metric="latency", unit="us", samples=(3.0, 1.0, 2.0)
    )


def test_unrelated_text_around_and_on_lines_is_ignored() -> None:
    text = f"loading\nI/tag(12): {VALUE % 5} done\nno PyTorchObserver here\r\n{VALUE % 6}\r\n"
    assert one(text).samples == (5.0, 6.0)


def test_numbers_are_read_as_numbers_and_as_text() -> None:
    assert one((VALUE % 5).replace('"5"', "5") + "\n" + VALUE % "1e3").samples == (5.0, 1000.0)


def test_info_string_becomes_a_text() -> None:
    line = 'PyTorchObserver {"type": "RUN", "metric": "runtime", "unit": "", "info_string": "executorch 1.5"}'
    assert one(f"{line}\n{line}") == Observation(type="RUN", metric="runtime", info="executorch 1.5")


def test_summary_object_keeps_the_number_of_runs() -> None:
    line = 'PyTorchObserver {"type":"NET","metric":"latency","unit":"ms","num_runs":50,"summary":{"p50":"2","cv":null}}'
    assert one(line).summary == {"p50": 2.0, "n": 50.0}


def test_summary_list_has_the_order_of_fai_pep() -> None:
    line = 'PyTorchObserver {"type":"NET","metric":"latency","unit":"ms","summary":[0,1,2,3,4,5,6,7]}'
    expected = {"p0": 0.0, "p10": 1.0, "p50": 2.0, "p90": 3.0, "p100": 4.0, "mean": 5.0, "stdev": 6.0, "MAD": 7.0}
    assert one(line).summary == expected


def test_summary_and_info_before_the_first_value_are_kept() -> None:
    summary = 'PyTorchObserver {"type":"conv","metric":"latency","unit":"us","summary":{"p50":1}}'
    info = 'PyTorchObserver {"type":"NET","metric":"backend","unit":"","info_string":"xnnpack"}'
    observations, notes = parse_lines(f"{summary}\n{info}\n{VALUE % 1}")
    assert {observation.name for observation in observations} == {"conv latency", "NET backend", "NET latency"}
    assert notes == ()


@pytest.mark.parametrize("rows", ['[{"a": 1}, {"a": 2}]', '{"a": 1, "b": "x"}'])
def test_custom_output_of_either_shape_is_kept_as_rows_of_json(rows: str) -> None:
    observation = one(f'PyTorchObserver {{"custom_output": {rows}, "table_name": "layers"}}')
    assert observation.name == "layers table"
    expected = json.loads(rows)
    assert json.loads(observation.info or "") == (expected if isinstance(expected, list) else [expected])


def test_rows_of_one_table_add_up_over_lines() -> None:
    line = 'PyTorchObserver {"custom_output": {"a": %d}, "table_name": "layers"}'
    assert json.loads(one(f"{line % 1}\n{line % 2}").info or "") == [{"a": 1}, {"a": 2}]


def test_old_nested_form_gives_one_observation_for_each_type_and_metric() -> None:
    line = (
        'Caffe2Observer {"NET": {"latency": {"value": "12", "unit": "ms"}, "flops": {"value": 3, "unit": ""}},'
        ' "ID_0_Conv": {"latency": {"value": "7", "unit": "ms"}}}'
    )
    observations, notes = parse_lines(f"{line}\n{line}")
    assert notes == ()
    assert {o.name: o.samples for o in observations} == {
        "NET latency": (12.0, 12.0),
        "NET flops": (3.0, 3.0),
        "ID_0_Conv latency": (7.0, 7.0),
    }


@pytest.mark.parametrize("between", ["", " ", ", ", " PyTorchObserver ", " and then Caffe2Observer says "])
def test_two_objects_on_one_line_are_both_read(between: str) -> None:
    template = '{"type": "NET", "metric": "latency", "unit": "us", "value": %d}'
    assert one(f"PyTorchObserver {template % 1}{between}{template % 2}").samples == (1.0, 2.0)


def test_braces_and_identifiers_inside_a_text_do_not_end_an_object() -> None:
    line = 'PyTorchObserver {"type": "a", "metric": "b", "unit": "", "info_string": "} PyTorchObserver {\\" "}'
    assert one(line).info == '} PyTorchObserver {" '


def test_llm_statistics_of_executorch_become_metrics() -> None:
    fields = {
        "prompt_tokens": 7,
        "generated_tokens": 120,
        "model_load_start_ms": 1000,
        "model_load_end_ms": 1500,
        "inference_start_ms": 1500,
        "inference_end_ms": 2600,
        "prompt_eval_end_ms": 1600,
        "first_token_ms": 1610,
        "aggregate_sampling_time_ms": 30,
        "SCALING_FACTOR_UNITS_PER_SECOND": 1000,
    }
    observations, notes = parse_lines("PyTorchObserver " + json.dumps(fields))
    assert notes == ()
    assert {(o.name, o.unit): o.samples for o in observations} == {
        ("LLM prompt_tokens", "tokens"): (7.0,),
        ("LLM generated_tokens", "tokens"): (120.0,),
        ("LLM model_load_time", "ms"): (500.0,),
        ("LLM time_to_first_token", "ms"): (110.0,),
        ("LLM prompt_eval_time", "ms"): (100.0,),
        ("LLM inference_time", "ms"): (1100.0,),
        ("LLM sampling_time", "ms"): (30.0,),
        ("LLM prompt_tokens_per_second", "tokens/s"): (70.0,),
        ("LLM generate_tokens_per_second", "tokens/s"): (120.0,),
    }


def test_missing_or_unreached_llm_moments_only_leave_their_metrics_out() -> None:
    line = (
        'PyTorchObserver {"generated_tokens": 3, "inference_start_ms": 10, "prompt_eval_end_ms": 20, '
        '"inference_end_ms": 20, "first_token_ms": 0}'
    )
    observations, notes = parse_lines(line)
    assert notes == ()
    assert {o.metric for o in observations} == {"generated_tokens", "prompt_eval_time", "inference_time"}


def test_sums_and_starts_of_zero_were_never_measured() -> None:
    fields = {
        "model_load_start_ms": 0,
        "model_load_end_ms": 1_785_000_000_000,
        "inference_start_ms": 1_785_000_000_000,
        "inference_end_ms": 1_785_000_000_500,
        "aggregate_sampling_time_ms": 0,
        "aggregate_model_execution_time_ms": 0,
        "model_execution_start_ms": 0,
        "model_execution_end_ms": 0,
        "token_encode_end_ms": 0,
    }
    observations, notes = parse_lines("PyTorchObserver " + json.dumps(fields))
    assert notes == ()
    assert [(o.name, o.samples) for o in observations] == [("LLM inference_time", (500.0,))]


def test_llm_statistics_tell_tokenisation_and_execution_where_they_were_measured() -> None:
    fields = {"inference_start_ms": 10, "token_encode_end_ms": 13, "aggregate_model_execution_time_ms": 70}
    observations, _ = parse_lines("PyTorchObserver " + json.dumps(fields))
    assert {o.metric: o.samples for o in observations} == {"tokenization_time": (3.0,), "model_execution_time": (70.0,)}


def test_time_units_of_one_metric_convert_to_the_first() -> None:
    text = VALUE % 1500 + '\nPyTorchObserver {"type": "NET", "metric": "latency", "unit": "ms", "value": 2}'
    assert one(text) == Observation(type="NET", metric="latency", unit="us", samples=(1500.0, 2000.0))


def test_incompatible_units_are_kept_apart_and_reported() -> None:
    text = VALUE % 1 + '\nPyTorchObserver {"type": "NET", "metric": "latency", "unit": "cycles", "value": 2}'
    observations, notes = parse_lines(text)
    assert [(o.unit, o.samples) for o in observations] == [("us", (1.0,)), ("cycles", (2.0,))]
    assert "NET latency in `us` and in `cycles`" in only_note(notes, "units").message


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (VALUE % "NaN", 'value "NaN" is not finite'),
        ((VALUE % 1).replace('"1"', "Infinity"), "value Infinity is not finite"),
        (VALUE % "", 'value "" is not a number'),
        (VALUE % "12 ms", 'value "12 ms" is not a number'),
        (VALUE % "1_000", 'value "1_000" is not a number'),
        ((VALUE % 1).replace('"1"', "true"), "value true is not a number"),
        ((VALUE % 1).replace('"1"', "null"), "value null is not a number"),
        ((VALUE % 1).replace('"1"', "1" + "0" * 400), "too large"),
        (VALUE % "-1.7e308", 'value "-1.7e308" is too large for a figure'),
        ('PyTorchObserver {"type": "NET", "metric": "latency", "summary": {"p50": 1e151}}', "1e+151 is too large"),
        ((VALUE % 1).replace('"1"', "1" + "0" * 5000), "not JSON"),
        ((VALUE % 1)[:-5], "not JSON"),
        ('PyTorchObserver {"type": "NET", "unit": "us", "value": 1}', "its `metric` is null, not a name"),
        ('PyTorchObserver {"type": [], "metric": "a", "unit": "us", "value": 1}', "its `type` is [], not a name"),
        ('PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us"}', "no `value`, `summary` or"),
        ('PyTorchObserver {"type": "NET", "metric": "latency", "summary": [1, 2]}', "summary [1, 2] is neither"),
        ('PyTorchObserver {"hello": "world"}', "no `type` and `metric`"),
        ("PyTorchObserver {}", "no `type` and `metric`"),
        ("PyTorchObserver " + '{"a": ' * 20_000, "nested too deeply"),
    ],
)
def test_an_invalid_line_is_reported_by_number_and_loses_no_valid_line(bad: str, reason: str) -> None:
    observations, notes = parse_lines(f"{VALUE % 1}\nhello\n{bad}\n{VALUE % 2}")
    assert [observation.samples for observation in observations] == [(1.0, 2.0)]
    note = only_note(notes, "bad_lines")
    assert f"line 3: {reason}" in note.message or ("line 3" in note.message and reason in note.message)
    assert note.hint


def test_an_interrupted_line_loses_no_other_line() -> None:
    observations, notes = parse_lines(f'PyTorchObserver {{"type": "NET", "met{VALUE % 7}')
    assert [observation.samples for observation in observations] == [(7.0,)]
    assert "line 1: not JSON" in only_note(notes, "bad_lines").message


def test_the_valid_part_of_a_nested_line_is_kept() -> None:
    line = 'Caffe2Observer {"NET": {"latency": {"value": "x", "unit": "ms"}, "load": {"value": 2, "unit": "ms"}}}'
    observations, notes = parse_lines(line)
    assert [(o.name, o.samples) for o in observations] == [("NET load", (2.0,))]
    assert "line 1: NET latency:" in only_note(notes, "bad_lines").message


def test_many_invalid_lines_give_one_note_that_quotes_the_first() -> None:
    _, notes = parse_lines("\n".join(VALUE % "x" for _ in range(20)))
    message = only_note(notes, "bad_lines").message
    assert "line 5:" in message
    assert "line 6:" not in message
    assert "and 15 more" in message


def test_without_identifiers_every_line_that_begins_with_a_brace_is_an_object() -> None:
    template = '{"type": "NET", "metric": "latency", "unit": "us", "value": %d}'
    observations, notes = parse_lines(f"{template % 1}\n  {template % 2}\ntext {template % 3}\n", identifiers=())
    assert [observation.samples for observation in observations] == [(1.0, 2.0)]
    assert notes == ()


def test_a_custom_identifier_replaces_the_defaults() -> None:
    template = '{"type": "NET", "metric": "latency", "unit": "us", "value": %d}'
    observations, _ = parse_lines(f"Mine(1): {template % 1}\nPyTorchObserver {template % 2}", ["Mine(1):"])
    assert [observation.samples for observation in observations] == [(1.0,)]


def test_a_document_with_a_list_of_metrics_is_parsed() -> None:
    document = {
        "metrics": [
            {"name": "NET latency", "unit": "ms", "values": [1.5, "2"]},
            {"name": "accuracy", "value": 0.9},
            {"type": "RUN", "metric": "runtime", "info_string": "mine"},
        ]
    }
    observations, notes = parse_lines(json.dumps(document, indent=2))
    assert notes == ()
    assert observations == (
        Observation(type="NET", metric="latency", unit="ms", samples=(1.5, 2.0)),
        Observation(type="NET", metric="accuracy", samples=(0.9,)),
        Observation(type="RUN", metric="runtime", info="mine"),
    )


def test_a_document_of_plain_numbers_is_parsed() -> None:
    document = {
        "latency_ms": 1.25,
        "conv": {"latency_us": [7, 8], "memory": {"value": "9", "unit": "bytes"}},
        "io": {"disk": {"read_s": 2}},
        "tokens_per_s": 30,
        "backend": "xnnpack",
        "quantised": True,
    }
    observations, notes = parse_lines(json.dumps(document))
    assert notes == ()
    assert {o.name: (o.unit, o.samples or o.info) for o in observations} == {
        "NET latency": ("ms", (1.25,)),
        "conv latency": ("us", (7.0, 8.0)),
        "conv memory": ("bytes", (9.0,)),
        "io.disk read": ("s", (2.0,)),
        "NET tokens_per_s": ("/s", (30.0,)),
        "NET backend": ("", "xnnpack"),
        "NET quantised": ("", "true"),
    }


def test_invalid_parts_of_a_document_are_reported_by_name() -> None:
    observations, notes = parse_lines('{"latency_ms": "fast", "net": {"load_s": NaN, "n": 3}, "x": null}')
    assert [(o.name, o.samples) for o in observations] == [("net n", (3.0,))]
    message = only_note(notes, "bad_lines").message
    assert "latency_ms: " in message
    assert "net.load_s: " in message
    assert "x: " in message


def test_json_that_is_not_a_document_is_reported() -> None:
    observations, notes = parse_lines('{"latency_ms": 1}\n{"latency_ms": 2}')
    assert observations == ()
    assert "neither one JSON object" in only_note(notes, "bad_lines").message


def test_a_document_after_observer_lines_is_parsed() -> None:
    assert one(f'{{"a": 1}}\n{VALUE % 2}').samples == (2.0,)


@pytest.mark.parametrize("text", ["", "\n", "hello", "PyTorchObserver", "PyTorchObserver ready", "[1, 2]", "3"])
def test_unrelated_output_gives_no_observations_or_notes(text: str) -> None:
    assert parse_lines(text) == ((), ())


_WORDS = (
    *("type", "metric", "unit", "value", "values", "summary", "info_string", "num_runs", "custom_output", "table_name"),
    *("metrics", "name", "NET", "latency_ms", "prompt_tokens", "inference_start_ms", "inference_end_ms"),
)
_names = st.sampled_from(_WORDS) | st.text(max_size=3)
_json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=4),
    max_leaves=12,
)


@untimed
@given(st.dictionaries(_names, _json_values, max_size=6), st.sampled_from(["", "PyTorchObserver ", "x Caffe2Observer"]))
def test_no_object_raises_and_all_numbers_are_finite(document: dict[str, object], before: str) -> None:
    for identifiers in (("PyTorchObserver", "Caffe2Observer"), ()):
        observations, _ = parse_lines(before + json.dumps(document), identifiers)
        for observation in observations:
            assert all(math.isfinite(sample) for sample in observation.samples)
            observation.model_dump_json()  # every text can be written


@untimed
@given(st.text(alphabet='{}[]":, \\\n1eE-NaPyTorchObserver\x00é', max_size=200))
def test_no_text_raises(text: str) -> None:
    parse_lines(text)
    parse_lines(text, ())
    parse_lines("PyTorchObserver " + text)


@untimed
@given(st.lists(st.floats(min_value=-LARGEST, max_value=LARGEST), min_size=1))
def test_printed_samples_are_parsed_exactly_despite_text_between(samples: list[float]) -> None:
    noise = ["", "text", VALUE % "bad", "PyTorchObserver {"]
    lines = [line for i, sample in enumerate(samples) for line in (noise[i % len(noise)], VALUE % repr(sample))]
    observations, _ = parse_lines("\n".join(lines))
    assert [observation.samples for observation in observations] == [tuple(samples)]


@untimed
@given(st.permutations([VALUE % 1, 'PyTorchObserver {"type": "a", "metric": "b", "info_string": "c"}', "text"]))
def test_the_order_of_different_lines_does_not_matter(lines: list[str]) -> None:
    observations, notes = parse_lines("\n".join(lines))
    assert {observation.name for observation in observations} == {"NET latency", "a b"}
    assert notes == ()


# --- documents ---------------------------------------------------------------------------------------------------


def test_a_list_of_observations_is_a_document() -> None:
    text = '[{"type": "NET", "metric": "latency", "unit": "ms", "value": 1}, {"name": "RUN load", "values": [2, 3]}]'
    for identifiers in (("PyTorchObserver",), ()):
        observations, notes = parse_lines(f"{text}\n", identifiers)
        assert notes == ()
        assert {observation.name: observation.samples for observation in observations} == {
            "NET latency": (1.0,),
            "RUN load": (2.0, 3.0),
        }


def test_a_name_with_a_type_keeps_the_type() -> None:
    assert one('{"NET latency": {"value": 3, "unit": "ms"}}').name == "NET latency"
    assert one('{"NET latency_ms": 3}') == Observation(type="NET", metric="latency", unit="ms", samples=(3.0,))


@pytest.mark.parametrize(
    "text",
    [
        '{"NET latency": {"p50": 1, "mean": 2, "unit": "ms"}}',
        '{"NET": {"latency": {"p50": 1, "avg": 2, "unit": "ms"}}}',
        '{"latency_ms": {"median": 1, "mean": 2}}',
        '{"metrics": [{"name": "NET latency", "unit": "ms", "p50": 1, "mean": 2}]}',
        'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "ms", "p50": 1, "mean": 2}',
    ],
)
def test_numbers_named_like_statistics_are_a_summary_in_the_adjacent_unit(text: str) -> None:
    assert one(text) == Observation(type="NET", metric="latency", unit="ms", summary={"p50": 1.0, "mean": 2.0})


def test_values_beside_statistics_are_parsed_separately() -> None:
    observations, notes = parse_lines('{"conv": {"p50": 1, "unit": "ms", "memory_bytes": 7, "kind": "xnn"}}')
    assert notes == ()
    assert {observation.name: (observation.unit, observation.info) for observation in observations} == {
        "NET conv": ("ms", None),
        "conv memory": ("bytes", None),
        "conv kind": ("", "xnn"),
    }


def test_statistics_without_a_name_are_rejected() -> None:
    observations, notes = parse_lines('{"p50": 1, "mean": 2, "unit": "ms"}')
    assert observations == ()
    assert "the numbers have no name" in only_note(notes, "bad_lines").message


def test_a_unit_beside_one_number_is_a_unit_and_beside_several_a_text() -> None:
    assert one('{"latency": 2, "unit": "ms"}').unit == "ms"
    observations, _ = parse_lines('{"latency": 2, "runs": 50, "unit": "ms"}')
    assert {observation.name: observation.unit for observation in observations if observation.samples} == {
        "NET latency": "",
        "NET runs": "",
    }


# --- what is lost ------------------------------------------------------------------------------------------------


def test_results_with_invalid_lines_are_untrusted() -> None:
    _, notes = parse_lines(f"{VALUE % 1}\n{VALUE % 'fast'}")
    assert [(note.code, note.trust) for note in notes] == [("bad_lines", False)]


@pytest.mark.parametrize(
    "bad",
    [
        VALUE % "nan",
        'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": 12',
        'PyTorchObserver {"NET": {"latency": {"value": "x"}}}',
        'PyTorchObserver {"type": "NET", "metric": "latency"}',
    ],
)
def test_a_metric_without_valid_numbers_is_lost(bad: str) -> None:
    other = 'PyTorchObserver {"type": "conv", "metric": "latency", "unit": "us", "value": 3}'
    _, notes = parse_lines(f"{other}\n{bad}")
    (lost,) = (note for note in notes if note.code == "lost_metric")
    assert lost.message.startswith("NET latency was printed")
    assert not lost.trust
    assert all(note.code != "lost_metric" for note in parse_lines(f"{VALUE % 1}\n{bad}")[1])


def test_a_part_of_a_document_without_valid_numbers_is_lost() -> None:
    _, notes = parse_lines('{"latency_ms": "fast", "load_ms": 3}')
    assert any(note.code == "lost_metric" and note.message.startswith("NET latency was") for note in notes)


ACCURACY = '{"type": "net", "metric": "percent_of_top1_corrects", "unit": "percent", %s}'


def test_a_summary_beside_values_counts_as_in_fai_pep() -> None:
    both = '"values": [1, 0, 1, 1], "summary": {"num_runs": 4, "mean": 75.0, "p50": 75.0}'
    observation = one("Caffe2Observer  " + ACCURACY % both)
    assert observation.samples == ()
    assert observation.summary == {"num_runs": 4.0, "mean": 75.0, "p50": 75.0}
    assert one("Caffe2Observer " + ACCURACY % '"values": [1, 0]').samples == (1.0, 0.0)


@pytest.mark.parametrize("text", ['{"latency_ms": 3}', '[{"type": "NET"}]', "{not JSON", '{"NET": {"latency": {}}}'])
@pytest.mark.parametrize("identifiers", [("PyTorchObserver",), ()])
def test_json_that_nothing_announces_is_no_observation_of_a_step(text: str, identifiers: tuple[str, ...]) -> None:
    assert parse_announced(text, identifiers) == ((), ())


def test_lines_that_name_type_and_metric_are_observations_of_a_step_without_identifier() -> None:
    text = "\n".join((ACCURACY % '"value": 75', '{"step": "done"}', "  " + ACCURACY % '"value": "much"'))
    (observation,), (note,) = parse_announced(text, ())
    assert observation.samples == (75.0,)
    assert (note.code, "line 3" in note.message) == ("bad_lines", True)


def test_the_hint_about_lines_without_an_identifier_names_one() -> None:
    _, notes = parse_lines('{"type": "NET"}\n{"type": "NET"}\n')
    assert [note.code for note in notes] == ["bad_lines"]
    assert "an identifier such as `PyTorchObserver`" in (notes[0].hint or "")
