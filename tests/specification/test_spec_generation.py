"""Generation: the block that asks for tokens."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from harness.core.generation import GenerationRequest
from harness.core.placeholders import substitute
from tests.specification.conftest import Complain, Expand, Members

MODEL: Members = {"framework": "executorch", "files": {"model": {"filename": "m.pte", "location": "/m.pte"}}}
TYPED: Members = {"command": None, "metric": "generation"}
WITH_FILES: Members = {
    **MODEL,
    "files": {
        "model": {"filename": "m.pte", "location": "/m.pte"},
        "tokenizer": {"filename": "t.model", "location": "/t.model"},
        "wiki": {"filename": "wiki.bin", "location": "/wiki.bin"},
    },
}


def test_a_test_without_the_block_generates_nothing(expand: Expand) -> None:
    (benchmark,) = expand()
    assert benchmark.generation is None


def test_an_empty_block_has_the_defaults(expand: Expand) -> None:
    (benchmark,) = expand(MODEL, {**TYPED, "generation": {}})
    assert benchmark.generation == GenerationRequest(prompt_tokens=128, new_tokens=64, depth=0)


def test_each_depth_of_an_axis_is_a_benchmark_of_its_own(expand: Expand) -> None:
    block: Members = {"prompt_tokens": 7, "new_tokens": 5, "depth": "{depth}"}
    shallow, deep = expand(
        MODEL, {**TYPED, "identifier": "d{depth}", "matrix": {"depth": [0, 1024]}, "generation": block}
    )
    assert shallow.generation == GenerationRequest(prompt_tokens=7, new_tokens=5, depth=0)
    assert deep.generation == GenerationRequest(prompt_tokens=7, new_tokens=5, depth=1024)
    assert shallow.digest != deep.digest


def test_commands_are_told_the_numbers_of_tokens(expand: Expand) -> None:
    command = "{generation.prompt_tokens} {generation.new_tokens} {generation.depth}"
    test: Members = {"command": command, "matrix": {"deep": [3]}, "identifier": "{deep}"}
    (benchmark,) = expand({}, {**test, "generation": {"new_tokens": 5, "depth": "{deep}"}})
    assert [substitute(template, benchmark.variables) for template in benchmark.commands] == ["128 5 3"]


def test_nobody_knows_the_tokens_of_a_text(complain: Complain) -> None:
    block: Members = {"prompt": "a", "new_tokens": 5}
    complaint = complain(WITH_FILES, {"command": "{program} {generation.prompt_tokens}", "generation": block})
    assert "unknown placeholder {generation.prompt_tokens}" in str(complaint)


def test_a_number_that_names_itself_is_refused(complain: Complain) -> None:
    complaint = complain(MODEL, {**TYPED, "generation": {"depth": "{generation.depth}"}})
    assert complaint


def test_a_prompt_is_a_text_with_placeholders(expand: Expand) -> None:
    block: Members = {"prompt": 'Write {what}, \u00fc, "quoted"\nand {{braces}}', "perplexity": "wiki"}
    (benchmark,) = expand(WITH_FILES, {**TYPED, "what": "a poem", "generation": block})
    assert benchmark.generation is not None
    assert benchmark.generation.prompt == 'Write a poem, \u00fc, "quoted"\nand {braces}'
    assert benchmark.generation.perplexity == "files.wiki"


@pytest.mark.parametrize(
    ("block", "message", "hint"),
    [
        ({"new_token": 3}, "unknown key `new_token`", "did you mean `new_tokens`?"),
        ({"new_tokens": 0}, "must be at least 1, got 0", None),
        ({"prompt_tokens": 0}, "must be at least 1, got 0", None),
        ({"depth": -1}, "must be at least 0, got -1", None),
        ({"depth": 1_000_001}, "must be at most 1000000, got 1000001", None),
        ({"depth": "deep"}, 'must be a number or a placeholder such as {depth}, got "deep"', None),
        ({"depth": "{deep}"}, "unknown placeholder {deep}", None),
        ({"depth": "{text}"}, "`{text}` is 'words', not a whole number from 0 to 1000000", "whole numbers"),
        ({"new_tokens": "{zero}"}, "`{zero}` is '0', not a whole number from 1 to 1000000", "whole numbers"),
        ({"new_tokens": "{huge}"}, "is '99999999999999999999', not a whole number", "whole numbers"),
        ({"prompt": "a", "prompt_tokens": 3}, "`prompt` and `prompt_tokens` are both given", "keep one"),
        ({"perplexity": "modle"}, "there is no file `modle` in `files`", "did you mean `model`?"),
        (None, "expected a whole number or text, got null", "remove the key"),
    ],
)
def test_what_the_block_cannot_have_is_refused_in_words(
    complain: Complain, block: JsonValue, message: str, hint: str | None
) -> None:
    test: Members = {**TYPED, "text": "words", "zero": 0, "huge": 99999999999999999999}
    used: Members = {"env": {"A": "{text}{zero}{huge}"}}
    (problem,) = complain(WITH_FILES, {**test, **used, "generation": block if block is not None else {"depth": None}})
    assert message in problem.message
    assert (hint or "") in (problem.hint or "")


def test_a_prompt_without_a_tokenizer_is_refused(complain: Complain) -> None:
    (problem,) = complain(MODEL, {**TYPED, "generation": {"prompt": "a"}})
    assert "the model has no file `tokenizer`" in problem.message
    assert "prompt_tokens" in (problem.hint or "")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("inputs", {"tokens": {"shape": [1, 8]}}),
        ("input_files", {"tokens": {"filename": "t.bin", "location": "/t.bin"}}),
        ("data", "digits"),
        ("scores", ["logits"]),
        ("same_work", True),
    ],
)
def test_what_means_nothing_beside_a_generation_is_refused(complain: Complain, key: str, value: JsonValue) -> None:
    problems = complain(MODEL, {**TYPED, "generation": {}, key: value})
    assert f"`{key}` means nothing in a test that generates tokens" in problems[0].message


def test_a_list_of_kinds_may_name_it(expand: Expand, complain: Complain) -> None:
    (benchmark,) = expand(MODEL, {**TYPED, "metric": ["generation", "load_time"], "generation": {}})
    assert (benchmark.metric, benchmark.kinds) == ("generation", ("generation", "load_time"))
    (problem,) = complain(MODEL, {**TYPED, "metric": ["load_time", "generation"]})
    assert problem.message == "nothing says what to generate"
    (problem,) = complain(MODEL, {**TYPED, "metric": ["delay", "generation"], "generation": {}})
    assert problem.message == "'delay' and 'generation' are the same launches, which generate"


def test_kinds_of_single_executions_are_refused(complain: Complain) -> None:
    (problem,) = complain(MODEL, {**TYPED, "metric": ["memory", "layers"], "generation": {}})
    assert "'layers' is a figure of single executions" in problem.message
