"""One stand-in phone: what a test does to it, and what it sees of it."""

from __future__ import annotations

from typing import Final

from harness import shell
from harness.testing.phones.android import adb_server
from harness.testing.phones.android.container import PhoneContainer
from harness.testing.phones.android.proxy import Proxy

_SUSPENDS: Final = "/sys/power/suspend_stats/success"


class StandInPhone:
    """A stand-in phone. Any thread may use it.

    Args:
        container: The phone without its cable.
        proxy: Its cable.
        server_port: Port of the adb server.
    """

    def __init__(self, container: PhoneContainer, proxy: Proxy, server_port: int) -> None:
        self._container = container
        self._proxy = proxy
        self._server_port = server_port
        self.serial = f"127.0.0.1:{proxy.port}"

    def is_ready(self) -> bool:
        """Return whether the adb server lists it as `device`, and Android has booted."""
        try:
            listed = adb_server.list_states(self._server_port).get(self.serial) == "device"
        except OSError:
            return False
        return listed and self.exists("/services/properties/sys.boot_completed")

    def wait_until_ready(self, timeout_s: float = 30.0) -> None:
        """Wait until it is ready, after whatever was done to it.

        Raises:
            TimeoutError: It is not ready in time.
        """
        if not shell.poll_until(self.is_ready, timeout_s):
            raise TimeoutError(f"{self.serial} is not ready after {timeout_s:g} s")

    def read(self, path: str) -> str:
        """Return the text of a file of the phone."""
        return self._container.read(path).decode()

    def write(self, path: str, text: str) -> None:
        """Replace a file of the phone, whatever its permissions."""
        self._container.write(path, text.encode())

    def exists(self, path: str) -> bool:
        """Return whether the phone has such a file or folder."""
        return self._container.exists(path)

    def set_battery(
        self,
        *,
        level: int | None = None,
        temperature_c: float | None = None,
        plugged: bool | None = None,
        charge_uah: int | None = None,
        voltage_mv: int | None = None,
        health: int | None = None,
    ) -> None:
        """Change the battery and what is reported about it; what is not given stays.

        Args:
            level: Charge in percent.
            temperature_c: Degrees Celsius.
            plugged: Whether it is connected to USB power, and charges.
            charge_uah: Charge in microampere hours.
            voltage_mv: Millivolts.
            health: Android's `BatteryManager.BATTERY_HEALTH_*`: 2 is good.
        """
        self._set("battery/health", health)
        self._set("battery/level", level, "power_supply/battery/capacity")
        self._set("battery/charge_counter", charge_uah, "power_supply/battery/charge_counter")
        self._set("battery/voltage", voltage_mv, "power_supply/battery/voltage_now", scale=1000)
        if temperature_c is not None:
            self._set("battery/temperature", round(temperature_c * 10), "power_supply/battery/temp")
            self.write("/sys/class/thermal/thermal_zone2/temp", f"{round(temperature_c * 1000)}\n")
        if plugged is not None:
            self._set("battery/plugged", 2 if plugged else 0)
            self._set("battery/status", 2 if plugged else 3)
            self.write("/sys/class/power_supply/battery/status", "Charging\n" if plugged else "Discharging\n")

    def set_thermal(
        self, *, status: int | None = None, skin_c: float | None = None, cpu_c: float | None = None
    ) -> None:
        """Change its temperatures; what is not given stays.

        Args:
            status: Android's `THERMAL_STATUS_*`, 0 to 6.
            skin_c: Temperature of the skin, degrees Celsius.
            cpu_c: Temperature of the processor, degrees Celsius.
        """
        self._set("thermal/status", status)
        for name, value, zone in (("skin_c", skin_c, 0), ("cpu_c", cpu_c, 1)):
            if value is not None:
                self.write(f"/services/thermal/{name}", f"{value:.1f}")
                self.write(f"/sys/class/thermal/thermal_zone{zone}/temp", f"{round(value * 1000)}\n")

    def unplug(self) -> None:
        """Pull the cable."""
        self._proxy.unplug()

    def plug(self) -> None:
        """Put the cable back, and let the adb server look for the phone."""
        self._proxy.plug()
        adb_server.connect(self._server_port, self.serial)

    def go_offline(self) -> None:
        """Answer the adb server no more, as after a reset of a USB hub: it lists the phone as `offline`."""
        self._proxy.faults.silent = True
        self._proxy.drop()
        adb_server.connect(self._server_port, self.serial)

    def come_online(self) -> None:
        """Answer the adb server again."""
        self._proxy.faults.silent = False
        adb_server.connect(self._server_port, self.serial)

    def freeze(self) -> None:
        """Hang: adbd is stopped, the connection stays."""
        self._container.request("freeze")

    def thaw(self) -> None:
        """Hang no more."""
        self._container.request("thaw")

    def fall_asleep(self) -> None:
        """Sleep: the screen is off, and adbd stands still. Programs run on, which they do not on a real phone."""
        self.write("/services/wakefulness", "Asleep")
        self.freeze()

    def wake_up(self) -> None:
        """Sleep no more; the kernel has counted it."""
        self.write(_SUSPENDS, f"{int(self.read(_SUSPENDS)) + 1}\n")
        self.write("/services/wakefulness", "Awake")
        self.thaw()

    def lock(self) -> None:
        """Show the lock screen."""
        self.write("/services/locked", "true")

    def unlock(self) -> None:
        """Show the lock screen no more."""
        self.write("/services/locked", "false")

    def hide_thermal_limits(self) -> None:
        """Report a thermal status, and no temperatures at which it rises, as some phones do."""
        self.write("/services/thermal/no_thresholds", "yes")

    def show_thermal_limits(self) -> None:
        """Report thermal limits again."""
        self.write("/services/thermal/no_thresholds", "")

    def set_booted(self, booted: bool) -> None:
        """Say that Android has started on it, or not yet."""
        self.write("/services/properties/sys.boot_completed", "1" if booted else "0")

    def reboot(self, seconds: float = 1.0) -> None:
        """Switch it off now, and on after some seconds."""
        self._container.request("reboot", seconds=str(seconds))

    def fill(self, bytes_left: int) -> None:
        """Leave so much space on /data."""
        self._container.request("fill", bytes_left=str(bytes_left))

    def cut_connection_after(self, size_bytes: int | None) -> None:
        """Break the connection, once, after so many more bytes in both directions together; None for never.

        The phone stays plugged in, so the adb server finds it again.
        """
        self._proxy.faults.cut_after_bytes = size_bytes

    def limit_rate(self, bytes_per_s: float | None) -> None:
        """Limit the rate in each direction; None for no limit."""
        self._proxy.faults.bytes_per_s = bytes_per_s

    def set_latency(self, seconds: float) -> None:
        """Add so much time to each round trip."""
        self._proxy.faults.delay_s = seconds

    @property
    def round_trips(self) -> int:
        """Number of streams that the adb server opened."""
        return self._proxy.faults.streams

    @round_trips.setter
    def round_trips(self, count: int) -> None:
        self._proxy.faults.streams = count

    def authorise(self) -> None:
        """Allow debugging from this machine."""
        self._proxy.faults.authorised = True

    def unauthorise(self) -> None:
        """Forget that debugging from this machine was allowed."""
        self._proxy.faults.authorised = False
        self._proxy.drop()

    def _set(self, service: str, value: int | None, kernel: str | None = None, *, scale: int = 1) -> None:
        """Write a value of a service, and of a file below /sys/class that shows the same."""
        if value is None:
            return
        self.write(f"/services/{service}", str(value))
        if kernel is not None:
            self.write(f"/sys/class/{kernel}", f"{value * scale}\n")
