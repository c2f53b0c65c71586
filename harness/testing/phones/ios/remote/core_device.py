"""Requests and answers of CoreDevice's services, which are dictionaries of RemoteXPC."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.remote import xpc
from harness.testing.phones.ios.remote.connection import REPLIES, RemoteXpcConnection
from harness.testing.phones.ios.remote.discovery import XpcSession
from harness.testing.phones.ios.remote.xpc import XpcDictionary, XpcMessage, XpcObject

_REPEATED: Final = (
    "CoreDevice.CoreDeviceDDIProtocolVersion",
    "CoreDevice.coreDeviceVersion",
    "CoreDevice.deviceIdentifier",
    "CoreDevice.featureIdentifier",
    "CoreDevice.invocationIdentifier",
)
"""Members of a request that its answer repeats."""
_ERROR_DOMAIN: Final = "com.apple.dt.CoreDeviceError"


class CoreDeviceRefusal(Exception):
    """A request that the phone refuses; the message is its description of the error.

    Attributes:
        code: Number of the error in CoreDevice's domain.
    """

    def __init__(self, description: str, code: int = 1) -> None:
        super().__init__(description)
        self.code = code


@dataclass(frozen=True, slots=True)
class FeatureInput:
    """What a request gives to a feature."""

    members: XpcDictionary

    def find(self, *path: str) -> XpcObject:
        """Return a member by the keys that lead to it; None if it is missing."""
        content: XpcObject = self.members
        for key in path:
            content = content.get(key) if isinstance(content, Mapping) else None
        return content

    def text(self, *path: str) -> str:
        """Return a text.

        Raises:
            CoreDeviceRefusal: It is missing, or something else.
        """
        content = self.find(*path)
        if not isinstance(content, str):
            raise CoreDeviceRefusal(f"{'.'.join(path)} is no text")
        return content

    def number(self, *path: str) -> int:
        """Return an integer.

        Raises:
            CoreDeviceRefusal: It is missing, or something else.
        """
        content = self.find(*path)
        if not isinstance(content, int) or isinstance(content, bool):
            raise CoreDeviceRefusal(f"{'.'.join(path)} is no integer")
        return content

    def texts(self, *path: str) -> tuple[str, ...]:
        """Return a list of texts; none if it is missing.

        Raises:
            CoreDeviceRefusal: It is something else.
        """
        content = self.find(*path)
        members = () if content is None else content if isinstance(content, list) else (None,)
        texts = tuple(member for member in members if isinstance(member, str))
        if len(texts) != len(members):
            raise CoreDeviceRefusal(f"{'.'.join(path)} is no list of texts")
        return texts

    def variables(self, *path: str) -> dict[str, str]:
        """Return a dictionary of texts; an empty one if it is missing.

        Raises:
            CoreDeviceRefusal: It is something else.
        """
        content = self.find(*path)
        members: XpcDictionary = {} if content is None else content if isinstance(content, Mapping) else {"": None}
        texts = {key: member for key, member in members.items() if isinstance(member, str)}
        if len(texts) != len(members):
            raise CoreDeviceRefusal(f"{'.'.join(path)} is no dictionary of texts")
        return texts


CoreDeviceFeature = Callable[[StandInIPhone, FeatureInput], XpcDictionary]
"""Carries a request out and returns its output; may raise `CoreDeviceRefusal`."""


def serve_features(features: Mapping[str, CoreDeviceFeature]) -> XpcSession:
    """Return a session that answers requests by the features that they name."""

    def serve(connection: RemoteXpcConnection, phone: StandInIPhone) -> None:
        while True:
            request = connection.receive()
            connection.send(REPLIES, _answer(features, phone, request), number=request.number, flags=xpc.REPLY)

    return serve


def _answer(features: Mapping[str, CoreDeviceFeature], phone: StandInIPhone, request: XpcMessage) -> XpcDictionary:
    body = request.body or {}
    repeated: dict[str, XpcObject] = {key: body[key] for key in _REPEATED if key in body}
    members = body.get("CoreDevice.input")
    try:
        feature = _find_feature(features, body.get("CoreDevice.featureIdentifier"))
        output = feature(phone, FeatureInput(members if isinstance(members, Mapping) else {}))
    except CoreDeviceRefusal as refusal:
        user_info = {"NSLocalizedDescription": str(refusal).replace("\0", "\\0")}
        return repeated | {"CoreDevice.error": {"code": refusal.code, "domain": _ERROR_DOMAIN, "userInfo": user_info}}
    return repeated | {"CoreDevice.output": output}


def _find_feature(features: Mapping[str, CoreDeviceFeature], name: XpcObject) -> CoreDeviceFeature:
    if not isinstance(name, str) or name not in features:
        raise CoreDeviceRefusal(f"the feature {name!r} is not supported", code=1001)
    return features[name]
