"""One stand-in phone: what a test does to it, and sees of it."""

from __future__ import annotations

from harness import shell
from harness.testing.phones.android import adb_server
from harness.testing.phones.android.container import Machine
from harness.testing.phones.android.proxy import Cable
from harness.testing.phones.events import Events
from harness.testing.phones.link_faults import Link


class StandInPhone:
    """A stand-in phone. Any thread may use it.

    Args:
        machine: The phone without its cable.
        cable: The way to it.
        link: What is wrong with the way.
        events: The loop in which the cable lives.
        port: Port of the adb server.
    """

    def __init__(self, machine: Machine, cable: Cable, link: Link, events: Events, port: int) -> None:
        self._machine = machine
        self._cable = cable
        self._link = link
        self._events = events
        self._port = port
        self.serial = f"127.0.0.1:{cable.port}"

    def is_ready(self) -> bool:
        """Whether the adb server lists it as `device`, and Android says that it has booted."""
        try:
            listed = adb_server.states(self._port).get(self.serial) == "device"
        except OSError:
            return False
        return listed and self.exists("/services/properties/sys.boot_completed")

    def wait_until_ready(self, timeout_s: float = 30.0) -> None:
        """Wait until it is ready, after whatever was done to it.

        Raises:
            TimeoutError: It is not, in time.
        """
        if not shell.poll_until(self.is_ready, timeout_s):
            raise TimeoutError(f"{self.serial} is not ready after {timeout_s:g} s")

    def read(self, path: str) -> str:
        """The text of a file of the phone."""
        return self._machine.read(path).decode()

    def write(self, path: str, text: str) -> None:
        """Replace a file of the phone, whatever its permissions."""
        self._machine.write(path, text.encode())

    def exists(self, path: str) -> bool:
        """Whether the phone has such a file or folder."""
        return self._machine.exists(path)

    def set_battery(
        self,
        *,
        level: int | None = None,
        temperature_c: float | None = None,
        plugged: bool | None = None,
        charge_uah: int | None = None,
        voltage_mv: int | None = None,
    ) -> None:
        """Change what the battery is and tells; what is not given stays.

        Args:
            level: Charge in percent.
            temperature_c: Degrees Celsius.
            plugged: Whether it hangs on USB power, and charges.
            charge_uah: Charge in microampere hours.
            voltage_mv: Millivolts.
        """
        self._put("battery/level", level, "power_supply/battery/capacity", 1)
        self._put("battery/charge_counter", charge_uah, "power_supply/battery/charge_counter", 1)
        self._put("battery/voltage", voltage_mv, "power_supply/battery/voltage_now", 1000)
        if temperature_c is not None:
            self._put("battery/temperature", round(temperature_c * 10), "power_supply/battery/temp", 1)
            self.write("/sys/class/thermal/thermal_zone2/temp", f"{round(temperature_c * 1000)}\n")
        if plugged is not None:
            self._put("battery/plugged", 2 if plugged else 0)
            self._put("battery/status", 2 if plugged else 3)
            self.write("/sys/class/power_supply/battery/status", "Charging\n" if plugged else "Discharging\n")

    def set_thermal(
        self, *, status: int | None = None, skin_c: float | None = None, cpu_c: float | None = None
    ) -> None:
        """Change how warm it is; what is not given stays.

        Args:
            status: Android's `THERMAL_STATUS_*`, 0 to 6.
            skin_c: Temperature of the skin, degrees Celsius.
            cpu_c: Temperature of the processor, degrees Celsius.
        """
        if status is not None:
            self._put("thermal/status", status)
        for name, value, zone in (("skin_c", skin_c, 0), ("cpu_c", cpu_c, 1)):
            if value is not None:
                self.write(f"/services/thermal/{name}", f"{value:.1f}")
                self.write(f"/sys/class/thermal/thermal_zone{zone}/temp", f"{round(value * 1000)}\n")

    def unplug(self) -> None:
        """Pull the cable."""
        self._events.do(self._cable.unplug())

    def plug(self) -> None:
        """Put the cable back, and let the adb server look."""
        self._events.do(self._cable.plug())
        adb_server.connect(self._port, self.serial)

    def freeze(self) -> None:
        """Hang: adbd is stopped, the connection stays."""
        self._machine.ask("freeze")

    def thaw(self) -> None:
        """Hang no more."""
        self._machine.ask("thaw")

    def reboot(self, seconds: float = 1.0) -> None:
        """Switch off now, and on after some seconds."""
        self._machine.ask("reboot", seconds=str(seconds))

    def fill(self, bytes_left: int) -> None:
        """Leave so much space on /data."""
        self._machine.ask("fill", bytes_left=str(bytes_left))

    def cut_connection_after(self, size: int | None) -> None:
        """Let the connection break, once, after so many more bytes in both directions; None lets it be.

        The phone stays plugged in, so the adb server finds it again.
        """
        self._link.cut_after_bytes = size

    def limit_rate(self, bytes_per_s: float | None) -> None:
        """Let no more through each way; None for as much as can."""
        self._link.bytes_per_s = bytes_per_s

    def set_latency(self, seconds: float) -> None:
        """Let a round trip cost so much."""
        self._link.delay_s = seconds

    @property
    def round_trips(self) -> int:
        """How many streams the adb server opened."""
        return self._link.streams

    @round_trips.setter
    def round_trips(self, count: int) -> None:
        self._link.streams = count

    def authorise(self) -> None:
        """Allow debugging from this machine."""
        self._link.authorised = True

    def unauthorise(self) -> None:
        """Forget that this machine was allowed."""
        self._link.authorised = False
        self._events.do(self._cable.drop())

    def _put(self, service: str, value: int | None, kernel: str | None = None, scale: int = 1) -> None:
        if value is None:
            return
        self.write(f"/services/{service}", str(value))
        if kernel is not None:
            self.write(f"/sys/class/{kernel}", f"{value * scale}\n")
