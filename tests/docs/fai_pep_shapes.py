"""The shapes of FAI-PEP's own specifications: what each file asks for, without its texts, names and models.

    python -m tests.docs.fai_pep_shapes FOLDER    writes the shapes of FAI-PEP's `specifications` to fai_pep_shapes.json

A shape is a specification of its own: of texts only the placeholders are kept, of files that they are there, of numbers
nothing, of equal tests how many there are. Equal shapes are kept once. Tests write every shape under the names of its
files, and so have a folder that validates and runs as FAI-PEP's does.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHAPES = Path(__file__).with_suffix(".json")
EMPTY = hashlib.md5(b"").hexdigest()
"""MD5 of the one file that every shape names."""

_PLACEHOLDERS = re.compile(r"\{[\w.]+\}")
_KEPT = frozenset({"metric", "method", "taskset", "log_output"})
"""Keys whose words say what is asked for."""
_DROPPED = frozenset({"category", "description", "kind"})
_RENAMED = {"name": "net", "format": "any", "identifier": "{ID}"}


def write_shapes(folder: Path) -> None:
    """Write the shapes of a folder of specifications."""
    shapes: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.rglob("*.json")):
        text = file.read_text(encoding="utf-8")
        shape = {"specification": _reduce_document(json.loads(text)), "repeats_a_key": _repeats_a_key(text)}
        name = str(file.relative_to(folder))
        shapes.setdefault(json.dumps(shape), {**shape, "files": []})["files"].append(name)
    SHAPES.write_text("[\n" + ",\n".join(json.dumps(shape) for shape in shapes.values()) + "\n]\n", encoding="utf-8")


def write_files(folder: Path) -> Iterator[Path]:
    """Write every shape under the names of its files, and yield the paths of the specifications."""
    for shape in json.loads(SHAPES.read_text(encoding="utf-8")):
        for name in shape["files"]:
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            (file.parent / "empty").write_bytes(b"")
            text = json.dumps(_expand_document(shape["specification"]), indent=1).replace(
                '"net"', json.dumps(file.stem)
            )
            if shape["repeats_a_key"]:
                text = text.replace('"commands":', '"commands": ["true"], "commands":', 1)
            file.write_text(text, encoding="utf-8")
            yield file


def _repeats_a_key(text: str) -> bool:
    repeated: list[bool] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.append(len({name for name, _ in pairs}) < len(pairs))
        return dict(pairs)

    json.loads(text, object_pairs_hook=collect)
    return any(repeated)


def _reduce_document(document: Any) -> Any:  # noqa: ANN401 - JSON
    if "benchmarks" in document:
        return {"meta": dict.fromkeys(document["meta"], "x"), "benchmarks": document["benchmarks"]}
    tests = [_reduce(test, "") for test in document["tests"]]
    counted = [[len(list(equal)), test] for test, equal in itertools.groupby(tests)]
    return {"model": _reduce(document["model"], ""), "tests": counted}


def _expand_document(document: Any) -> Any:  # noqa: ANN401 - JSON
    if "benchmarks" in document:
        return document
    return {**document, "tests": [test for count, test in document["tests"] for _ in range(count)]}


def _reduce(value: Any, key: str) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        if "filename" in value:
            return _reduce_file(value, key)
        members = {name: _RENAMED.get(name, member) for name, member in value.items() if name not in _DROPPED}
        return {name: _reduce(member, name) for name, member in sorted(members.items())}
    if isinstance(value, list):
        return [_reduce(item, f"{key}{index or ''}") for index, item in enumerate(value)]
    if isinstance(value, str):
        return value if key in _KEPT or key in _RENAMED else _reduce_text(value)
    return 1


def _reduce_file(file: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a file that lies beside the specification; one that a step or the program writes is named as it was."""
    location = str(file.get("location", ""))
    if key == "program" or not _PLACEHOLDERS.search(location):
        reduced = {"filename": f"{key}{Path(file['filename']).suffix}", "location": "empty"}
        return {**reduced, "md5": EMPTY} if file.get("md5") else reduced
    folder = "".join(_PLACEHOLDERS.findall(location)[:1])
    return {"filename": f"{key}.bin", "location": f"{folder}/{key}.bin"}


def _reduce_text(text: str) -> str:
    """Return the placeholders of a text; a program's own words say nothing to the harness."""
    words = _PLACEHOLDERS.findall(text)
    return " ".join(words) if words else "x"


if __name__ == "__main__":
    write_shapes(Path(sys.argv[1]))
