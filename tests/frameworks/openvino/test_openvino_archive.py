"""The archive of a model: equal models are equal files, weights can be mapped, hostile files are refused in words."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks.openvino.archive import (
    GRAPH,
    WEIGHTS,
    ArchivedModel,
    NotAnArchive,
    is_archive,
    locate,
    main,
    pack,
    read,
)

MODEL = ArchivedModel(b"<net/>", bytes(range(256)) * 40)


@given(graph=st.binary(max_size=9000), weights=st.binary(max_size=9000))
def test_what_was_packed_is_read_and_weights_are_aligned(
    tmp_path_factory: pytest.TempPathFactory, graph: bytes, weights: bytes
) -> None:
    path = tmp_path_factory.mktemp("archive") / "model"
    path.write_bytes(pack(ArchivedModel(graph, weights)))

    located = locate(path)

    assert read(path) == (graph, weights)
    assert is_archive(path)
    assert located.graph == graph
    assert located.begin % 4096 == 0
    assert path.read_bytes()[located.begin : located.begin + located.size_bytes] == weights


def test_equal_models_are_equal_files() -> None:
    assert pack(MODEL) == pack(ArchivedModel(*MODEL))


def compressed() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(GRAPH, b"<net/>")
        archive.writestr(WEIGHTS, bytes(10_000_000))
    return stream.getvalue()


def without_weights() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(GRAPH, b"<net/>")
    return stream.getvalue()


def with_another_offset() -> bytes:
    """The directory says that the weights begin where the graph does."""
    content = bytearray(pack(MODEL))
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 42 : entry + 46] = struct.pack("<I", 3)
    return bytes(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04",
        b"\0" * 100,
        pack(MODEL)[:-30],
        pack(MODEL)[: len(pack(MODEL)) // 2],
        pack(MODEL)[5000:],
        compressed(),
        without_weights(),
        with_another_offset(),
    ],
    ids=["empty", "short", "zeros", "no-end", "half", "no-beginning", "compressed", "no-weights", "wrong-offset"],
)
def test_other_files_are_refused_in_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model"
    path.write_bytes(content)
    for function in (read, locate):
        with pytest.raises(NotAnArchive, match=r"is not an archive of model\.xml and model\.bin \("):
            function(path)


def test_a_missing_file_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(NotAnArchive, match="No such file"):
        read(tmp_path / "none")


def test_two_files_are_written_for_programs_that_read_only_those(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model").write_bytes(pack(MODEL))

    assert main([str(tmp_path / "model"), str(tmp_path / "ir")]) == 0
    assert main([str(tmp_path / "none"), str(tmp_path / "ir2")]) == 1
    assert main([]) == 2

    assert (tmp_path / "ir" / GRAPH).read_bytes() == MODEL.graph
    assert (tmp_path / "ir" / WEIGHTS).read_bytes() == MODEL.weights
    assert not (tmp_path / "ir2").exists()
    assert "error: " in capsys.readouterr().err
