"""Packets of adb's shell protocol, in whatever pieces they arrive."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import shell
from platforms.android.link.protocol import Connection, ShellStream


def packet(kind: int, content: bytes) -> bytes:
    return bytes((kind,)) + len(content).to_bytes(4, "little") + content


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, Connection]]:
    ours, theirs = socket.socketpair()
    wire = Connection(ours)
    with theirs:
        yield theirs, wire
    wire.close()


@given(
    packets=st.lists(st.tuples(st.sampled_from((1, 2)), st.binary(max_size=200)), max_size=10),
    code=st.integers(0, 255),
    cuts=st.lists(st.integers(0, 2000), max_size=10),
)
def test_streams_are_separate_however_packets_are_split(
    packets: list[tuple[int, bytes]], code: int, cuts: list[int]
) -> None:
    sent = b"".join(packet(kind, content) for kind, content in packets) + packet(3, bytes((code,)))
    ours, theirs = socket.socketpair()
    stream = ShellStream(Connection(ours))
    places = sorted({0, *(cut for cut in cuts if cut < len(sent)), len(sent)})
    deadline = time.monotonic() + 10
    with theirs:
        for start, end in itertools.pairwise(places):
            theirs.sendall(sent[start:end])
            stream.read(deadline)
        while stream.read(deadline):
            pass
    stream.close()
    assert stream.exit_code == code
    assert bytes(stream.out) == b"".join(content for kind, content in packets if kind == 1)
    assert bytes(stream.err) == b"".join(content for kind, content in packets if kind == 2)


def test_a_connection_that_ends_without_an_exit_code_is_an_error(ends: tuple[socket.socket, Connection]) -> None:
    theirs, wire = ends
    theirs.sendall(packet(1, b"begun") + packet(1, b"cut")[:6])
    theirs.shutdown(socket.SHUT_WR)
    stream = ShellStream(wire)
    assert stream.read(time.monotonic() + 10)
    with pytest.raises(EOFError):
        stream.read(time.monotonic() + 10)
    assert stream.exit_code is None


def test_input_is_sent_in_packets(ends: tuple[socket.socket, Connection]) -> None:
    theirs, wire = ends
    stream = ShellStream(wire)
    stream.write(b"line\n")
    stream.close_stdin()
    assert theirs.recv(100) == packet(0, b"line\n") + packet(4, b"")


def test_waiting_is_limited(ends: tuple[socket.socket, Connection]) -> None:
    _, wire = ends
    with pytest.raises(TimeoutError):
        wire.read_exactly(4, timeout_s=0.2)


def test_waiting_ends_with_the_harness() -> None:
    def stopped() -> None:
        raise shell.Interrupted("stopped")

    ours, theirs = socket.socketpair()
    wire = Connection(ours, stopped)
    with theirs, pytest.raises(shell.Interrupted):
        wire.read_exactly(4)
    wire.close()
