"""A connection of DTX: its channels, and calls in both directions."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from harness.testing.phones.ios.developer.archives import (
    ArchivedObject,
    ArchiveValue,
    MalformedArchive,
    archive,
    unarchive,
)
from harness.testing.phones.ios.developer.messages import (
    Argument,
    DtxMessage,
    DtxMessageReader,
    MalformedMessage,
    MessageKind,
    encode_message,
)
from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection

_REQUEST_CHANNEL: Final = "_requestChannelWithCode:identifier:"
_PUBLISH: Final = "_notifyOfPublishedCapabilities:"
_CAPABILITIES: Final = {"com.apple.private.DTXBlockCompression": 0, "com.apple.private.DTXConnection": 1}
_DTX_DOMAIN: Final = "DTXMessage"
_MOST_CHANNELS: Final = 256


class RefusedCall(Exception):
    """A call that a service refuses, as the phone says it.

    Args:
        domain: Domain of the error.
        code: Its number in the domain.
        description: What a person reads.
    """

    def __init__(self, domain: str, code: int, description: str) -> None:
        super().__init__(description)
        self.error = ArchivedObject(
            "NSError",
            {"NSDomain": domain, "NSCode": code, "NSUserInfo": {"NSLocalizedDescription": description}},
        )


@dataclass(frozen=True, slots=True)
class MethodCall:
    """A call of the client.

    Attributes:
        selector: Name of the method.
        arguments: Its arguments.
    """

    selector: str
    arguments: Sequence[ArchiveValue]

    def text(self, index: int) -> str:
        """Return an argument that is text; raise `RefusedCall` if it is none."""
        value = self._argument(index)
        if not isinstance(value, str):
            raise self._mismatch(index, "text")
        return value

    def number(self, index: int) -> int:
        """Return an argument that is a whole number; raise `RefusedCall` if it is none."""
        value = self._argument(index)
        if not isinstance(value, int):
            raise self._mismatch(index, "a whole number")
        return value

    def texts(self, index: int) -> tuple[str, ...]:
        """Return an argument that is a list of texts; raise `RefusedCall` if it is none."""
        value = self._argument(index)
        items = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else None
        if items is None or not all(isinstance(item, str) for item in items):
            raise self._mismatch(index, "a list of texts")
        return tuple(map(str, items))

    def mapping(self, index: int) -> Mapping[str, ArchiveValue]:
        """Return an argument that is a dictionary; raise `RefusedCall` if it is none."""
        value = self._argument(index)
        if not isinstance(value, Mapping):
            raise self._mismatch(index, "a dictionary")
        return value

    def _argument(self, index: int) -> ArchiveValue:
        if index >= len(self.arguments):
            raise RefusedCall(_DTX_DOMAIN, 1, f"{self.selector} with {len(self.arguments)} arguments")
        return self.arguments[index]

    def _mismatch(self, index: int, wanted: str) -> RefusedCall:
        return RefusedCall(_DTX_DOMAIN, 1, f"argument {index} of {self.selector} is not {wanted}")


CallHandler: TypeAlias = Callable[[MethodCall], ArchiveValue]
"""Answers calls of a channel; None is an answer without a value. It may raise `RefusedCall`."""


def refuse_selector(call: MethodCall) -> RefusedCall:
    """Return the refusal of a method that the service does not have."""
    return RefusedCall(_DTX_DOMAIN, 1, f"Unable to invoke -[{call.selector}]: the target does not respond to it")


class DtxConnection:
    """Connection of DTX, as its server. One thread calls `serve`; any thread may call `call`.

    Args:
        connection: The connection.
        services: Channels that the client may open, by identifier: what answers its calls, made when it opens one.
    """

    def __init__(self, connection: ServiceConnection, services: Mapping[str, Callable[[], CallHandler]]) -> None:
        self._connection = connection
        self._services = services
        self._channels: dict[int, CallHandler] = {}
        self._identifiers = itertools.count(1)
        self._waiting: dict[tuple[int, int], _Reply] = {}
        self._lock = threading.Lock()

    def serve(self) -> None:
        """Answer calls until the connection ends.

        Raises:
            ConnectionEnded: It ended, or the client sent what is no message.
        """
        reader = DtxMessageReader(self._connection.recv_exactly)
        self.call(0, _PUBLISH, _CAPABILITIES)
        try:
            while True:
                self._take(reader.read())
        except (MalformedMessage, MalformedArchive) as error:
            raise ConnectionEnded(str(error)) from error
        finally:
            with self._lock:
                waiting, self._waiting = self._waiting, {}
            for reply in waiting.values():
                reply.arrived.set()

    def call(self, channel: int, selector: str, *arguments: ArchiveValue, opened: int | None = None) -> None:
        """Call a method of the client, without waiting for it to return.

        Args:
            channel: Channel of the call.
            selector: Name of the method.
            arguments: Its arguments.
            opened: Code of the channel that is opened by this call: it is no archive but a number.

        Raises:
            ConnectionEnded: The connection ended.
        """
        self._send_call(channel, selector, arguments, opened, expects_reply=False)

    def ask(self, channel: int, selector: str, *arguments: ArchiveValue, timeout_s: float) -> ArchiveValue:
        """Call a method of the client, and return its reply. Not from the thread that serves.

        Raises:
            ConnectionEnded: The connection ended, or no reply came in time.
        """
        reply = self._send_call(channel, selector, arguments, None, expects_reply=True)
        if not reply.arrived.wait(timeout_s) or reply.message is None:
            raise ConnectionEnded(f"no reply to {selector}")
        return unarchive(reply.message.payload) if reply.message.payload else None

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _send_call(
        self,
        channel: int,
        selector: str,
        arguments: Sequence[ArchiveValue],
        opened: int | None,
        *,
        expects_reply: bool,
    ) -> _Reply:
        identifier, reply = next(self._identifiers), _Reply()
        if expects_reply:
            with self._lock:
                self._waiting[channel, identifier] = reply
        code: tuple[Argument, ...] = () if opened is None else (opened,)
        packed = code + tuple(map(archive, arguments))
        kind = MessageKind.CALL
        message = DtxMessage(kind, channel, identifier, 0, expects_reply, packed, archive(selector))
        self._connection.send(encode_message(message))
        return reply

    def _take(self, message: DtxMessage) -> None:
        if message.conversation % 2:
            with self._lock:
                reply = self._waiting.pop((message.channel, message.identifier), None)
            if reply is not None:
                reply.message = message
                reply.arrived.set()
        elif message.kind is MessageKind.CALL:
            self._answer(message)

    def _answer(self, message: DtxMessage) -> None:
        try:
            call = _read_call(message)
            value = self._open(call) if message.channel == 0 else self._dispatch(message.channel, call)
            reply = MessageKind.ACKNOWLEDGEMENT if value is None else MessageKind.REPLY
        except RefusedCall as refusal:
            value, reply = refusal.error, MessageKind.ERROR
        if message.expects_reply:
            payload = b"" if value is None else archive(value)
            number = message.conversation + 1
            answer = DtxMessage(reply, message.channel, message.identifier, number, payload=payload)
            self._connection.send(encode_message(answer))

    def _open(self, call: MethodCall) -> ArchiveValue:
        """Open a channel; other calls of the connection itself are taken note of."""
        if call.selector != _REQUEST_CHANNEL:
            return None
        code, identifier = call.number(0), call.text(1)
        factory = self._services.get(identifier)
        if factory is None or code <= 0 or len(self._channels) >= _MOST_CHANNELS:
            raise RefusedCall(_DTX_DOMAIN, 2, f"no channel {identifier}")
        self._channels[code] = factory()
        return None

    def _dispatch(self, channel: int, call: MethodCall) -> ArchiveValue:
        # a channel that this side opened has a negative number on its way here
        answer = self._channels.get(abs(channel))
        if answer is None:
            raise RefusedCall(_DTX_DOMAIN, 2, f"channel {channel} was not opened")
        return answer(call)


class _Reply:
    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.message: DtxMessage | None = None


def _read_call(message: DtxMessage) -> MethodCall:
    selector = unarchive(message.payload) if message.payload else None
    if not isinstance(selector, str):
        raise MalformedMessage("a call without a selector")
    return MethodCall(selector, tuple(_read_arguments(message.arguments)))


def _read_arguments(arguments: Sequence[Argument]) -> Iterator[ArchiveValue]:
    for argument in arguments:
        yield unarchive(argument) if isinstance(argument, bytes) else argument
