#include "phone_state.h"

#import <UIKit/UIKit.h>
#include <mach/mach_time.h>
#include <os/proc.h>

namespace {

const char* name_of(NSProcessInfoThermalState state) {
  switch (state) {
    case NSProcessInfoThermalStateNominal:
      return "nominal";
    case NSProcessInfoThermalStateFair:
      return "fair";
    case NSProcessInfoThermalStateSerious:
      return "serious";
    case NSProcessInfoThermalStateCritical:
      return "critical";
  }
  return nullptr;
}

const char* name_of(UIDeviceBatteryState state) {
  switch (state) {
    case UIDeviceBatteryStateUnplugged:
      return "unplugged";
    case UIDeviceBatteryStateCharging:
      return "charging";
    case UIDeviceBatteryStateFull:
      return "full";
    case UIDeviceBatteryStateUnknown:
      return "unknown";
  }
  return nullptr;
}

std::optional<std::string> text(const char* name) {
  return name == nullptr ? std::nullopt : std::optional<std::string>(name);
}

double seconds(uint64_t ticks) {
  mach_timebase_info_data_t base;
  mach_timebase_info(&base);
  return static_cast<double>(ticks) * base.numer / base.denom * 1e-9;
}

UIScreen* screen() {
  for (UIScene* scene in UIApplication.sharedApplication.connectedScenes) {
    if ([scene isKindOfClass:[UIWindowScene class]]) {
      return static_cast<UIWindowScene*>(scene).screen;
    }
  }
  return nil;
}

// UIKit answers on the main thread only.
void read_interface_state(app::State& state) {
  UIDevice* const device = UIDevice.currentDevice;
  device.batteryMonitoringEnabled = YES;
  if (device.batteryLevel >= 0) {
    state.battery_percent = 100.0 * device.batteryLevel;
  }
  state.battery_state = text(name_of(device.batteryState));
  if (UIScreen* const main = screen()) {
    state.brightness = main.brightness;
  }
}

} // namespace

namespace app {

State read_phone_state() {
  __block State state;
  dispatch_sync(dispatch_get_main_queue(), ^{
    read_interface_state(state);
  });
  NSProcessInfo* const process = NSProcessInfo.processInfo;
  state.thermal_state = text(name_of(process.thermalState));
  state.low_power_mode = static_cast<bool>(process.lowPowerModeEnabled);
  state.memory_available_bytes = static_cast<int64_t>(os_proc_available_memory());
  state.uptime_s = seconds(mach_continuous_time());
  state.awake_s = seconds(mach_absolute_time());
  return state;
}

} // namespace app
