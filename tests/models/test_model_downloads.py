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

from harness.core.benchmark import Model, ModelFile, SpecificationPlace
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
    """Faulty response to one request."""

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    stall_after: int | None = None
    body: bytes | None = None


@dataclass
class Request:
    range: str | None
    if_range: str | None
    authorization: str | None


@dataclass
class Site:
    """HTTP server of one file, with configurable faults."""

    content: bytes = CONTENT
    etag: str | None = '"v1"'
    supports_ranges: bool = True
    sends_length: bool = True
    steps: list[Step] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    served_bytes: int = 0
    base: str = ""
    resume: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"{self.base}/model.pte"


def handler_of(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

        def do_GET(self) -> None:
            request = Request(*(self.headers[name] for name in ("Range", "If-Range", "Authorization")))
            site.requests.append(request)
            step = site.steps.pop(0) if site.steps else Step()
            if step.status is not None:
                self.send_response(step.status)
                for name, value in {"Content-Length": "0", **step.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                return
            self.answer(request, step)

        def answer(self, request: Request, step: Step) -> None:
            start = self.start_of(request)
            body = step.body if step.body is not None else site.content[start:]
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(site.content) - 1}/{len(site.content)}")
            if site.sends_length:
                self.send_header("Content-Length", str(len(body)))
            if site.etag is not None:
                self.send_header("ETag", site.etag)
            for name, value in step.headers.items():
                self.send_header(name, value)
            self.end_headers()
            until = step.cut_after if step.cut_after is not None else step.stall_after
            sent = body if until is None else body[:until]
            site.served_bytes += len(sent)  # before writing: the test may read it at once
            self.wfile.write(sent)
            self.wfile.flush()
            if step.stall_after is not None:
                site.resume.wait(120)  # until the test is over
                with contextlib.suppress(OSError):  # the client may be gone by now
                    self.wfile.write(body[until:])

        def start_of(self, request: Request) -> int:
            match = re.fullmatch(r"bytes=(\d+)-", request.range or "")
            same = request.if_range in {None, site.etag}
            return int(match.group(1)) if match and site.supports_ranges and same else 0

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
        site.resume.set()
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
def model_file(site: Site, specification: Path) -> Callable[[str | None], ModelFile]:
    def of(md5: str | None) -> ModelFile:
        origin = SpecificationPlace(file=specification, line=5)
        return ModelFile(key="files.model", filename="model.pte", location=site.url, md5=md5, origin=origin)

    return of


@pytest.fixture
def fetch(cache: ModelCache, model: Model, progress: Progress) -> Callable[[ModelFile], CachedFile]:
    return lambda file: cache.fetch(file, model=model, exporter=None, progress=progress)


MakeFile = Callable[[str | None], ModelFile]
Fetch = Callable[[ModelFile], CachedFile]


def test_a_file_is_downloaded_once(site: Site, model_file: MakeFile, fetch: Fetch, cache: ModelCache) -> None:
    first = fetch(model_file(MD5))
    assert first.path.read_bytes() == CONTENT
    assert (first.fresh, first.md5, first.size_bytes, first.source) == (True, MD5, len(CONTENT), site.url)
    assert not fetch(model_file(MD5)).fresh
    assert len(site.requests) == 1
    assert not list(cache.folder.rglob("*.part*"))


def test_without_md5_the_cached_copy_is_reused(
    site: Site, model_file: MakeFile, fetch: Fetch, messages: list[str]
) -> None:
    assert fetch(model_file(None)).path == fetch(model_file(None)).path
    assert len(site.requests) == 1
    assert [MD5 in line for line in messages] == [True]


def test_two_specifications_with_different_md5s_coexist(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    first = fetch(model_file(MD5))
    site.content = b"the next version"
    second = fetch(model_file(hashlib.md5(site.content).hexdigest()))
    assert (first.path.read_bytes(), second.path.read_bytes()) == (CONTENT, b"the next version")
    assert not fetch(model_file(MD5)).fresh


def test_a_wrong_md5_is_refused_and_the_specification_is_unchanged(
    site: Site, model_file: MakeFile, fetch: Fetch, specification: Path, cache: ModelCache
) -> None:
    before = specification.read_bytes()
    with pytest.raises(FileUnavailable) as raised:
        fetch(model_file(WRONG))
    for fact in (WRONG, MD5, site.url, f"{specification}:5"):
        assert fact in raised.value.message
    assert raised.value.hint is not None
    assert specification.read_bytes() == before
    assert {path.suffix for path in cache.folder.rglob("*") if path.is_file()} == {".lock"}


def test_a_damaged_copy_is_downloaded_again(model_file: MakeFile, fetch: Fetch, messages: list[str]) -> None:
    cached = fetch(model_file(MD5))
    cached.path.write_bytes(CONTENT[:-1])
    again = fetch(model_file(MD5))
    assert again.fresh
    assert again.path.read_bytes() == CONTENT
    assert "damaged" in messages[0]


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_temporary_errors_are_retried(site: Site, model_file: MakeFile, fetch: Fetch, status: int) -> None:
    site.steps = [Step(status=status, headers={"Retry-After": "0"}), Step(status=status)]
    assert fetch(model_file(MD5)).md5 == MD5
    assert len(site.requests) == 3


def test_retries_are_limited(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    site.steps = [Step(status=503)] * 10
    with pytest.raises(FileUnavailable, match="503 Service Unavailable"):
        fetch(model_file(MD5))
    assert len(site.requests) == 4


@pytest.mark.parametrize("status", [401, 403, 404, 410, 206, 204])
def test_permanent_errors_are_not_retried(site: Site, model_file: MakeFile, fetch: Fetch, status: int) -> None:
    site.steps = [Step(status=status)]
    with pytest.raises(FileUnavailable) as raised:
        fetch(model_file(MD5))
    assert str(status) in raised.value.message
    assert site.url in raised.value.message
    assert raised.value.hint is not None
    assert len(site.requests) == 1


def test_an_interrupted_download_is_resumed(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    site.steps = [Step(cut_after=HALF)]
    assert fetch(model_file(MD5)).path.read_bytes() == CONTENT
    assert site.requests[1] == Request(f"bytes={HALF}-", '"v1"', None)
    assert site.served_bytes == len(CONTENT)


def test_an_interrupted_download_without_etag_starts_over(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    site.etag = None
    site.steps = [Step(cut_after=HALF)]
    assert fetch(model_file(MD5)).path.read_bytes() == CONTENT
    assert site.requests[1].range is None


def test_a_weak_etag_does_not_allow_resuming(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    site.etag = 'W/"v1"'
    site.steps = [Step(cut_after=HALF)]
    fetch(model_file(MD5))
    assert site.requests[1].range is None


def test_a_server_without_ranges_restarts_the_download(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    site.supports_ranges = False
    site.steps = [Step(cut_after=HALF)]
    assert fetch(model_file(MD5)).path.read_bytes() == CONTENT
    assert site.served_bytes == HALF + len(CONTENT)


def test_changed_content_is_downloaded_from_the_start(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    site.steps = [Step(cut_after=70_000)] * 4
    with pytest.raises(FileUnavailable):
        fetch(model_file(None))
    site.content, site.etag = CONTENT[::-1], '"v2"'
    assert fetch(model_file(None)).path.read_bytes() == CONTENT[::-1]
    assert site.requests[-1].if_range == '"v1"'


def test_an_unsatisfiable_range_restarts_the_download(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    site.steps = [Step(cut_after=HALF), Step(status=416)]
    assert fetch(model_file(MD5)).path.read_bytes() == CONTENT
    assert site.requests[2].range is None


def test_a_wrong_content_range_is_not_appended(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    wrong_range = {"Content-Range": f"bytes 7-{len(CONTENT) - 1}/{len(CONTENT)}"}
    site.steps = [Step(cut_after=HALF), Step(status=206, headers=wrong_range)]
    assert fetch(model_file(MD5)).path.read_bytes() == CONTENT
    assert site.requests[2].range is None


def test_a_short_range_response_is_continued(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    site.steps = [Step(cut_after=HALF), Step(body=CONTENT[HALF : HALF + 100])]
    assert fetch(model_file(None)).path.read_bytes() == CONTENT
    assert site.requests[2].range == f"bytes={HALF + 100}-"


def test_a_partial_download_of_another_url_is_not_resumed(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    site.steps = [Step(cut_after=70_000)] * 4
    with pytest.raises(FileUnavailable):
        fetch(model_file(MD5))
    mirror = model_file(MD5).model_copy(update={"location": f"{site.base}/mirror/model.pte"})
    assert fetch(mirror).path.read_bytes() == CONTENT
    assert site.requests[-1].range is None


def test_an_encoded_response_is_decoded_and_never_resumed(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    site.content = gzip.compress(CONTENT, mtime=0)
    encoded = {"Content-Encoding": "gzip"}
    site.steps = [Step(cut_after=len(site.content) // 2, headers=encoded), Step(headers=encoded)]
    assert fetch(model_file(MD5)).path.read_bytes() == CONTENT
    assert site.requests[1].range is None


def test_a_corrupted_resumed_download_starts_over(
    site: Site, model_file: MakeFile, fetch: Fetch, messages: list[str]
) -> None:
    site.steps = [Step(cut_after=HALF), Step(body=b"x" * (len(CONTENT) - HALF))]
    assert fetch(model_file(MD5)).path.read_bytes() == CONTENT
    assert "starting over" in messages[0]


def test_a_truncated_body_is_refused(site: Site, model_file: MakeFile, fetch: Fetch, cache: ModelCache) -> None:
    site.steps = [Step(cut_after=1000)] * 4
    site.etag = None
    with pytest.raises(FileUnavailable, match="1000"):
        fetch(model_file(None))
    assert not list(cache.folder.rglob("model.pte"))


def test_a_body_without_length_is_accepted(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    site.sends_length = False
    assert fetch(model_file(MD5)).path.read_bytes() == CONTENT


def test_a_body_without_length_and_end_is_given_up(
    site: Site, model_file: MakeFile, cache: ModelCache, model: Model, progress: Progress
) -> None:
    site.sends_length = False
    file = model_file(None)
    source = parse_location(file)
    assert isinstance(source, Download)
    place = choose_place(cache.folder, file, model, source)
    place.path.parent.mkdir(parents=True)
    limit = 1 << 10
    assert len(CONTENT) > limit
    with progress.task("downloading") as task:
        with pytest.raises(FileUnavailable, match="more than 1 KiB without announcing a length"):
            download(file, source, place, task, RetrySchedule(unannounced_bytes=limit))
        assert not place.part.exists()
        site.sends_length = True
        download(file, source, place, task, RetrySchedule(unannounced_bytes=limit))
    assert place.part.read_bytes() == CONTENT


@pytest.mark.slow
def test_a_stalled_server_is_retried(
    site: Site, model_file: MakeFile, cache: ModelCache, model: Model, progress: Progress
) -> None:
    site.steps = [Step(stall_after=HALF)]
    file = model_file(MD5)
    source = parse_location(file)
    assert isinstance(source, Download)
    place = choose_place(cache.folder, file, model, source)
    place.path.parent.mkdir(parents=True)
    with progress.task("downloading") as task:
        download(file, source, place, task, RetrySchedule(read_s=1.0))
    assert place.part.read_bytes() == CONTENT
    assert site.requests[1].range == f"bytes={HALF}-"


def test_a_closed_port_is_reported_with_its_address_without_credentials(fetch: Fetch, model_file: MakeFile) -> None:
    hidden = "http://user:secret@127.0.0.1:1/model.pte?token=secret"
    with pytest.raises(FileUnavailable, match=r"http://127\.0\.0\.1:1/model\.pte.*refused") as raised:
        fetch(model_file(MD5).model_copy(update={"location": hidden}))
    error: BaseException | None = raised.value
    while error is not None:
        assert "secret" not in str(error)
        error = error.__cause__


def test_credentials_of_the_url_are_sent_only_to_the_server(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    location = site.url.replace("http://", "http://user:secret@")
    cached = fetch(model_file(MD5).model_copy(update={"location": location}))
    assert site.requests[0].authorization == "Basic dXNlcjpzZWNyZXQ="
    assert cached.source == site.url


@pytest.mark.parametrize(
    "location",
    ["http://", "http://a..b/m", "http://host:port/m", "http://host:99999/m", "http://*/m", "https://\ud800/m"],
)
def test_an_invalid_url_is_refused(location: str, model_file: MakeFile, fetch: Fetch) -> None:
    with pytest.raises(FileUnavailable):
        fetch(model_file(MD5).model_copy(update={"location": location}))


@pytest.mark.parametrize(
    "target",
    ["http://[::1", "http://[", "http://a..b/", "http://" + "a" * 300, "http://x:99999999/", "file:///x"],
)
def test_a_redirect_to_a_malformed_address_ends_this_file(
    target: str, site: Site, model_file: MakeFile, fetch: Fetch
) -> None:
    site.steps = [Step(status=302, headers={"Location": target})] * 4
    with pytest.raises(FileUnavailable, match="cannot be downloaded"):
        fetch(model_file(MD5))


def test_a_pause_that_is_no_number_is_not_waited_for(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    site.steps = [Step(status=503, headers={"Retry-After": pause}) for pause in ("²", "9" * 5000)]
    assert fetch(model_file(MD5)).path.read_bytes() == CONTENT


def test_concurrent_threads_download_once(site: Site, model_file: MakeFile, fetch: Fetch) -> None:
    cached: list[CachedFile] = []
    threads = [threading.Thread(target=lambda: cached.append(fetch(model_file(MD5)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [file.fresh for file in cached].count(True) == 1
    assert len(cached) == 4
    assert len(site.requests) == 1


FETCH_SCRIPT = """
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
    warn = say

file = ModelFile.model_validate_json(sys.argv[2])
cache = ModelCache(Path(sys.argv[1]))
print(cache.fetch(file, model=Model(name="mv2", format="pte"), exporter=None, progress=Quiet()).path, flush=True)
"""


def start_download(cache: ModelCache, file: ModelFile) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", FETCH_SCRIPT, str(cache.folder), file.model_dump_json()]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow  # starts an interpreter
def test_a_killed_download_leaves_no_file_and_is_resumed(
    site: Site, model_file: MakeFile, fetch: Fetch, cache: ModelCache
) -> None:
    site.steps = [Step(stall_after=HALF)]
    with start_download(cache, model_file(MD5)) as process:
        wait_until(lambda: any(part.stat().st_size > 0 for part in cache.folder.rglob("*.part")))
        process.send_signal(signal.SIGKILL)
    assert not list(cache.folder.rglob("model.pte"))
    (part,) = cache.folder.rglob("*.part")
    partial_size = part.stat().st_size
    served = site.served_bytes

    assert fetch(model_file(MD5)).path.read_bytes() == CONTENT
    assert site.requests[1].range == f"bytes={partial_size}-"
    assert site.served_bytes - served == len(CONTENT) - partial_size


@pytest.mark.slow  # starts interpreters
def test_concurrent_processes_download_once(site: Site, model_file: MakeFile, cache: ModelCache) -> None:
    site.steps = [Step(stall_after=HALF)]
    with start_download(cache, model_file(MD5)) as first:
        wait_until(lambda: len(site.requests) == 1)
        with start_download(cache, model_file(MD5)) as second:
            assert second.stdout is not None
            assert "waiting" in second.stdout.readline()
            site.resume.set()
            second_path = second.stdout.read().strip()
        assert first.stdout is not None
        assert first.stdout.read().strip() == second_path
    assert (first.returncode, second.returncode) == (0, 0)
    assert Path(second_path).read_bytes() == CONTENT
    assert len(site.requests) == 1
