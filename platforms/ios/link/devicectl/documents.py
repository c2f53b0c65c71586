"""Results of devicectl, as values. Members are those of Xcode 15 to 27 (jsonVersion 2 to 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from harness.core.errors import EnvironmentProblem
from platforms.ios.link.client import InstalledApp, ListedIPhone, PhoneProperties

_CONNECTIONS: Final = {"wired": "usb", "localNetwork": "network"}
_MODES: Final = {"enabled": True, "disabled": False}


def _as_text(value: object) -> str:
    """Return a text, or that of `{"stringValue": "27.0"}` and `{"enabled": {...}}`, as jsonVersion 5 has them."""
    if isinstance(value, Mapping):
        text = value.get("stringValue", next(iter(value), ""))
        return text if isinstance(text, str) else ""
    return value if isinstance(value, str) else ""


LenientText = Annotated[str, BeforeValidator(_as_text)]
"""A text; empty where devicectl has something else."""


class DevicectlDocument(BaseModel):
    """Base of the results of devicectl: unknown members are ignored, and those that are null count as missing."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_nulls(cls, document: object) -> object:
        if not isinstance(document, Mapping):
            return document
        return {name: value for name, value in document.items() if value is not None}


class ConnectionSection(DevicectlDocument):
    """Connection of a phone: `pairingState` is `paired`, `unpaired` or `unsupported` (before iOS 17)."""

    pairing_state: LenientText = ""
    transport_type: LenientText = ""
    tunnel_state: LenientText = ""


class DeviceSection(DevicectlDocument):
    """State and system of a phone."""

    name: LenientText = ""
    os_version_number: LenientText = ""
    os_build_update: LenientText = ""
    developer_mode_status: LenientText = ""


class CpuType(DevicectlDocument):
    """Architecture."""

    name: LenientText = ""


class HardwareSection(DevicectlDocument):
    """Hardware of a phone: `reality` is `physical` or `simulated`."""

    udid: LenientText = ""
    product_type: LenientText = ""
    hardware_model: LenientText = ""
    platform: LenientText = ""
    device_type: LenientText = ""
    reality: LenientText = ""
    cpu_type: CpuType = CpuType()


class PropertySections(DevicectlDocument):
    """Sections of jsonVersion 5, which hold what the three older ones held."""

    connection: ConnectionSection = ConnectionSection()
    hardware: HardwareSection = HardwareSection()
    software: DeviceSection = DeviceSection()
    state: DeviceSection = DeviceSection()


class DeviceRecord(DevicectlDocument):
    """A phone in the results of `list devices` and `device info details`."""

    connection_properties: ConnectionSection = ConnectionSection()
    device_properties: DeviceSection = DeviceSection()
    hardware_properties: HardwareSection = HardwareSection()
    properties: PropertySections = PropertySections()

    @property
    def udid(self) -> str:
        """Its UDID."""
        return self.properties.hardware.udid or self.hardware_properties.udid

    @property
    def pairing(self) -> str:
        """Whether it is paired: `paired`, `unpaired` or `unsupported`; empty if unknown."""
        return self.properties.connection.pairing_state or self.connection_properties.pairing_state

    @property
    def developer_mode(self) -> bool | None:
        """Whether developer mode is on; None if unknown."""
        status = self.properties.state.developer_mode_status or self.device_properties.developer_mode_status
        return _MODES.get(status)

    @property
    def is_connected_phone(self) -> bool:
        """Whether it is an iPhone or iPad at hand: Xcode 27 lists simulators too, and all list phones of the past."""
        platform = self.properties.hardware.platform or self.hardware_properties.platform
        reality = self.properties.hardware.reality or self.hardware_properties.reality
        return platform in ("iOS", "iPadOS", "") and reality != "simulated" and bool(self._transport)

    @property
    def _transport(self) -> str:
        return self.properties.connection.transport_type or self.connection_properties.transport_type

    def listed(self) -> ListedIPhone:
        """Return it as a phone of a list."""
        return ListedIPhone(self.udid, _CONNECTIONS.get(self._transport, ""))

    def describe(self, udid: str) -> PhoneProperties:
        """Return its properties."""
        hardware, older = self.properties.hardware, self.hardware_properties
        software, state = self.properties.software, self.properties.state
        kind = hardware.device_type or older.device_type
        return PhoneProperties(
            udid=udid,
            name=state.name or self.device_properties.name,
            product=hardware.product_type or older.product_type,
            version=software.os_version_number or self.device_properties.os_version_number,
            build=software.os_build_update or self.device_properties.os_build_update,
            model=hardware.hardware_model or older.hardware_model,
            system="iPadOS" if kind == "iPad" else "iOS",
            abi=hardware.cpu_type.name or older.cpu_type.name or "arm64",
            developer_mode=self.developer_mode,
        )


