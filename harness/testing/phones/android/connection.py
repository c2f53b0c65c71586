"""One connection of the adb server with a stand-in phone.

Debian's adbd lets everybody in, and does nothing about `reboot:` and `root:`. Both are answered here.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
import time
from asyncio import StreamReader, StreamWriter
from dataclasses import replace
from typing import Final

from harness.testing.phones.android import adb_packets
from harness.testing.phones.android.adb_packets import AUTH, CLSE, CNXN, OKAY, OPEN, WRTE, Packet, Raw
from harness.testing.phones.android.container import Machine
from harness.testing.phones.link_faults import Link

_HIDDEN: Final = frozenset({"abb", "abb_exec"})
"""Features of adbd that need Android's own services behind them; adb installs through `cmd package` without them."""
_OUR_STREAMS: Final = 0x7F000000
"""Where our own numbers of streams begin, far above adbd's."""
_BITE: Final = 1 << 14
"""How many bytes go at once where the rate is limited."""
_OF_STREAMS: Final = frozenset({OKAY, WRTE, CLSE})
_QUEUE: Final = 64
REBOOT_S: Final = 1.0
"""How long a phone is gone that was told to reboot."""
_LOOK_S: Final = 0.02
_BOOT_S: Final = 5.0
"""How long a phone that is switched on may not answer yet."""


class Conversation:
    """Carries packets both ways until one side goes away.

    Args:
        machine: The phone.
        link: What is wrong with the cable.
        reader: From the adb server.
        writer: To the adb server.
        rooted: Whether adbd is root.
    """

    def __init__(
        self, machine: Machine, link: Link, reader: StreamReader, writer: StreamWriter, *, rooted: bool
    ) -> None:
        self._machine = machine
        self._link = link
        self._reader = reader
        self._writer = writer
        self._rooted = rooted
        self._phone_writer: StreamWriter | None = None
        self._up, self._down = asyncio.Lock(), asyncio.Lock()
        self._next_stream = _OUR_STREAMS

    async def run(self) -> None:
        """Carry packets.

        Raises:
            asyncio.IncompleteReadError: A side went away.
            OSError: The same, or the cable broke.
        """
        greeting = await adb_packets.read(self._reader)
        await self._ask_for_permission()
        phone_reader, phone_writer = await self._connect()
        self._phone_writer = phone_writer
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_QUEUE)
        await queue.put((0.0, greeting.wire))
        ways = (self._take(queue), self._carry_up(queue, phone_writer), self._carry_down(phone_reader))
        tasks = [asyncio.create_task(way) for way in ways]
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

    async def _ask_for_permission(self) -> None:
        """What a phone does that does not know this machine: refuse signatures, wait for its user's finger."""
        while not self._link.authorised:
            await self._send(self._writer, Packet(AUTH, adb_packets.TOKEN, 0, os.urandom(20)).encoded())
            if (await adb_packets.read(self._reader)).packet.first == adb_packets.PUBLIC_KEY:
                await self._wait_for_permission()

    async def _wait_for_permission(self) -> None:
        while not self._link.authorised and not self._reader.at_eof():
            await asyncio.sleep(_LOOK_S)

    async def _connect(self) -> tuple[StreamReader, StreamWriter]:
        """A connection to adbd, which may need a moment after a boot."""
        end = time.monotonic() + _BOOT_S
        while True:
            try:
                handle = await asyncio.to_thread(self._machine.ask, "connect")
            except ConnectionRefusedError:
                if time.monotonic() > end:
                    raise
                await asyncio.sleep(_LOOK_S)
            else:
                if handle is None:
                    raise ConnectionResetError("the phone has no adbd")
                return await asyncio.open_connection(sock=socket.socket(fileno=handle))

    async def _take(self, queue: asyncio.Queue[tuple[float, bytes]]) -> None:
        """Read what the adb server says, and put down when it shall arrive."""
        while True:
            raw = await adb_packets.read(self._reader)
            if raw.packet.command == OPEN:
                self._link.streams += 1
                if await self._serve(raw.packet):
                    continue
            elif raw.packet.second >= _OUR_STREAMS and raw.packet.command in _OF_STREAMS:
                continue
            await queue.put((time.monotonic() + self._link.delay_s, raw.wire))

    async def _carry_up(self, queue: asyncio.Queue[tuple[float, bytes]], writer: StreamWriter) -> None:
        while True:
            due, wire = await queue.get()
            if (wait := due - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            await self._send(writer, wire)

    async def _carry_down(self, reader: StreamReader) -> None:
        while True:
            raw = await adb_packets.read(reader)
            await self._send(self._writer, _fitting(raw))

    async def _serve(self, request: Packet) -> bool:
        """Answer what adbd does not. Returns False for everything else."""
        service, _, _ = request.data.rstrip(b"\0").decode(errors="replace").partition(":")
        if service not in {"reboot", "root"}:
            return False
        said = ""
        if service == "root":
            said = (
                "adbd is already running as root\n"
                if self._rooted
                else "adbd cannot run as root in production builds\n"
            )
        self._next_stream += 1
        ours, theirs = self._next_stream, request.first
        text = [Packet(WRTE, ours, theirs, said.encode())] if said else []
        for packet in (Packet(OKAY, ours, theirs), *text, Packet(CLSE, ours, theirs)):
            await self._send(self._writer, packet.encoded())
        if service == "reboot":
            await asyncio.to_thread(self._machine.ask, "reboot", seconds=str(REBOOT_S))
        return True

    async def _send(self, writer: StreamWriter, wire: bytes) -> None:
        """Write one packet, as well as the cable is."""
        lock = self._down if writer is self._writer else self._up
        async with lock:
            passed = self._link.allowed(len(wire))
            await self._trickle(writer, wire[:passed])
            if passed < len(wire):
                self._link.cut_after_bytes = None
                raise ConnectionAbortedError("the cable broke")

    async def _trickle(self, writer: StreamWriter, data: bytes) -> None:
        if self._link.bytes_per_s is None:
            writer.write(data)
            await writer.drain()
            return
        for start in range(0, len(data), _BITE):
            bite = data[start : start + _BITE]
            writer.write(bite)
            await writer.drain()
            await asyncio.sleep(len(bite) / (self._link.bytes_per_s or math.inf))


def _fitting(raw: Raw) -> bytes:
    """What adbd says, without the promises that this phone cannot keep."""
    if raw.packet.command != CNXN:
        return raw.wire
    return replace(raw.packet, data=adb_packets.without_features(raw.packet.data, _HIDDEN)).encoded()
