"""A stand-in phone's cable: it listens where the adb server connects, and carries packets to adbd, well or badly."""

from __future__ import annotations

import asyncio
import contextlib
import errno
from asyncio import StreamReader, StreamWriter
from typing import Final

from harness.testing.phones import ports
from harness.testing.phones.android.connection import Conversation
from harness.testing.phones.android.container import Machine
from harness.testing.phones.link_faults import Link

_LOST: Final = (asyncio.IncompleteReadError, ConnectionError, OSError)
"""What reading and writing raise when one side went away."""


class Cable:
    """The way to one phone. Everything here happens in one event loop.

    Args:
        machine: The phone.
        link: What is wrong with the way.
        rooted: Whether adbd is root.
    """

    def __init__(self, machine: Machine, link: Link, *, rooted: bool) -> None:
        self.port = 0
        self._machine = machine
        self._link = link
        self._rooted = rooted
        self._server: asyncio.Server | None = None
        self._conversations: set[asyncio.Task[None]] = set()

    async def plug(self) -> None:
        """Listen, always on the same port.

        Raises:
            OSError: Another took it meanwhile.
        """
        while self._server is None:
            port = self.port or ports.chosen()
            try:
                self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)
            except OSError as error:
                if self.port or error.errno != errno.EADDRINUSE:
                    raise
            else:
                self.port = port

    async def unplug(self) -> None:
        """Refuse connections, and break those that there are."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await self.drop()

    async def drop(self) -> None:
        """Break the connections that there are."""
        conversations = tuple(self._conversations)
        for task in conversations:
            task.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)

    def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._conversations.add(task)
        task.add_done_callback(self._conversations.discard)

    async def _converse(self, reader: StreamReader, writer: StreamWriter) -> None:
        conversation = Conversation(self._machine, self._link, reader, writer, rooted=self._rooted)
        try:
            with contextlib.suppress(*_LOST):
                await conversation.run()
        finally:
            conversation.close()
