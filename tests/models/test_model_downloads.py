from __future__ import annotations

import contextlib
import gzip
import hashlib
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import stamina

from harness.core.benchmark import Model, ModelFile, Origin
from harness.core.cached_files import CachedFile
from harness.core.errors import FileUnavailable
from harness.core.protocols import Progress
from harness.models.cache import ModelCache
from harness.models.download import RetrySchedule, download
from harness.models.layout import choose_place
from harness.models.locations import Download, parse_location
from tests.processes import wait_until

CONTENT = bytes(range(256)) * 2048  # 512 KiB: several chunks
HALF = len(CONTENT) // 2
MD5 = hashlib.md5(CONTENT).hexdigest()
WRONG = "0" * 32


@dataclass
class Step:
    """How the site answers one request, if not well."""

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    stall_after: int | None = None
    whatever_is_asked: bytes | None = None


@dataclass
class Asked:
    range: str | None
    if_range: str | None
    authorization: str | None


@dataclass
class Site:
    """One file behind HTTP, and everything that can go wrong with it."""

    content: bytes = CONTENT
    etag: str | None = '"v1"'
    knows_ranges: bool = True
    tells_length: bool = True
    steps: list[Step] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    served_bytes: int = 0
    base: str = ""
    go_on: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"{self.base}/model.pte"


def handler_of(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

        def do_GET(self) -> None:
            asked = Asked(*(self.headers[name] for name in ("Range", "If-Range", "Authorization")))
            site.asked.append(asked)
            step = site.steps.pop(0) if site.steps else Step()
            if step.status is not None:
                self.send_response(step.status)
                for name, value in {"Content-Length": "0", **step.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                return
            self.answer(asked, step)

        def answer(self, asked: Asked, step: Step) -> None:
            start = self.start_of(asked)
            body = step.whatever_is_asked if step.whatever_is_asked is not None else site.content[start:]
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(site.content) - 1}/{len(site.content)}")
            if site.tells_length:
                self.send_header("Content-Length", str(len(body)))
            if site.etag is not None:
                self.send_header("ETag", site.etag)
            for name, value in step.headers.items():
                self.send_header(name, value)
            self.end_headers()
            until = step.cut_after if step.cut_after is not None else step.stall_after
            sent = body if until is None else body[:until]
            site.served_bytes += len(sent)  # before: who was answered may look at once
            self.wfile.write(sent)
            self.wfile.flush()
            if step.stall_after is not None:
                site.go_on.wait(120)  # until the test is over
                with contextlib.suppress(OSError):  # the client may be gone by now
                    self.wfile.write(body[until:])

        def start_of(self, asked: Asked) -> int:
            found = re.fullmatch(r"bytes=(\d+)-", asked.range or "")
            same = asked.if_range in {None, site.etag}
            return int(found.group(1)) if found and site.knows_ranges and same else 0

    return Handler


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler_of(site)) as server:
        server.daemon_threads = True
        site.base = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield site
        site.go_on.set()
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_pauses() -> Iterator[None]:
    with stamina.set_testing(True, attempts=4):
        yield


@pytest.fixture
def specification(tmp_path: Path) -> Path:
    path = tmp_path / "mv2.json"
    path.write_text('{"the": "specification"}')
    return path


@pytest.fixture
def wanted(site: Site, specification: Path) -> Callable[[str | None], ModelFile]:
    def of(md5: str | None) -> ModelFile:
        origin = Origin(file=specification, line=5)
        return ModelFile(key="files.model", filename="model.pte", location=site.url, md5=md5, origin=origin)

    return of


@pytest.fixture
def fetch(cache: ModelCache, model: Model, progress: Progress) -> Callable[[ModelFile], CachedFile]:
    return lambda file: cache.fetch(file, model=model, exporter=None, progress=progress)


Wanted = Callable[[str | None], ModelFile]
Fetch = Callable[[ModelFile], CachedFile]


