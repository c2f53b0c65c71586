from __future__ import annotations
import __future__

import importlib
import os
from pkgutil import iter_modules
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

import harness.core
import harness.specification
from harness.core.device import DeviceState
from harness.core.result import Result, make_writable
from harness.core.values import Value, mask_secrets, replace_surrogates
from harness.testing.results import ok_result


class _Leaf(Value):
    text: str


class _Tree(Value):
    leaf: _Leaf
    words: tuple[str, ...] = ()
    free: dict[str, JsonValue] = {}
    number: float | None = None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters()),
    lambda children: st.lists(children) | st.dictionaries(st.text(st.characters(), max_size=3), children),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.text(st.characters()), st.lists(st.text(st.characters())), st.dictionaries(st.text(st.characters()), _JSON))
def test_sanitised_text_survives_json_and_utf_8(text: str, words: list[str], free: dict[str, JsonValue]) -> None:
    clean = replace_surrogates(_Tree(leaf=_Leaf(text=text), words=tuple(words), free=free))
    assert _Tree.model_validate_json(clean.model_dump_json().encode()) == clean
    assert (len(clean.leaf.text), len(clean.words), len(clean.free)) == (len(text), len(words), len(free))


def test_tables_of_numbers_are_left_alone() -> None:
    state = DeviceState(time=0.0, residency_ms={"policy0": {300000: 10}})
    assert replace_surrogates(state) is state


def test_a_value_without_surrogates_is_left_alone() -> None:
    result = ok_result(meta={"list": [1, {"deep": "ü🐍\ufffd"}]})
    assert make_writable(result) is result


def test_keys_that_become_equal_stay_distinct() -> None:
    free: dict[str, JsonValue] = dict(zip(map(chr, (0xD800, 0xDFFF, 0xFFFD)), (1, 2, 3), strict=True))
    assert sorted(replace_surrogates(_Tree(leaf=_Leaf(text=""), free=free)).free.values(), key=str) == [1, 2, 3]


def test_a_result_with_replaced_text_is_noted_and_still_counts() -> None:
    launch = ok_result().launches[0].model_copy(update={"commands": (("runner", os.fsdecode(b"a\xff")),)})
    clean = make_writable(ok_result(identifier="a\ud800b").model_copy(update={"launches": (launch,)}))
    assert clean.benchmark.identifier == "a\ufffdb"
    assert clean.launches[0].commands == (("runner", "a\ufffd"),)
    assert [note.code for note in clean.notes] == ["replaced_text"]
    assert clean.trusted
    assert Result.model_validate_json(clean.model_dump_json()) == clean


def test_values_of_secret_variables_are_masked() -> None:
    secret = dict.fromkeys(("API_TOKEN", "HF_TOKEN", "aws_secret_access_key", "DB_PASSWORD", "API_KEY", "APIKEY"), "x")
    plain = dict.fromkeys(("OMP_NUM_THREADS", "KEYBOARD", "MAX_TOKENS", "MONKEY", "TOKENIZERS_PARALLELISM"), "x")
    assert mask_secrets({**secret, **plain}) == {**dict.fromkeys(secret, "***"), **plain}


@pytest.mark.parametrize("package", [harness.core, harness.specification])
def test_annotations_of_values_are_no_texts(package: ModuleType) -> None:
    """pydantic compiles each annotation once more where it is a text: a fifth of what a class costs (decision 0047)."""
    modules = [importlib.import_module(f"{package.__name__}.{found.name}") for found in iter_modules(package.__path__)]
    with_values = [module for module in modules if any(_is_value_of(module, each) for each in vars(module).values())]
    assert with_values
    assert not [
        module.__name__ for module in with_values if getattr(module, "annotations", None) is __future__.annotations
    ]


def _is_value_of(module: ModuleType, member: object) -> bool:
    return isinstance(member, type) and issubclass(member, Value) and member.__module__ == module.__name__
