"""Both ways of reading several pipes: the kernel's, and one thread for each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import IO

import pytest

from harness.shell.pipes import PipeReader, SelectingReader, ThreadedReader

Opener = Callable[[Sequence[IO[bytes]]], PipeReader]


@pytest.fixture(params=[SelectingReader, ThreadedReader])
def open_reader(request: pytest.FixtureRequest) -> Opener:
    opener: Opener = request.param
    return opener


def pipe() -> tuple[IO[bytes], int]:
    reader, writer = os.pipe()
    return os.fdopen(reader, "rb", buffering=0), writer


def test_chunks_come_with_their_pipe_and_an_empty_one_is_the_end(open_reader: Opener) -> None:
    (first, to_first), (second, to_second) = pipe(), pipe()
    reader = open_reader((first, second))
    os.write(to_first, b"one")
    os.write(to_second, b"two")
    os.close(to_first)
    os.close(to_second)
    received: dict[IO[bytes], list[bytes]] = {first: [], second: []}
    while not reader.is_exhausted:
        for source, chunk in reader.read(10.0):
            received[source].append(chunk)
    assert received == {first: [b"one", b""], second: [b"two", b""]}
    reader.close()
    assert first.closed
    assert second.closed


def test_what_was_written_before_is_read_without_waiting(open_reader: Opener) -> None:
    source, writer = pipe()
    reader = open_reader((source,))
    time.sleep(0.05)
    os.write(writer, b"late")
    assert list(reader.read(0.0)) == [(source, b"late")]
    assert not reader.read(0.0)
    os.close(writer)
    reader.close()


def test_a_pipe_that_somebody_keeps_open_does_not_block_the_closing(open_reader: Opener) -> None:
    source, writer = pipe()
    reader = open_reader((source,))
    reader.close()
    os.close(writer)


def test_more_than_fits_between_the_threads_arrives(open_reader: Opener) -> None:
    source, writer = pipe()
    reader = open_reader((source,))
    received = 0
    for _ in range(100):
        os.write(writer, bytes(1000))
        received += sum(len(chunk) for _, chunk in reader.read(10.0))
    os.close(writer)
    while not reader.is_exhausted:
        received += sum(len(chunk) for _, chunk in reader.read(10.0))
    assert received == 100_000
    reader.close()
