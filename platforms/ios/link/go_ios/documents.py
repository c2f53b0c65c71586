"""What go-ios prints, as values: JSON that comes from phones in part, so that nothing in it is taken for granted."""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from harness.core.errors import EnvironmentProblem
from platforms.ios.link.client import InstalledApp, PhoneProperties


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


Text = Annotated[str, BeforeValidator(_as_text)]
"""A text, where a phone may send something else."""


class GoIosDocument(BaseModel):
    """Base of what go-ios prints: unknown members are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PhoneList(GoIosDocument):
    """Answer of `ios list`."""

    deviceList: tuple[str, ...] | None = None  # noqa: N815 - go-ios's name


class LockdownValues(GoIosDocument):
    """Answer of `ios lockdown get`: what the phone says of itself. Its names are those of Apple's lockdown."""

    UniqueDeviceID: Text = ""
    DeviceName: Text = ""
    DeviceClass: Text = ""
    ProductType: Text = ""
    ProductVersion: Text = ""
    BuildVersion: Text = ""
    HardwareModel: Text = ""
    CPUArchitecture: Text = ""
    PasswordProtected: bool | None = None

    def properties(self, udid: str, *, developer_mode: bool | None) -> PhoneProperties:
        """Return them as properties."""
        return PhoneProperties(
            udid=udid,
            name=self.DeviceName,
            product=self.ProductType,
            version=self.ProductVersion,
            build=self.BuildVersion,
            model=self.HardwareModel,
            system="iPadOS" if self.DeviceClass == "iPad" else "iOS",
            abi=self.CPUArchitecture or "arm64",
            developer_mode=developer_mode,
        )


SWITCH: Final[TypeAdapter[bool | None]] = TypeAdapter(bool | None)
"""Answer of `ios lockdown get KEY` where it is on, off, or unknown."""


class ListedApp(GoIosDocument):
    """App in the answer of `ios apps`."""

    CFBundleIdentifier: Text = ""
    CFBundleVersion: Text = ""
    CFBundleDisplayName: Text = ""
    CFBundleName: Text = ""
    CFBundleExecutable: Text = ""

    def app(self) -> InstalledApp:
        """Return it as an installed app."""
        return InstalledApp(
            bundle=self.CFBundleIdentifier,
            version=self.CFBundleVersion,
            name=self.CFBundleDisplayName or self.CFBundleName,
            executable=self.CFBundleExecutable,
        )


class BatteryCheck(GoIosDocument):
    """Answer of `ios batterycheck`."""

    BatteryCurrentCapacity: float
    ExternalConnected: bool
    HasBattery: bool


class BatteryRegistry(GoIosDocument):
    """Answer of `ios batteryregistry`: values of the driver; go-ios prints 0 for those that the phone does not send.

    Attributes:
        Temperature: Hundredths of a degree Celsius.
        Voltage: Millivolts.
        AppleRawCurrentCapacity: Milliampere hours.
    """

    Temperature: int = 0
    Voltage: int = 0
    AppleRawCurrentCapacity: int = 0


class ListedProcess(GoIosDocument):
    """Process in the answer of `ios ps`."""

    Name: Text = ""
    RealAppName: Text = ""

    def is_called(self, name: str) -> bool:
        """Return whether this is the name of its program."""
        return name in (self.Name, self.RealAppName, self.RealAppName.rpartition("/")[2])


PROCESSES: Final = TypeAdapter(tuple[ListedProcess, ...] | None)
"""Answer of `ios ps`; null where the phone did not answer."""


class CrashList(GoIosDocument):
    """Answer of `ios crash ls`."""

    files: tuple[str, ...] | None = None


class ListedTest(GoIosDocument):
    """Test in the answer of `ios runtest`. The status of one that did not end is empty."""

    ClassName: Text = ""
    MethodName: Text = ""
    Status: Text = ""

    @property
    def name(self) -> str:
        """Its class and method."""
        return f"{self.ClassName}/{self.MethodName}"


class ListedSuite(GoIosDocument):
    """Suite in the answer of `ios runtest`."""

    TestCases: tuple[ListedTest, ...] | None = None


SUITES: Final = TypeAdapter(tuple[ListedSuite, ...] | None)
"""Answer of `ios runtest`."""


class LogEntry(GoIosDocument):
    """Line of `ios syslog --parse`; one that go-ios cannot parse has `msg` alone."""

    timestamp: Text = ""
    process: Text = ""
    pid: Text = ""
    level: Text = ""
    message: Text = ""
    msg: Text = ""

    @property
    def program(self) -> str:
        """Name of its process, without the library that wrote it: `Runner(CoreML)` is `Runner`."""
        return self.process.partition("(")[0]

    @property
    def text(self) -> str:
        """Return it as a line for people."""
        return self.msg or f"{self.timestamp} {self.process}[{self.pid}] <{self.level}>: {self.message}"


APPS: Final = TypeAdapter(tuple[ListedApp | None, ...] | None)
"""Answer of `ios apps`."""

AnyDocument = TypeVar("AnyDocument", bound=GoIosDocument)
AnyAnswer = TypeVar("AnyAnswer")


def parse_document(kind: type[AnyDocument], text: str, doing: str) -> AnyDocument:
    """Parse an answer.

    Raises:
        EnvironmentProblem: It is something else.
    """
    return parse_answer(TypeAdapter(kind), text, doing)


def parse_answer(kind: TypeAdapter[AnyAnswer], text: str, doing: str) -> AnyAnswer:
    """Parse an answer. Raises as `parse_document`."""
    try:
        return kind.validate_json(text)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False, include_context=False)
        raise EnvironmentProblem(
            f"the answer of go-ios cannot be read while {doing}: {details[0]['msg']}",
            hint="is it a version of go-ios that is supported?",
        ) from error
