"""lockdownd of a stand-in iPhone: values, pairing, sessions by TLS, and the start of services."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from harness.testing.phones.ios.usbmux.connection import ServiceConnection
from harness.testing.phones.ios.usbmux.pairing import Pairing
from harness.testing.phones.ios.usbmux.services import SERVICES

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone

PORT: Final = 62078
"""Port of lockdown on every iPhone."""
_WITHOUT_SESSION: Final = frozenset(
    {"DeviceName", "DevicePublicKey", "ProductType", "ProductVersion", "UniqueDeviceID", "WiFiAddress"}
)
"""Values that a computer reads before it is trusted."""
_FIRST_WITH_DEVELOPER_MODE: Final = 16


@dataclass(slots=True)
class _Lockdown:
    connection: ServiceConnection
    phone: StandInIPhone
    host_id: str = ""
    session: str = ""
    handlers: dict[str, Callable[[dict[str, object]], dict[str, object]]] = field(init=False)

    def __post_init__(self) -> None:
        self.handlers = {
            "QueryType": lambda _: {"Type": "com.apple.mobile.lockdown"},
            "GetValue": self.read_value,
            "Pair": self.pair,
            "ValidatePair": self.validate,
            "Unpair": self.unpair,
            "StartSession": self.start_session,
            "StopSession": self.stop_session,
            "StartService": self.start_service,
        }

    def answer(self, request: dict[str, object]) -> None:
        name = str(request.get("Request", ""))
        handler = self.handlers.get(name)
        reply = handler(request) if handler is not None else {"Error": "InvalidRequest"}
        result = "Failure" if "Error" in reply else "Success"
        self.connection.send_plist({"Request": name, "Result": result, **reply})
        if name == "StartSession" and self.session:
            context = self.phone.pairings.tls_context(self.host_id)
            if context is not None:
                self.connection.start_tls(context)

    def read_value(self, request: dict[str, object]) -> dict[str, object]:
        key, domain = str(request.get("Key", "")), str(request.get("Domain", ""))
        values = domain_values(self.phone, domain)
        if not self.session:
            if domain or (key and key in values and key not in _WITHOUT_SESSION):
                return {"Key": key, "Error": "GetProhibited"}
            values = {name: value for name, value in values.items() if name in _WITHOUT_SESSION}
        reply: dict[str, object] = {"Domain": domain} if domain else {}
        if not key:
            return {**reply, "Value": values}
        if key not in values:
            return {**reply, "Key": key, "Error": "MissingValue"}
        return {**reply, "Key": key, "Value": values[key]}

    def pair(self, request: dict[str, object]) -> dict[str, object]:
        """Ask the phone's user whether to trust this computer."""
        if error := self.refuse_pairing():
            return {"Error": error}
        record = request.get("PairRecord")
        if not isinstance(record, dict):
            return {"Error": "InvalidPairRecord"}
        host_id, host, device = (record.get(key) for key in ("HostID", "HostCertificate", "DeviceCertificate"))
        if not isinstance(host_id, str) or not isinstance(host, bytes) or not isinstance(device, bytes):
            return {"Error": "InvalidPairRecord"}
        try:
            self.phone.pairings.add(Pairing(host_id, host, device))
        except ValueError:
            return {"Error": "InvalidPairRecord"}
        return {"EscrowBag": uuid.uuid4().bytes * 2}

    def refuse_pairing(self) -> str:
        """Return the error that says what the phone's user did or has to do; empty if this computer is trusted."""
        conditions = self.phone.conditions
        if conditions.locked:
            return "PasswordProtected"
        if conditions.trusted is None:
            return "PairingDialogResponsePending"
        return "" if conditions.trusted else "UserDeniedPairing"

    def validate(self, request: dict[str, object]) -> dict[str, object]:
        record = request.get("PairRecord")
        host_id = record.get("HostID") if isinstance(record, dict) else None
        return {} if isinstance(host_id, str) and self.phone.pairings.includes(host_id) else {"Error": "InvalidHostID"}

    def unpair(self, request: dict[str, object]) -> dict[str, object]:
        if reply := self.validate(request):
            return reply
        self.phone.pairings.clear()
        return {}

    def start_session(self, request: dict[str, object]) -> dict[str, object]:
        if self.session:
            return {"Error": "SessionActive"}
        host_id = str(request.get("HostID", ""))
        if self.phone.conditions.trusted is not True:
            self.phone.pairings.clear()
        if not self.phone.pairings.includes(host_id):
            return {"Error": "InvalidHostID"}
        self.host_id, self.session = host_id, str(uuid.uuid4()).upper()
        return {"SessionID": self.session, "EnableSessionSSL": True}

    def stop_session(self, request: dict[str, object]) -> dict[str, object]:
        return {} if str(request.get("SessionID", "")) == self.session else {"Error": "InvalidSessionID"}

    def start_service(self, request: dict[str, object]) -> dict[str, object]:
        name = str(request.get("Service", ""))
        if not self.session:
            return {"Service": name, "Error": "SessionInactive"}
        if error := refuse_service(self.phone, name):
            return {"Service": name, "Error": error}
        port = self.phone.ports.open(name, self.host_id)
        return {"Service": name, "Port": port, "EnableServiceSSL": SERVICES[name].needs_tls}


