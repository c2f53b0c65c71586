"""The cable of a stand-in phone: a proxy between the adb server and adbd that can slow, delay and break connections.

Debian's adbd lets everybody in, and ignores `reboot:` and `root:`; the proxy plays these.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import threading
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, replace
from typing import Final

from harness.testing.phones.android import packets
from harness.testing.phones.android.adb_server import choose_port
from harness.testing.phones.android.container import PhoneContainer
from harness.testing.phones.android.packets import AUTH, CLSE, CNXN, OKAY, OPEN, WRTE, Packet, ReceivedPacket

REBOOT_S: Final = 1.0
"""Seconds for which a phone is gone that was told to reboot."""

_ROOTED: Final = "adbd is already running as root\n"
_NOT_ROOTED: Final = "adbd cannot run as root in production builds\n"
_LOST: Final = (asyncio.IncompleteReadError, ConnectionError, OSError)
"""Exceptions of reading and writing when one side went away."""
_HIDDEN_FEATURES: Final = frozenset({"abb", "abb_exec"})
"""Features of adbd that need Android's own services behind them; adb installs through `cmd package` without them."""
_FIRST_STREAM: Final = 0x7F000000
"""First number of the streams that the proxy answers itself, far above adbd's."""
_STREAM_COMMANDS: Final = frozenset({OKAY, WRTE, CLSE})
_CHUNK_BYTES: Final = 1 << 14
"""Bytes sent at once where the rate is limited."""
_QUEUE: Final = 64
_POLL_S: Final = 0.02
_ADBD_S: Final = 5.0
"""Seconds for which adbd may not listen yet after a boot."""
_CALL_S: Final = 60.0
"""Limit of plugging and unplugging."""


@contextlib.contextmanager
def run_event_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop for proxies, in a thread of its own."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever, name="stand-in phones", daemon=True)
        thread.start()
        try:
            yield loop
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


@dataclass(slots=True)
class LinkFaults:
    """Faults of one cable, and a count of what went through. Read in the event loop, set by any thread.

    Attributes:
        authorised: Whether the phone allows debugging from this machine.
        silent: Whether it does not answer the adb server's greeting, which then lists it as offline.
        delay_s: Seconds that a packet to the phone takes.
        bytes_per_s: Rate limit in each direction; None for no limit.
        cut_after_bytes: The connection breaks, once, after so many more bytes; None for never.
        streams: Number of streams that the adb server opened: each is at least one round trip.
    """

    authorised: bool = True
    silent: bool = False
    delay_s: float = 0.0
    bytes_per_s: float | None = None
    cut_after_bytes: int | None = None
    streams: int = 0

    def pass_bytes(self, size: int) -> int:
        """Count bytes towards the cut, and return how many of them go through before it."""
        if self.cut_after_bytes is None:
            return size
        passed = min(size, self.cut_after_bytes)
        self.cut_after_bytes -= passed
        return passed


class Proxy:
    """Cable of one phone, always at the same port. Any thread may use it.

    Args:
        container: The phone.
        loop: Event loop that runs in another thread.
        rooted: Whether adbd runs as root.
    """

    def __init__(self, container: PhoneContainer, loop: asyncio.AbstractEventLoop, *, rooted: bool) -> None:
        self.port = 0
        self.faults = LinkFaults()
        self._container = container
        self._loop = loop
        self._rooted = rooted
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    def plug(self) -> None:
        """Accept connections.

        Raises:
            OSError: Another program took the port meanwhile.
        """
        self._run(self._listen())

    def unplug(self) -> None:
        """Refuse connections, and break the open ones."""
        self._run(self._stop())

    def drop(self) -> None:
        """Break the open connections."""
        self._run(self._drop())

    def _run(self, work: Coroutine[object, object, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_CALL_S)

    async def _listen(self) -> None:
        while self._server is None:
            port = self.port or choose_port()
            try:
                self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)
            except OSError as error:
                if self.port or error.errno != errno.EADDRINUSE:
                    raise
            else:
                self.port = port

    async def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._drop()

    async def _drop(self) -> None:
        connections = tuple(self._connections)
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = self._loop.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        connection = _Connection(self._container, self.faults, reader, writer, rooted=self._rooted)
        try:
            with contextlib.suppress(*_LOST):
                await connection.run()
        finally:
            connection.close()


