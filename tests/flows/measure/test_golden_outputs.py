"""Output files against golden ones, in FAI-PEP's form; and the size of a model."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harness
from harness.core.result import Outcome, Result


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with saved defaults, cache and results of its own."""
    for name in [name for name in os.environ if name.startswith("HARNESS_")]:
        monkeypatch.delenv(name)
    for name in ("CONFIG_DIR", "CACHE_DIR", "LOCAL_REPORTER"):
        monkeypatch.setenv(f"HARNESS_{name}", str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def npy(*values: float, shape: tuple[int, ...] = (-1,)) -> bytes:
    path = Path("made.npy")
    np.save(path, np.array(values, dtype=np.float32).reshape(shape))
    return path.read_bytes()


def measure(
    place: Path,
    output: bytes,
    golden: bytes | None,
    *,
    suffix: str = ".txt",
    metric: str | list[str] = "error",
    **fields: Any,  # noqa: ANN401 - whatever an output file has
) -> Result:
    """Measure a program that writes this output, against this golden one."""
    (place / f"written{suffix}").write_bytes(output)
    files: dict[str, Any] = {"written": {"filename": f"written{suffix}", "location": f"written{suffix}"}}
    if golden is not None:
        (place / f"golden{suffix}").write_bytes(golden)
        files["golden_output"] = {"filename": f"golden{suffix}", "location": f"golden{suffix}"}
    test = {
        "metric": metric,
        "identifier": "t",
        "command": "cp {files.written} {output_files.scores}",
        "output_files": {"scores": {"filename": f"out{suffix}", "location": f"{{TGTDIR}}/out{suffix}", **fields}},
    }
    return harness.run({"model": {"name": "m", "format": "f", "files": files}, "tests": [test]})[0]


def test_errors_have_fai_peps_form(place: Path) -> None:
    result = measure(place, b"3.0 1.0\n2.5 0", b"3.0\n1.5\n2.0\n0.0\n")
    assert result.outcome is Outcome.OK, result.reason
    metric = result.metric("scores error")
    assert metric is not None
    assert metric.control is not None
    names = ("p0", "p50", "p100")
    assert [metric.summary[name] for name in names] == [0.0, 1.75, 3.0]
    assert [metric.control.control_summary[name] for name in names] == [0.0, 1.75, 3.0]
    assert [metric.control.diff_summary[name] for name in names] == [-0.5, 0.0, 0.5]
    largest = result.metric("scores max_absolute_error")
    assert largest is not None
    assert largest.samples == (0.5,)


@pytest.mark.parametrize(
    ("suffix", "output", "golden", "fields"),
    [
        (".bin", struct.pack("<3f", 1, 2, 3), struct.pack("<3f", 1, 2, 4), {"dtype": "float"}),
        (".bin", struct.pack("<3b", 1, 2, 3), struct.pack("<3b", 1, 2, 4), {"dtype": "int8"}),
        (".txt", b"[1, 2, 3]", b"1\n2\n4", {"dtype": "text"}),
    ],
)
def test_golden_outputs_may_be_raw_or_text(
    place: Path, suffix: str, output: bytes, golden: bytes, fields: dict[str, str]
) -> None:
    result = measure(place, output, golden, suffix=suffix, **fields)
    assert result.outcome is Outcome.OK, result.reason
    metric = result.metric("scores max_absolute_error")
    assert metric is not None
    assert metric.samples == (1.0,)


def test_golden_outputs_may_be_of_numpys_format(place: Path) -> None:
    result = measure(place, npy(1, 2, 3, 4, shape=(2, 2)), npy(1, 2, 3, 5, shape=(2, 2)), suffix=".npy")
    metric = result.metric("scores max_absolute_error")
    assert metric is not None
    assert metric.samples == (1.0,)


@pytest.mark.parametrize(
    ("output", "golden", "words"),
    [
        (b"1 2 3", b"1 2", "scores: out.txt has 3 numbers, and the golden file golden.txt has 2"),
        (b"1 nan", b"1 2", "1 of 2 numbers of out.txt are not finite, first number 1, which is nan"),
        (b"1 two", b"1 2", "out.txt is no list of numbers: it has `two`"),
        (b"", b"", "have no numbers"),
    ],
)
def test_what_does_not_fit_is_a_failure_in_words(place: Path, output: bytes, golden: bytes, words: str) -> None:
    result = measure(place, output, golden)
    assert result.outcome is Outcome.FAILED
    assert words in (result.reason or "")


def test_other_shapes_are_a_failure_in_words(place: Path) -> None:
    result = measure(place, npy(1, 2, 3, 4, shape=(2, 2)), npy(1, 2, 3, 4, shape=(1, 4)), suffix=".npy")
    assert result.outcome is Outcome.FAILED
    assert "has the shape [2, 2], and the golden file golden.npy [1, 4]" in (result.reason or "")


@pytest.mark.parametrize("values", [np.array([1 + 1j]), np.array(["one"])])
def test_what_is_no_real_number_is_a_failure_in_words(place: Path, values: NDArray[Any]) -> None:
    np.save("made.npy", values)
    result = measure(place, Path("made.npy").read_bytes(), npy(1), suffix=".npy")
    assert result.outcome is Outcome.FAILED
    assert f"scores: out.npy holds {values.dtype.name}, and only real numbers are compared" in (result.reason or "")


def test_a_list_that_asks_for_errors_needs_golden_outputs(place: Path) -> None:
    result = measure(place, b"1", None, metric=["error", "size"])
    assert result.outcome is Outcome.FAILED
    assert "errors need a golden output for each output file" in (result.reason or "")


def test_the_size_is_that_of_the_models_files_without_golden_ones(place: Path) -> None:
    result = measure(place, b"1 2 3", b"1 2 3", metric=["error", "size"])
    assert result.outcome is Outcome.OK, result.reason
    metric = result.metric("NET size")
    assert metric is not None
    assert (metric.samples, metric.unit) == ((5.0,), "bytes")