def serve_lockdown(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Answer requests of a client until it hangs up."""
    lockdown = _Lockdown(connection, phone)
    while True:
        lockdown.answer(connection.read_plist())


def refuse_service(phone: StandInIPhone, name: str) -> str:
    """Return lockdown's error if it does not start this service now; empty if it does."""
    entry = SERVICES.get(name)
    if entry is None or (entry.developer and (phone.model.has_tunnel or not phone.conditions.developer_image)):
        return "InvalidService"
    if phone.conditions.locked:
        return "PasswordProtected"
    return ""


def domain_values(phone: StandInIPhone, domain: str) -> dict[str, object]:
    """Return the values of lockdown in a domain; empty for one that the phone does not have."""
    match domain:
        case "":
            return device_values(phone)
        case "com.apple.mobile.battery":
            return battery_values(phone)
        case "com.apple.security.mac.amfi" if int(phone.model.version.partition(".")[0]) >= _FIRST_WITH_DEVELOPER_MODE:
            return {"DeveloperModeStatus": phone.conditions.developer_mode}
        case _:
            return {}


def device_values(phone: StandInIPhone) -> dict[str, object]:
    """Return the values of lockdown without a domain."""
    model = phone.model
    return {
        "ActivationState": "Activated",
        "BuildVersion": model.build,
        "CPUArchitecture": model.abi,
        "DeviceClass": "iPhone",
        "DeviceName": model.name,
        "DevicePublicKey": phone.pairings.public_key,
        "HardwareModel": model.model,
        "HostAttached": True,
        "PasswordProtected": phone.conditions.locked,
        "ProductName": "iPhone OS",
        "ProductType": model.product,
        "ProductVersion": model.version,
        "ProtocolVersion": "2",
        "SerialNumber": phone.serial_number,
        "TimeIntervalSince1970": time.time(),
        "TimeZone": "Etc/UTC",
        "TimeZoneOffsetFromUTC": 0.0,
        "TrustedHostAttached": True,
        "UniqueChipID": int(model.udid.rpartition("-")[2], 16),
        "UniqueDeviceID": model.udid,
        "WiFiAddress": phone.wifi_address,
    }


def battery_values(phone: StandInIPhone) -> dict[str, object]:
    """Return the values of lockdown in the domain of the battery."""
    conditions = phone.conditions
    return {
        "BatteryCurrentCapacity": round(conditions.battery_percent),
        "BatteryIsCharging": conditions.charging and conditions.battery_percent < 100,
        "ExternalChargeCapable": conditions.charging,
        "ExternalConnected": conditions.charging,
        "FullyCharged": conditions.battery_percent >= 100,
        "GasGaugeCapability": True,
        "HasBattery": True,
    }