class _Connection:
    """One connection of the adb server: carries packets both ways until one side goes away.

    Args:
        container: The phone.
        faults: Faults of the cable.
        reader: From the adb server.
        writer: To the adb server.
        rooted: Whether adbd runs as root.
    """

    def __init__(
        self, container: PhoneContainer, faults: LinkFaults, reader: StreamReader, writer: StreamWriter, *, rooted: bool
    ) -> None:
        self._container = container
        self._faults = faults
        self._reader = reader
        self._writer = writer
        self._rooted = rooted
        self._phone_writer: StreamWriter | None = None
        self._to_phone, self._to_server = asyncio.Lock(), asyncio.Lock()
        self._last_stream = _FIRST_STREAM

    async def run(self) -> None:
        """Carry packets.

        Raises:
            asyncio.IncompleteReadError: A side went away.
            OSError: The same, or the cable broke.
        """
        greeting = await packets.read_packet(self._reader)
        await self._wait_while_silent()
        await self._authorise()
        phone_reader, self._phone_writer = await self._connect()
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_QUEUE)
        await queue.put((0.0, greeting.wire))
        work = (self._receive(queue), self._forward(queue, self._phone_writer), self._return(phone_reader))
        tasks = [asyncio.create_task(part) for part in work]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in ended:
            task.result()

    def close(self) -> None:
        """Hang up on both sides."""
        self._writer.close()
        if self._phone_writer is not None:
            self._phone_writer.close()

    async def _wait_while_silent(self) -> None:
        while self._faults.silent and not self._reader.at_eof():
            await asyncio.sleep(_POLL_S)

    async def _authorise(self) -> None:
        """Act like a phone that does not know this machine: refuse signatures, wait for its user's consent."""
        while not self._faults.authorised:
            await self._send(self._writer, Packet(AUTH, packets.TOKEN, 0, os.urandom(20)).encode())
            if (await packets.read_packet(self._reader)).packet.arg0 == packets.PUBLIC_KEY:
                await self._wait_for_consent()

    async def _wait_for_consent(self) -> None:
        while not self._faults.authorised and not self._reader.at_eof():
            await asyncio.sleep(_POLL_S)

    async def _connect(self) -> tuple[StreamReader, StreamWriter]:
        """Connect to adbd, which may need a moment after a boot."""
        end = time.monotonic() + _ADBD_S
        while True:
            try:
                descriptor = await asyncio.to_thread(self._container.request, "connect")
            except ConnectionRefusedError:
                if time.monotonic() > end:
                    raise
                await asyncio.sleep(_POLL_S)
            else:
                if descriptor is None:
                    raise ConnectionResetError("the phone has no adbd")
                return await asyncio.open_connection(sock=socket.socket(fileno=descriptor))

    async def _receive(self, queue: asyncio.Queue[tuple[float, bytes]]) -> None:
        """Read packets of the adb server, and note when each shall arrive at the phone."""
        while True:
            received = await packets.read_packet(self._reader)
            packet = received.packet
            if packet.command == OPEN:
                self._faults.streams += 1
                if await self._answer(packet):
                    continue
            elif packet.arg1 >= _FIRST_STREAM and packet.command in _STREAM_COMMANDS:
                continue
            await queue.put((time.monotonic() + self._faults.delay_s, received.wire))

    async def _forward(self, queue: asyncio.Queue[tuple[float, bytes]], writer: StreamWriter) -> None:
        """Send packets to the phone when they are due."""
        while True:
            due, wire = await queue.get()
            if (wait := due - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            await self._send(writer, wire)

    async def _return(self, reader: StreamReader) -> None:
        """Send the phone's packets to the adb server."""
        while True:
            await self._send(self._writer, _hide_features(await packets.read_packet(reader)))

    async def _answer(self, request: Packet) -> bool:
        """Answer a request that adbd ignores; return False for all others."""
        service, _, _ = request.data.rstrip(b"\0").decode(errors="replace").partition(":")
        if service not in {"reboot", "root"}:
            return False
        answer = (_ROOTED if self._rooted else _NOT_ROOTED) if service == "root" else ""
        self._last_stream += 1
        ours, theirs = self._last_stream, request.arg0
        written = [Packet(WRTE, ours, theirs, answer.encode())] if answer else []
        for packet in (Packet(OKAY, ours, theirs), *written, Packet(CLSE, ours, theirs)):
            await self._send(self._writer, packet.encode())
        if service == "reboot":
            await asyncio.to_thread(self._container.request, "reboot", seconds=str(REBOOT_S))
        return True

    async def _send(self, writer: StreamWriter, wire: bytes) -> None:
        """Write one packet as well as the cable's faults allow."""
        async with self._to_server if writer is self._writer else self._to_phone:
            passed = self._faults.pass_bytes(len(wire))
            await self._write(writer, wire[:passed])
            if passed < len(wire):
                self._faults.cut_after_bytes = None
                raise ConnectionAbortedError("the cable broke")

    async def _write(self, writer: StreamWriter, data: bytes) -> None:
        size = _CHUNK_BYTES if self._faults.bytes_per_s is not None else len(data) or 1
        for start in range(0, len(data), size):
            chunk = data[start : start + size]
            writer.write(chunk)
            await writer.drain()
            if rate := self._faults.bytes_per_s:
                await asyncio.sleep(len(chunk) / rate)


def _hide_features(received: ReceivedPacket) -> bytes:
    """Return a packet of adbd without the features that these phones do not have."""
    if received.packet.command != CNXN:
        return received.wire
    return replace(received.packet, data=packets.remove_features(received.packet.data, _HIDDEN_FEATURES)).encode()
