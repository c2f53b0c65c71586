"""Facts that a program's file has, against the exporter's own reader."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from frameworks.executorch.python.program_file import read_sections, read_signature
from harness import shell
from harness.core.command import Command

pytestmark = pytest.mark.slow

UPSTREAM = """
import json, sys
from executorch.exir._serialize._program import deserialize_pte_binary
facts = {}
for name in sys.argv[2:]:
    file = deserialize_pte_binary(open(f"{sys.argv[1]}/{name}.pte", "rb").read())
    program = file.program
    plan = program.execution_plan[0]
    tensors = lambda places: [
        [int(value.scalar_type), list(value.sizes), list(value.dim_order), int(value.shape_dynamism) == 0]
        for value in (plan.values[place].val for place in places)
    ]
    facts[name] = [tensors(plan.inputs), tensors(plan.outputs), plan.non_const_buffer_sizes[1:]]
print("FACTS" + json.dumps(facts))
"""
NAMES = ("add", "add_int", "chain", "channels_last", "nonzero", "linear")


@pytest.mark.exhaustive
def test_the_file_is_read_as_the_exporter_reads_it(programs: Path) -> None:
    completed = shell.run(Command((sys.executable, "-c", UPSTREAM, str(programs), *NAMES), timeout_s=300))
    assert completed.ok, completed.stderr
    facts = json.loads(completed.stdout.partition("FACTS")[2])
    for name, (inputs, outputs, planned) in facts.items():
        path = programs / f"{name}.pte"
        signature = read_signature(path, "forward")
        for tensors, wanted in ((signature.inputs, inputs), (signature.outputs, outputs)):
            described = [
                [tensor.scalar_type, list(tensor.sizes), list(tensor.dim_order), tensor.is_static]
                for tensor in tensors
                if tensor is not None
            ]
            assert described == wanted, name
        assert list(signature.planned_bytes) == planned
        assert sum(read_sections(path.read_bytes()).values()) == path.stat().st_size


def test_parts_of_a_program_are_named(programs: Path) -> None:
    delegated = read_sections((programs / "linear.pte").read_bytes())
    assert set(delegated) == {"program", "delegate XnnpackBackend", "named data", "padding"}
    assert delegated["named data"] == 4 * (8 * 4 + 4), "weights and bias"
    assert "constants" in read_sections((programs / "chain.pte").read_bytes())
