"""Raw HTTP answers with edits, from a socket: a file is fetched whole, or it is unavailable; nothing else ends."""

from __future__ import annotations

import hashlib
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina
from hypothesis import given
from hypothesis import strategies as st

from harness.config.remote_target import RemoteTarget
from harness.core.benchmark import Model, ModelFile, SpecificationPlace
from harness.core.errors import FileUnavailable
from harness.models.cache import ModelCache
from harness.testing.progress import RecordedProgress
from reporters.remote.endpoint import Endpoint
from reporters.remote.spool import SendResult, SendStatus
from tests.fuzz.mutations import CUTS, Cut, cut, fuzzed

BODY = b"a small model file" * 20
MD5 = hashlib.md5(BODY).hexdigest()
SIZE = str(len(BODY)).encode()
ANSWERS = (
    b"HTTP/1.1 200 OK\r\nContent-Length: " + SIZE + b'\r\nETag: "v1"\r\n\r\n' + BODY,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n168\r\n" + BODY + b"\r\n0\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + BODY,
    b'HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 9-359/360\r\nETag: "v1"\r\n\r\n' + BODY[9:],
    b"HTTP/1.1 302 Found\r\nLocation: /elsewhere?a=b#c\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 301 Moved\r\nLocation: http://user@[::1]:1/x\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 4\r\n\r\nno!\n",
    b"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */360\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 429 Too Many\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 503 Unavailable\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\nContent-Length: 2\r\n\r\n{}",
)
_UNCLOSED = "ignore::pytest.PytestUnraisableExceptionWarning"
"""requests leaves a socket to the garbage collector where it fails between the steps of a redirect."""


class RawServer:
    """Server that gives each connection the present answer, byte for byte, and closes it."""

    def __init__(self) -> None:
        self.answers: list[bytes] = [b""]
        self._number = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        self._number += 1
        try:
            received = b""
            while not _is_whole(received) and (chunk := connection.recv(65536)):
                received += chunk
            connection.sendall(self.answers[self._number % len(self.answers)])
        except OSError:
            return


def _is_whole(request: bytes) -> bool:
    head, end, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: ([0-9]+)", head)
    return bool(end) and len(body) >= (int(length[1]) if length else 0)


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    server = RawServer()
    yield server
    server.close()


@pytest.fixture(scope="module", autouse=True)
def _no_pauses() -> Iterator[None]:
    with stamina.set_testing(True, attempts=3):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("http")


@pytest.mark.filterwarnings(_UNCLOSED)
@fuzzed(120)
@given(st.lists(st.tuples(st.sampled_from(ANSWERS), CUTS), min_size=1, max_size=3), st.booleans())
def test_a_file_is_fetched_whole_or_unavailable(
    server: RawServer, folder: Path, answers: list[tuple[bytes, list[Cut]]], promised: bool
) -> None:
    server.answers = [cut(answer, cuts) for answer, cuts in answers]
    file = ModelFile(
        key="files.model",
        filename="model.pte",
        location=f"http://127.0.0.1:{server.port}/{len(answers)}",
        md5=MD5 if promised else None,
        origin=SpecificationPlace(file=folder / "x.json", line=5),
    )
    try:
        fetched = ModelCache(folder / "cache").fetch(
            file, model=Model(name="m", format="pte"), exporter=None, progress=RecordedProgress()
        )
    except FileUnavailable:
        return
    content = fetched.path.read_bytes()
    assert hashlib.md5(content).hexdigest() == fetched.md5
    assert not promised or content == BODY
    fetched.path.unlink()


@pytest.mark.filterwarnings(_UNCLOSED)
@fuzzed(40)
@given(st.sampled_from(ANSWERS), CUTS)
def test_an_answer_to_a_result_is_a_reason(server: RawServer, answer: bytes, cuts: list[Cut]) -> None:
    server.answers = [cut(answer, cuts)]
    endpoint = Endpoint(RemoteTarget.parse(f"http://user:secret@127.0.0.1:{server.port}/results"))
    try:
        sent = endpoint.post("key", b"{}", 0.1)
    finally:
        endpoint.close()
    assert isinstance(sent, SendResult)
    assert "secret" not in sent.reason


@pytest.mark.parametrize("target", [b"http://[::1", b"\x80", b"http://[:1]/"])
def test_a_malformed_redirect_of_a_result_is_a_reason(server: RawServer, target: bytes) -> None:
    server.answers = [b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + target + b"\r\n\r\n"]
    endpoint = Endpoint(RemoteTarget.parse(f"http://127.0.0.1:{server.port}/results"))
    try:
        sent = endpoint.post("key", b"{}", 0.1)
    finally:
        endpoint.close()
    assert sent.status is SendStatus.KEPT
    assert "redirect" in sent.reason
