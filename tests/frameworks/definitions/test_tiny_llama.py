"""The language model: what it generates, and that its programs generate the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

from frameworks.definitions.tiny_llama import tiny_llama
from frameworks.executorch.python.extension import load_runtime
from frameworks.exporting.child import ExportTask
from frameworks.exporting.companions import REPORT, beside
from frameworks.exporting.models import prepare, weights_md5
from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.core.errors import ExportFailed
from harness.core.scalars import Scalar

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Upstream's; the export process keeps them for its log.
]

Forward = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
SMALL: dict[str, Scalar] = {
    "dim": 32,
    "layers": 1,
    "heads": 4,
    "kv_heads": 2,
    "vocabulary": 64,
    "max_context": 64,
    "max_tokens": 16,
}
PROMPT = [(7 * place) % 61 for place in range(29)]


def generate(forward: Forward, prompt: Sequence[int], count: int, at_once: int = 16) -> list[int]:
    """Return the likeliest tokens; the prompt is processed so many at once."""
    chosen: list[int] = []
    position = 0
    parts = [prompt[start : start + at_once] for start in range(0, len(prompt), at_once)]
    with torch.no_grad():
        while len(chosen) < count:
            part = parts.pop(0) if parts else [chosen[-1]]
            logits = forward(torch.tensor([part]), torch.tensor([position]))
            position += len(part)
            if not parts:
                chosen.append(int(logits.reshape(-1, logits.shape[-1])[-1].argmax()))
    return chosen


def eager(**options: Scalar) -> torch.nn.Module:
    return prepare(Export(definition="tiny_llama", recipe="portable", options={**SMALL, **options})).module


def test_the_whole_model_has_five_million_parameters_and_does_not_repeat_itself() -> None:
    model = prepare(Export(definition="tiny_llama", recipe="portable")).module

    assert sum(parameter.numel() for parameter in model.parameters()) == 4_951_296
    tokens = generate(model, list(range(128)), 64, at_once=128)
    assert len(set(tokens)) > 40
    assert not {*range(128, 256), 1022, 1023} & {*tokens}, "no text, or an end"


def test_a_prompt_in_parts_is_the_same_prompt() -> None:
    model = eager()

    whole, by_tokens = (generate(model, PROMPT, 20, at_once=size) for size in (16, 1))

    assert whole == by_tokens


def test_another_generation_begins_with_an_empty_context() -> None:
    model = eager()
    first = generate(model, PROMPT, 20)
    generate(model, [1, 2, 3], 5)

    assert generate(model, PROMPT, 20) == first


def test_both_kinds_of_attention_have_the_same_weights_and_tokens() -> None:
    plain, custom = eager(), eager(attention="custom_sdpa")

    assert dict(plain.named_parameters()).keys() == dict(custom.named_parameters()).keys()
    assert all(map(torch.equal, plain.parameters(), custom.parameters()))
    assert generate(plain, PROMPT, 20) == generate(custom, PROMPT, 20)


def test_the_seed_determines_the_weights() -> None:
    request = Export(definition="tiny_llama", recipe="portable", options=SMALL)
    first, again = (weights_md5(prepare(request).module) for _ in range(2))
    other = weights_md5(prepare(request.model_copy(update={"seed": 1})).module)

    assert first == again != other


@pytest.mark.parametrize(
    ("options", "words"), [({"attention": "flash"}, "no attention `flash`"), ({"heads": 5}, "fit")]
)
def test_impossible_options_are_refused(options: dict[str, Scalar], words: str) -> None:
    with pytest.raises(ExportFailed, match=words):
        eager(**options)


def test_the_smallest_calls_are_possible() -> None:
    module, inputs = tiny_llama(dim=8, layers=1, heads=2, kv_heads=1, vocabulary=8, max_context=4, max_tokens=2)

    assert module(*inputs).shape == (1, 8)


class ExportedDecoder:
    """Program of the small model, run by ExecuTorch."""

    def __init__(self, file: Path, recipe: str, **options: Scalar) -> None:
        from frameworks.executorch.exporting.program import write_program  # noqa: PLC0415 - seconds

        export = Export(definition="tiny_llama", recipe=recipe, options={**SMALL, **options})
        write_program(ExportTask(export, file, lambda text: None))
        self.report = ExportReport.model_validate_json(beside(file, REPORT).read_bytes())
        runtime = load_runtime()
        self._program = runtime._load_program(str(file), program_verification=runtime.Verification.InternalConsistency)
        self._method = self._program.load_method("forward")

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        self._method.set_inputs(inputs)
        self._method.execute()
        (logits,) = self._method.get_outputs()
        assert isinstance(logits, torch.Tensor)
        return logits

    def constants(self) -> dict[str, object]:
        names = {self._program.get_method_name(index) for index in range(self._program.num_methods())} - {"forward"}
        return {name: self._constant(name) for name in names}

    def _constant(self, name: str) -> object:
        method = self._program.load_method(name)
        method.execute()
        (value,) = method.get_outputs()
        return value


@pytest.mark.parametrize(
    ("recipe", "attention", "backends"),
    [
        ("portable", "custom_sdpa", False),
        pytest.param("xnnpack_fp32", "plain", True, marks=pytest.mark.exhaustive),
    ],
)
def test_its_programs_generate_what_torch_does(tmp_path: Path, recipe: str, attention: str, backends: bool) -> None:
    program = ExportedDecoder(tmp_path / "program.pte", recipe, attention=attention)

    assert generate(program, PROMPT, 30) == generate(eager(), PROMPT, 30)
    assert program.report.delegation is not None
    assert bool(program.report.delegation.delegated) is backends
    assert [tensor.shape for tensor in program.report.inputs] == [(1, 3), (1,)]
    assert program.constants() == {
        "get_bos_id": 62,
        "get_eos_ids": 63,
        "get_max_seq_len": 16,
        "get_max_context_len": 64,
        "get_n_layers": 1,
        "get_vocab_size": 64,
        "use_kv_cache": True,
        "use_sdpa_with_kv_cache": attention == "custom_sdpa",
        "enable_dynamic_shape": True,
    }
    assert program.report.constants == {**program.constants(), "get_eos_ids": (63,)}


@pytest.mark.exhaustive
def test_rounded_weights_stay_near_the_model_and_take_prompts_of_any_length(tmp_path: Path) -> None:
    program = ExportedDecoder(tmp_path / "program.pte", "xnnpack_8da4w")
    for count in (1, 16):
        inputs = (torch.tensor([PROMPT[:count]]), torch.tensor([0]))
        with torch.no_grad():
            expected = eager()(*inputs)
        distance = torch.linalg.vector_norm(program(*inputs) - expected) / torch.linalg.vector_norm(expected)
        assert 1e-4 < distance < 0.5

    delegation = program.report.delegation
    assert delegation is not None
    assert delegation.delegated["linear"] == 7 + 1
    assert "linear" not in delegation.non_delegated
