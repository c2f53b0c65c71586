"""Pages over HTTP: each address answers, hostile names are text, and errors are pages for browsers."""

from __future__ import annotations

import html
import io
import re
import zipfile

import pytest

from harness.testing.results import failed_result, ok_result
from tests.server.process import ServerProcess

PAGE = {"Accept": "text/html"}
HOSTILE = "<script>alert(1)</script>\"'\n\u202e../..\0"
TRAVERSALS = [
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "%00",
    "a%00b",
    "\\..\\x",
    "é" * 500,
]


@pytest.fixture(scope="module")
def filled(server: ServerProcess) -> ServerProcess:
    for number in range(3):
        assert server.post_result(ok_result(uid=f"p{number}", model="mv2")).status_code == 201
    hostile = ok_result(uid="hostile", model=HOSTILE, identifier=HOSTILE)
    benchmark = hostile.benchmark.model_copy(update={"digest": "0" * 64})
    assert server.post_result(hostile.model_copy(update={"benchmark": benchmark})).status_code == 201
    assert server.post_result(failed_result(uid="failed", device=None, build=None)).status_code == 201
    return server


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/changes", "/commits", "/compare", "/models", "/coverage", "/alarms", "/login"),
        *("/models/mv2", "/results/p0", "/results/hostile", "/results/failed", "/changes?start=2020-01-01&end="),
        *("/?models=mv2&backends=&text=%00", "/coverage?fresh_since=2020-01-01", "/?text=%27%22%3Cscript%3E"),
    ],
)
def test_every_page_answers(filled: ServerProcess, path: str) -> None:
    answer = filled.get(path, headers=PAGE)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "<script>alert(1)" not in answer.text


def test_pages_of_cells_and_commits_answer(filled: ServerProcess) -> None:
    rows = filled.get("/api/v1/cells").json()["rows"]
    assert len(rows) == 3
    for row in rows:
        answer = filled.get(f"/cells/{row['cell']['key']}", headers=PAGE)
        assert answer.status_code == 200
        assert "<script>alert(1)" not in answer.text
    for row in filled.get("/api/v1/commits").json()["rows"]:
        assert filled.get(f"/commits/{row['commit']['id']}", headers=PAGE).status_code == 200


def test_errors_are_pages_for_browsers_and_json_for_programs(filled: ServerProcess) -> None:
    page = filled.get("/results/<b>nothing", headers=PAGE)
    assert page.status_code == 404
    assert page.headers["Content-Type"].startswith("text/html")
    assert "<b>" not in page.text
    for path in ("/api/v1/results/nothing", "/api/v1/nothing"):
        answer = filled.get(path, headers=PAGE)
        assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/json")
        assert answer.json()["message"]
    assert filled.get("/changes?start=tomorrow-ish", headers=PAGE).status_code == 422


@pytest.mark.parametrize("name", TRAVERSALS)
@pytest.mark.parametrize(
    "pattern",
    [
        *("/results/{}", "/cells/{}", "/commits/{}", "/models/{}", "/alarms/{}", "/{}"),
        *("/api/v1/results/{}", "/api/v1/results/{}/archive", "/api/v1/results/p0/artifacts/{}"),
        *("/api/v1/cells/{}/history", "/api/v1/commits/{}/results", "/api/v1/backends/{}", "/api/v1/alarms/{}"),
    ],
)
def test_no_name_leads_out_of_the_store(filled: ServerProcess, pattern: str, name: str) -> None:
    answer = filled.get(pattern.format(name))
    assert answer.status_code in {200, 404, 422}
    assert "root:" not in answer.text
    if answer.status_code == 200:
        assert answer.json() == [] if "/api/" in pattern else html.escape("edge-harness") in answer.text


def test_files_of_a_result_are_stored_and_run_nowhere(filled: ServerProcess) -> None:
    address = f"{filled.api}/results/p0/artifacts"
    content = b"<script>alert(1)</script>"
    headers = {"Content-Type": "text/html"}
    for _ in range(2):
        put = filled.session.put(f"{address}/logs/page.html", data=content, headers=headers, timeout=60)
        assert put.status_code == 201, put.text
    other = filled.session.put(f"{address}/logs/page.html", data=b"other", headers=headers, timeout=60)
    assert other.status_code == 409
    assert filled.session.put(f"{filled.api}/results/none/artifacts/x", data=b"", timeout=60).status_code == 404
    assert filled.session.put(f"{address}/%2e%2e/x", data=b"", timeout=60).status_code in {404, 405, 422}
    answer = filled.get("/api/v1/results/p0/artifacts/logs/page.html")
    assert answer.content == content
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert [file["name"] for file in filled.get("/api/v1/results/p0/artifacts").json()] == ["logs/page.html"]


def test_a_file_that_was_removed_from_the_disk_is_no_trouble_of_the_store(filled: ServerProcess) -> None:
    address = "/api/v1/results/p0/artifacts/logs/gone.txt"
    stored = filled.session.put(f"{filled.url}{address}", data=b"gone", timeout=60).json()
    digest = stored["digest"]
    (place,) = (file for file in filled.folder.rglob(digest[2:]) if file.parent.name == digest[:2])
    place.unlink()
    answer = filled.get(address)
    assert answer.status_code == 404
    assert answer.json()["message"] == "the file of 4 bytes is no longer in the store"


def test_the_archive_has_the_result_and_its_files(filled: ServerProcess) -> None:
    filled.session.put(f"{filled.api}/results/p1/artifacts/logs/0.txt", data=b"out", timeout=60)
    with zipfile.ZipFile(io.BytesIO(filled.get("/api/v1/results/p1/archive").content)) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == ["logs/0.txt", "result.json"]
        assert archive.read("result.json") == filled.get("/api/v1/results/p1").content


def test_every_link_of_a_result_answers(filled: ServerProcess) -> None:
    filled.session.put(f"{filled.api}/results/p2/artifacts/logs/0.txt", data=b"out", timeout=60)
    text = filled.get("/results/p2", headers=PAGE).text
    addresses = {html.unescape(address) for address in re.findall('href="(/[^"]*)"', text)}
    assert {"/api/v1/results/p2", "/api/v1/results/p2/artifacts/logs/0.txt"} <= addresses
    assert {address: filled.get(address).status_code for address in addresses} == dict.fromkeys(addresses, 200)


def test_an_old_result_is_stale_unless_a_person_asks_for_more(filled: ServerProcess) -> None:
    assert "2025" in filled.get("/coverage").text, "the results of these tests are of a fixed day"
    assert "stale" in _states(filled.get("/coverage").text)
    assert "stale" not in _states(filled.get("/coverage?fresh_since=2001-01-01").text)


def _states(page: str) -> set[str]:
    """Return the states that cells of the matrix have."""
    return set(re.findall(r'<td data-column="[^"]*" title="(\w+)', page))