class DeviceListResult(DevicectlDocument):
    """Result of `list devices`."""

    devices: tuple[DeviceRecord, ...]


class AppRecord(DevicectlDocument):
    """An app in the result of `device info apps`; `url` is that of its bundle."""

    bundle_identifier: str
    bundle_version: LenientText = ""
    name: LenientText = ""
    url: LenientText = ""
    default_app: bool = False
    hidden: bool = False
    internal_app: bool = False

    def app(self) -> InstalledApp:
        """Return it as an installed app. devicectl does not tell the name of its program."""
        return InstalledApp(self.bundle_identifier, self.bundle_version, self.name)


class AppsResult(DevicectlDocument):
    """Result of `device info apps`."""

    apps: tuple[AppRecord, ...]


class FileResources(DevicectlDocument):
    """What a file is."""

    is_directory: bool = False


class FileRecord(DevicectlDocument):
    """A file in the result of `device info files`; its path is relative to the folder that was asked for."""

    relative_path: str
    resources: FileResources = FileResources()


class FilesResult(DevicectlDocument):
    """Result of `device info files`."""

    files: tuple[FileRecord, ...]


class ProcessRecord(DevicectlDocument):
    """A process; `executable` is a URL, and missing for some of the system."""

    process_identifier: int
    executable: LenientText = ""

    @property
    def path(self) -> str:
        """Path of its program on the phone."""
        return path_of(self.executable)


class ProcessesResult(DevicectlDocument):
    """Result of `device info processes`."""

    running_processes: tuple[ProcessRecord, ...]


class AppLaunchOptions(DevicectlDocument):
    """What an app was started with."""

    arguments: tuple[str, ...] | None = None


class LaunchResult(DevicectlDocument):
    """Result of `device process launch`."""

    process: ProcessRecord
    launch_options: AppLaunchOptions = AppLaunchOptions()


class LockResult(DevicectlDocument):
    """Result of `device info lockState`."""

    passcode_required: bool


class AnyResult(DevicectlDocument):
    """Result of a command that is asked nothing."""


AnyDevicectlDocument = TypeVar("AnyDevicectlDocument", bound=DevicectlDocument)


def parse_result(kind: type[AnyDevicectlDocument], result: object, doing: str) -> AnyDevicectlDocument:
    """Return a result as a value.

    Raises:
        EnvironmentProblem: A member is missing, or is something else; it is named.
    """
    try:
        return kind.model_validate(result)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False, include_context=False)[0]
        member = ".".join(str(part) for part in ("result", *details["loc"]))
        raise EnvironmentProblem(
            f"the answer of devicectl cannot be read while {doing}: {member}: {details['msg']}",
            hint="is it a version of Xcode that is supported (15 to 27)?",
        ) from error


def path_of(url: str) -> str:
    """Return the path that a URL of devicectl names, without a slash at its end: `file:///a/My%20App.app/`."""
    return unquote(urlsplit(url).path).rstrip("/") if url.startswith("file:") else url.rstrip("/")
