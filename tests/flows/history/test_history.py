"""`harness history`: a folder of pages that lacks nothing, leads nowhere wrong, and touches nothing of others."""

from __future__ import annotations

import json
import zipfile
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import pytest

from harness.cli import main
from harness.core.result import RawLog, Report, Result
from harness.core.verdict import Verdict
from harness.dashboard.static_links import COMMITS, COMPARISON
from harness.flows.history.folder import MANIFEST, PageFolder
from harness.store.canonical_json import load_result
from harness.testing.results import BUILD, STARTED, failed_result, ok_result
from reporters.local import LocalReporter
from tests.presentation.comparison_samples import every_kind

HOSTILE = '"><script>alert(1)</script>/../é'


class _Links(HTMLParser):
    """Addresses that a page links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in {"href", "src", "action"}]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "results"
    monkeypatch.setenv("HARNESS_LOCAL_REPORTER", str(folder))
    reporter = LocalReporter(folder)
    build = BUILD.model_copy(update={"commit": HOSTILE})
    for result in [
        *every_kind(),
        failed_result(),
        ok_result(uid="first"),
        _defined(ok_result(uid="hostile", model=HOSTILE, identifier=HOSTILE, build=build), "8"),
    ]:
        reporter.report(Report(result=result, logs=(RawLog(name="launch 0", text="hello\n"),)))
    return folder


def _defined(result: Result, digit: str) -> Result:
    """Return the result as one of a benchmark with a definition of its own."""
    return result.model_copy(update={"benchmark": result.benchmark.model_copy(update={"digest": digit * 64})})


def _write(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["history", *map(str, words)])
    return int(ended.value.code or 0)


def _files(site: Path) -> dict[str, bytes]:
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


@pytest.mark.parametrize("results", ["200", "0"])
def test_every_link_of_every_page_leads_to_a_file_of_the_folder(tree: Path, tmp_path: Path, results: str) -> None:
    site = tmp_path / "site"
    # Several results of a cell, of which only the newest has a page when no further ones are asked for.
    LocalReporter(tree).report(Report(result=ok_result(uid="second", started=STARTED + 60)))
    LocalReporter(tree).report(Report(result=failed_result(uid="third", started=STARTED + 120)))
    assert _write("--output", site, "--results", results) == 0
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "<script>alert" not in text
        for address in _Links(text).addresses:
            assert address, page.name
            parts = urlsplit(address)
            assert not parts.scheme, address
            assert not parts.netloc, address
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.is_file(), (page.name, address)
            assert target.is_relative_to(site.resolve())


def test_every_result_is_reachable_with_all_its_files(tree: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert _write("--output", site) == 0
    archives = list((site / "results").glob("*.zip"))
    stored = {load_result(file).uid for file in tree.rglob("result.json")}
    found = set()
    for archive in archives:
        with zipfile.ZipFile(archive) as opened:
            assert opened.namelist() == ["result.json", "logs/launch 0"]
            found.add(Result.model_validate_json(opened.read("result.json")).uid)
    assert found == stored


def test_given_programs_that_changed_a_metric_are_compared_and_no_commits(tree: Path, tmp_path: Path) -> None:
    given = {"source": "prebuilt", "recipe": "prebuilt"}
    treatment = BUILD.model_copy(update={**given, "commit": "0123456789ab", "commit_name": "slow.sh"})
    result = next(
        each for each in every_kind() if each.comparison is not None and each.comparison.verdict is Verdict.REGRESSION
    )
    assert result.comparison is not None
    control = result.comparison.control.model_copy(update={**given, "commit": "ba9876543210", "commit_name": "fast.sh"})
    comparison = result.comparison.model_copy(update={"control": control})
    changed = result.model_copy(update={"uid": "given", "build": treatment, "comparison": comparison})
    LocalReporter(tree).report(Report(result=_defined(changed, "7")))
    site = tmp_path / "site"
    assert _write("--output", site) == 0
    assert "slow.sh" not in (site / COMMITS).read_text(encoding="utf-8")
    pairs = (site / COMPARISON).read_text(encoding="utf-8")
    assert "slow.sh" in pairs
    assert "fast.sh" in pairs


def test_a_second_call_adds_what_is_new_and_removes_what_has_gone(tree: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert _write("--output", site, "--results", "0") == 0
    before = _files(site)
    LocalReporter(tree).report(Report(result=_defined(ok_result(uid="new", model="another"), "9")))
    assert _write("--output", site, "--results", "0") == 0
    after = _files(site)
    assert "models/another.html" in after
    assert "models/another.html" not in before
    names = json.loads(after[MANIFEST])["files"]
    assert names.keys() == after.keys() - {MANIFEST}


def test_a_folder_that_an_interrupted_call_left_is_written_on(tree: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    PageFolder(site).write(PurePosixPath("index.html"), "half of")
    assert _write("--output", site) == 0
    written = _files(site)
    assert b"half of" not in written["index.html"]
    assert json.loads(written[MANIFEST])["files"].keys() == written.keys() - {MANIFEST}


def test_a_folder_with_files_of_others_is_refused(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "site" / "thesis.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    assert _write("--output", mine.parent) == 2
    assert "not pages of a history" in capsys.readouterr().err
    assert _files(mine.parent) == {"thesis.txt": b"mine"}


def test_a_manifest_cannot_remove_files_elsewhere(tree: Path, tmp_path: Path) -> None:
    site, mine = tmp_path / "site", tmp_path / "thesis.txt"
    assert _write("--output", site) == 0
    mine.write_text("mine")
    manifest = json.loads((site / MANIFEST).read_text())
    manifest["files"] |= {"../thesis.txt": "0", str(mine): "0"}
    (site / MANIFEST).write_text(json.dumps(manifest))
    assert _write("--output", site) == 0
    assert mine.read_text() == "mine"


def test_a_damaged_result_is_named_and_the_others_are_shown(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = min(tree.rglob("result.json"))
    damaged.write_text(damaged.read_text()[:-100])
    assert _write("--output", tmp_path / "site") == 3
    assert str(damaged) in capsys.readouterr().err
    assert (tmp_path / "site" / "index.html").is_file()


def test_two_results_with_one_identifier_are_no_success(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    LocalReporter(tree).report(Report(result=_defined(ok_result(uid="first", model="other"), "7")))
    assert _write("--output", tmp_path / "site") == 3
    assert "another result has its identifier first" in capsys.readouterr().err


def test_a_folder_without_results_is_the_users_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "empty").mkdir()
    assert _write(tmp_path / "empty", "--output", tmp_path / "site") == 2
    assert "measure first" in capsys.readouterr().err
