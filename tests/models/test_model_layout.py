from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.benchmark import Export, Model, ModelFile, SpecificationPlace
from harness.core.errors import FileUnavailable
from harness.models.layout import choose_export_place, choose_place, path_inside, path_segment
from harness.models.locations import Download, LocalPath, parse_location

ORIGIN = SpecificationPlace(file=Path("specs/mv2.json"), pointer="/model/files/model", line=12)
MV2 = Model(name="mv2", format="pte")
A, B = "a" * 32, "b" * 32


def named(filename: str, md5: str | None = None) -> ModelFile:
    return ModelFile(key="files.model", filename=filename, location="https://x/model.pte", md5=md5, origin=ORIGIN)


def at(location: str) -> ModelFile:
    return ModelFile(key="files.model", filename="model.pte", location=location, origin=ORIGIN)


name_parts = st.sampled_from(["..", ".", "", "a", "C:", "~", "a b", "é", "\0", "\n", "\ud800"]) | st.text(max_size=5)
names = st.lists(name_parts, max_size=5).flatmap(
    lambda parts: st.sampled_from(["/", "\\"]).map(lambda s: s.join(parts))
)


@given(names)
def test_a_file_is_inside_its_folder_or_refused(name: str) -> None:
    folder = Path("/cache/pte/mv2/tag")
    try:
        path = path_inside(folder, named(name))
    except FileUnavailable:
        return
    resolved = Path(path).resolve()
    assert resolved.is_relative_to(folder)
    assert resolved != folder
    bytes(path)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/../../x", "/etc/passwd", "C:\\x", "C:x", "\\\\host\\x", "..\\x", "a/", "a\0b", "a//b"],
)
def test_names_that_leave_the_cache_are_refused_with_the_place_in_the_specification(name: str) -> None:
    with pytest.raises(FileUnavailable, match=r"specs/mv2.json:12 /model/files/model"):
        path_inside(Path("/cache"), named(name))


@pytest.mark.parametrize("name", ["model.pte", "a/b.bin", "with space.bin", "..hidden", "ünïcode.pte"])
def test_plain_names_are_unchanged(name: str) -> None:
    assert path_inside(Path("/cache"), named(name)) == Path("/cache") / name


@given(st.text())
def test_a_segment_is_one_safe_path_component(name: str) -> None:
    plain = path_segment(name)
    assert Path(plain).parts == (plain,)
    assert plain not in {".", ".."}
    assert len(plain.encode()) <= 80


def test_files_are_laid_out_by_format_model_and_name() -> None:
    place = choose_place(
        Path("/cache"), named("model.pte", A), MV2, Download("https://x/model.pte", "https://x/model.pte")
    )
    assert place.path == Path("/cache/pte/mv2/aaaaaaaaaaaa/model.pte")


def test_two_md5s_for_one_name_have_separate_places() -> None:
    source = parse_location(named("model.pte"))
    first, second = (choose_place(Path("/cache"), named("model.pte", md5), MV2, source) for md5 in (A, B))
    assert first.path != second.path


def test_equal_md5s_share_a_place_regardless_of_location() -> None:
    sources = (Download("https://x/1", "https://x/1"), LocalPath(Path("/nowhere/model.pte")))
    assert len({choose_place(Path("/cache"), named("model.pte", A), MV2, source).path for source in sources}) == 1


def test_without_md5_each_location_has_its_own_place() -> None:
    urls = ("https://x/1", "https://x/2")
    places = {choose_place(Path("/cache"), named("model.pte"), MV2, Download(url, url)).path for url in urls}
    assert len(places) == 2


def test_everything_that_affects_an_export_affects_its_place() -> None:
    export = Export(definition="mv2", recipe="xnnpack_q8")
    variants = [
        (named("model.pte"), export, {"torch": "2.13"}),
        (named("other.pte"), export, {"torch": "2.13"}),
        (named("model.pte"), export, {"torch": "2.14"}),
        (named("model.pte"), export.model_copy(update={"seed": 1}), {"torch": "2.13"}),
        (named("model.pte"), export.model_copy(update={"recipe": "portable"}), {"torch": "2.13"}),
        (named("model.pte"), export.model_copy(update={"options": {"width": 1}}), {"torch": "2.13"}),
    ]
    folders = {choose_export_place(Path("/cache"), *variant).folder for variant in variants}
    assert len(folders) == len(variants)


def test_the_order_of_options_and_versions_is_ignored() -> None:
    options, reordered_options = (
        Export(definition="m", recipe="r", options=options) for options in ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    )
    first = choose_export_place(Path("/cache"), named("m.pte"), options, {"x": "1", "y": "2"})
    assert first == choose_export_place(Path("/cache"), named("m.pte"), reordered_options, {"y": "2", "x": "1"})


def test_a_program_cannot_have_the_name_of_its_report() -> None:
    with pytest.raises(FileUnavailable, match="report"):
        choose_export_place(Path("/cache"), named("Export.json"), Export(definition="m", recipe="r"), {})


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://user:secret@host/m.pte", "https://host/m.pte"),
        ("https://host/m?X-Amz-Signature=abc&part=1", "https://host/m?X-Amz-Signature=***&part=1"),
        ("HTTP://host:8080/m", "http://host:8080/m"),
    ],
)
def test_credentials_are_hidden(location: str, shown: str) -> None:
    assert parse_location(at(location)).shown == shown


@pytest.mark.parametrize(
    "location", ["file:///data/my%20model.pte", "file://localhost/data/my%20model.pte", "/data/my model.pte"]
)
def test_file_urls_and_paths_name_local_files(location: str) -> None:
    assert parse_location(at(location)) == LocalPath(Path("/data/my model.pte"))


@pytest.mark.parametrize(
    "location", ["ftp://host/m", "s3://bucket/m", "model.pte", "file://host/m", "/a\0b", "/\ud800", "", "http://[x/m"]
)
def test_unsupported_locations_are_refused(location: str) -> None:
    with pytest.raises(FileUnavailable, match=r"specs/mv2\.json:12"):
        parse_location(at(location))
