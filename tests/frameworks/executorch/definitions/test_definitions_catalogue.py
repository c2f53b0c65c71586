from __future__ import annotations

import subprocess
import sys

import pytest

from frameworks.executorch import definitions
from harness.core.errors import ExportFailed


def test_every_built_in_definition_is_listed_with_a_summary() -> None:
    known = definitions.known()

    assert {"add", "linear", "mlp", "mv2", "mv3_small", "mv3_large", "resnet18", "resnet50"} <= known.keys()
    assert all(entry.summary for entry in known.values())


def test_private_functions_and_modules_are_not_definitions() -> None:
    assert not [name for name in definitions.known() if name.startswith("_")]
    assert "models" not in definitions.known()


def test_listing_and_finding_import_no_torch() -> None:
    program = (
        "import sys; from frameworks.executorch import definitions, recipes; definitions.find('mv2');"
        "recipes.find('xnnpack_q8'); sys.exit('torch' in sys.modules or 'executorch' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_misspelt_definition_gets_a_suggestion_and_the_list() -> None:
    with pytest.raises(ExportFailed, match="unknown model definition `resnet81`") as failure:
        definitions.find("resnet81")

    hint = failure.value.hint or ""
    assert "did you mean `resnet18`?" in hint
    assert "mv3_small" in hint
    assert "package.module:function" in hint


def test_a_user_function_is_taken_apart() -> None:
    entry = definitions.find("my_package.nets:tiny")

    assert (entry.module, entry.function) == ("my_package.nets", "tiny")
    assert not definitions.is_built_in(entry)
    assert definitions.is_built_in(definitions.find("mv2"))


@pytest.mark.parametrize(
    "spelling", ["nets:", ":tiny", "my nets:tiny", "nets.py:tiny:other", "../nets:tiny", "1nets:t"]
)
def test_what_cannot_name_a_function_is_refused(spelling: str) -> None:
    with pytest.raises(ExportFailed, match="does not name a function"):
        definitions.find(spelling)