def test_a_file_is_downloaded_once(site: Site, wanted: Wanted, fetch: Fetch, cache: ModelCache) -> None:
    first = fetch(wanted(MD5))
    assert first.path.read_bytes() == CONTENT
    assert (first.fresh, first.md5, first.size_bytes, first.source) == (True, MD5, len(CONTENT), site.url)
    assert not fetch(wanted(MD5)).fresh
    assert len(site.asked) == 1
    assert not list(cache.folder.rglob("*.part*"))


def test_without_promise_the_cached_copy_is_reused(site: Site, wanted: Wanted, fetch: Fetch, said: list[str]) -> None:
    assert fetch(wanted(None)).path == fetch(wanted(None)).path
    assert len(site.asked) == 1
    assert [MD5 in line for line in said] == [True]


def test_two_specifications_with_other_promises_do_not_fight(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    first = fetch(wanted(MD5))
    site.content = b"the next version"
    second = fetch(wanted(hashlib.md5(site.content).hexdigest()))
    assert (first.path.read_bytes(), second.path.read_bytes()) == (CONTENT, b"the next version")
    assert not fetch(wanted(MD5)).fresh


def test_a_wrong_md5_is_refused_and_the_specification_stays_as_it_was(
    site: Site, wanted: Wanted, fetch: Fetch, specification: Path, cache: ModelCache
) -> None:
    before = specification.read_bytes()
    with pytest.raises(FileUnavailable) as raised:
        fetch(wanted(WRONG))
    for fact in (WRONG, MD5, site.url, f"{specification}:5"):
        assert fact in raised.value.message
    assert raised.value.hint is not None
    assert specification.read_bytes() == before
    assert {path.suffix for path in cache.folder.rglob("*") if path.is_file()} == {".lock"}


def test_a_damaged_copy_is_downloaded_again(wanted: Wanted, fetch: Fetch, said: list[str]) -> None:
    cached = fetch(wanted(MD5))
    cached.path.write_bytes(CONTENT[:-1])
    again = fetch(wanted(MD5))
    assert again.fresh
    assert again.path.read_bytes() == CONTENT
    assert "damaged" in said[0]


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_what_may_pass_is_tried_again(site: Site, wanted: Wanted, fetch: Fetch, status: int) -> None:
    site.steps = [Step(status=status, headers={"Retry-After": "0"}), Step(status=status)]
    assert fetch(wanted(MD5)).md5 == MD5
    assert len(site.asked) == 3


def test_patience_ends(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    site.steps = [Step(status=503)] * 10
    with pytest.raises(FileUnavailable, match="503 Service Unavailable"):
        fetch(wanted(MD5))
    assert len(site.asked) == 4


@pytest.mark.parametrize("status", [401, 403, 404, 410, 206, 204])
def test_what_will_not_pass_is_not_tried_again(site: Site, wanted: Wanted, fetch: Fetch, status: int) -> None:
    site.steps = [Step(status=status)]
    with pytest.raises(FileUnavailable) as raised:
        fetch(wanted(MD5))
    assert str(status) in raised.value.message
    assert site.url in raised.value.message
    assert raised.value.hint is not None
    assert len(site.asked) == 1


def test_a_cut_connection_is_continued_where_it_broke(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    site.steps = [Step(cut_after=HALF)]
    assert fetch(wanted(MD5)).path.read_bytes() == CONTENT
    assert site.asked[1] == Asked(f"bytes={HALF}-", '"v1"', None)
    assert site.served_bytes == len(CONTENT)


def test_a_cut_connection_without_etag_starts_over(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    site.etag = None
    site.steps = [Step(cut_after=HALF)]
    assert fetch(wanted(MD5)).path.read_bytes() == CONTENT
    assert site.asked[1].range is None


def test_a_weak_etag_does_not_name_bytes(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    site.etag = 'W/"v1"'
    site.steps = [Step(cut_after=HALF)]
    fetch(wanted(MD5))
    assert site.asked[1].range is None


def test_a_server_that_ignores_ranges_is_heard_from_the_start(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    site.knows_ranges = False
    site.steps = [Step(cut_after=HALF)]
    assert fetch(wanted(MD5)).path.read_bytes() == CONTENT
    assert site.served_bytes == HALF + len(CONTENT)


def test_a_content_that_changed_meanwhile_is_taken_whole(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    site.steps = [Step(cut_after=70_000)] * 4
    with pytest.raises(FileUnavailable):
        fetch(wanted(None))
    site.content, site.etag = CONTENT[::-1], '"v2"'
    assert fetch(wanted(None)).path.read_bytes() == CONTENT[::-1]
    assert site.asked[-1].if_range == '"v1"'


def test_a_range_that_the_server_denies_is_asked_from_the_start(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    site.steps = [Step(cut_after=HALF), Step(status=416)]
    assert fetch(wanted(MD5)).path.read_bytes() == CONTENT
    assert site.asked[2].range is None


def test_a_continuation_of_something_else_is_not_appended(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    elsewhere = {"Content-Range": f"bytes 7-{len(CONTENT) - 1}/{len(CONTENT)}"}
    site.steps = [Step(cut_after=HALF), Step(status=206, headers=elsewhere)]
    assert fetch(wanted(MD5)).path.read_bytes() == CONTENT
    assert site.asked[2].range is None


def test_a_server_that_gives_less_than_the_rest_is_asked_for_more(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    site.steps = [Step(cut_after=HALF), Step(whatever_is_asked=CONTENT[HALF : HALF + 100])]
    assert fetch(wanted(None)).path.read_bytes() == CONTENT
    assert site.asked[2].range == f"bytes={HALF + 100}-"


def test_a_part_of_another_url_is_not_continued(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    site.steps = [Step(cut_after=70_000)] * 4
    with pytest.raises(FileUnavailable):
        fetch(wanted(MD5))
    mirror = wanted(MD5).model_copy(update={"location": f"{site.base}/mirror/model.pte"})
    assert fetch(mirror).path.read_bytes() == CONTENT
    assert site.asked[-1].range is None


def test_an_encoded_answer_is_decoded_and_never_continued(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    site.content = gzip.compress(CONTENT, mtime=0)
    encoded = {"Content-Encoding": "gzip"}
    site.steps = [Step(cut_after=len(site.content) // 2, headers=encoded), Step(headers=encoded)]
    assert fetch(wanted(MD5)).path.read_bytes() == CONTENT
    assert site.asked[1].range is None


def test_a_part_that_was_continued_wrongly_is_downloaded_from_the_start(
    site: Site, wanted: Wanted, fetch: Fetch, said: list[str]
) -> None:
    site.steps = [Step(cut_after=HALF), Step(whatever_is_asked=b"x" * (len(CONTENT) - HALF))]
    assert fetch(wanted(MD5)).path.read_bytes() == CONTENT
    assert "starting over" in said[0]


def test_a_truncated_body_is_not_a_file(site: Site, wanted: Wanted, fetch: Fetch, cache: ModelCache) -> None:
    site.steps = [Step(cut_after=1000)] * 4
    site.etag = None
    with pytest.raises(FileUnavailable, match="1000"):
        fetch(wanted(None))
    assert not list(cache.folder.rglob("model.pte"))


def test_a_body_without_length_is_accepted(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    site.tells_length = False
    assert fetch(wanted(MD5)).path.read_bytes() == CONTENT


@pytest.mark.slow
def test_a_server_that_falls_silent_is_asked_again(
    site: Site, wanted: Wanted, cache: ModelCache, model: Model, progress: Progress
) -> None:
    site.steps = [Step(stall_after=HALF)]
    file = wanted(MD5)
    source = parse_location(file)
    assert isinstance(source, Download)
    place = choose_place(cache.folder, file, model, source)
    place.path.parent.mkdir(parents=True)
    with progress.task("downloading") as task:
        download(file, source, place, task, RetrySchedule(read_s=1.0))
    assert place.part.read_bytes() == CONTENT
    assert site.asked[1].range == f"bytes={HALF}-"


def test_a_closed_port_is_told_with_its_address_and_without_credentials(fetch: Fetch, wanted: Wanted) -> None:
    hidden = "http://user:secret@127.0.0.1:1/model.pte?token=secret"
    with pytest.raises(FileUnavailable, match=r"http://127\.0\.0\.1:1/model\.pte.*refused") as raised:
        fetch(wanted(MD5).model_copy(update={"location": hidden}))
    error: BaseException | None = raised.value
    while error is not None:
        assert "secret" not in str(error)
        error = error.__cause__


def test_credentials_of_the_url_reach_the_server_only(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    location = site.url.replace("http://", "http://user:secret@")
    cached = fetch(wanted(MD5).model_copy(update={"location": location}))
    assert site.asked[0].authorization == "Basic dXNlcjpzZWNyZXQ="
    assert cached.source == site.url


@pytest.mark.parametrize(
    "location",
    ["http://", "http://a..b/m", "http://host:port/m", "http://host:99999/m", "http://*/m", "https://\ud800/m"],
)
def test_an_impossible_url_is_refused(location: str, wanted: Wanted, fetch: Fetch) -> None:
    with pytest.raises(FileUnavailable):
        fetch(wanted(MD5).model_copy(update={"location": location}))


def test_threads_download_once(site: Site, wanted: Wanted, fetch: Fetch) -> None:
    cached: list[CachedFile] = []
    threads = [threading.Thread(target=lambda: cached.append(fetch(wanted(MD5)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [file.fresh for file in cached].count(True) == 1
    assert len(cached) == 4
    assert len(site.asked) == 1


FETCHING = """
import contextlib, sys
from pathlib import Path
from harness.core.benchmark import Model, ModelFile
from harness.models.cache import ModelCache

class Quiet:
    @contextlib.contextmanager
    def task(self, text, total=None):
        yield self
    def update(self, **_):
        pass
    def say(self, text):
        print(text, flush=True)

file = ModelFile.model_validate_json(sys.argv[2])
cache = ModelCache(Path(sys.argv[1]))
print(cache.fetch(file, model=Model(name="mv2", format="pte"), exporter=None, progress=Quiet()).path, flush=True)
"""


def fetching(cache: ModelCache, file: ModelFile) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", FETCHING, str(cache.folder), file.model_dump_json()]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow  # starts an interpreter
def test_a_killed_download_leaves_no_file_and_is_continued(
    site: Site, wanted: Wanted, fetch: Fetch, cache: ModelCache
) -> None:
    site.steps = [Step(stall_after=HALF)]
    with fetching(cache, wanted(MD5)) as process:
        wait_until(lambda: any(part.stat().st_size > 0 for part in cache.folder.rglob("*.part")))
        process.send_signal(signal.SIGKILL)
    assert not list(cache.folder.rglob("model.pte"))
    (part,) = cache.folder.rglob("*.part")
    kept = part.stat().st_size
    served = site.served_bytes

    assert fetch(wanted(MD5)).path.read_bytes() == CONTENT
    assert site.asked[1].range == f"bytes={kept}-"
    assert site.served_bytes - served == len(CONTENT) - kept


@pytest.mark.slow  # starts interpreters
def test_two_processes_download_once(site: Site, wanted: Wanted, cache: ModelCache) -> None:
    site.steps = [Step(stall_after=HALF)]
    with fetching(cache, wanted(MD5)) as first:
        wait_until(lambda: len(site.asked) == 1)
        with fetching(cache, wanted(MD5)) as second:
            assert second.stdout is not None
            assert "waiting" in second.stdout.readline()
            site.go_on.set()
            second_path = second.stdout.read().strip()
        assert first.stdout is not None
        assert first.stdout.read().strip() == second_path
    assert (first.returncode, second.returncode) == (0, 0)
    assert Path(second_path).read_bytes() == CONTENT
    assert len(site.asked) == 1
