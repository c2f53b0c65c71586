// What a runner app does around its runner (platforms/ios/apps/protocol.py): links, output, result.
//
// The app for iPhones and the stand-in app of the tests share this file, and so does whoever writes an app in C++.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace app {

// State of the phone that only an app can read; absent: it does not say. Names and units are those of the result.
struct State {
  std::optional<std::string> thermal_state;
  std::optional<bool> low_power_mode;
  std::optional<double> brightness;
  std::optional<double> battery_percent;
  std::optional<std::string> battery_state;
  std::optional<int64_t> memory_available_bytes;
  std::optional<double> uptime_s;
  std::optional<double> awake_s;
};

// What differs between apps.
struct Surroundings {
  std::string container; // where paths begin
  std::string executable; // path of the app's own program
  std::string version; // CFBundleVersion
  std::function<State()> read_state;
  std::function<int()> run; // the runner, with its outputs redirected; returns its exit status
  std::function<std::optional<int64_t>()> peak_memory_bytes; // of the whole launch
  std::function<std::optional<bool>()> was_in_foreground; // from start to end
};

// Whether the harness started this app.
bool is_started_by_harness();

// Makes the links, redirects the output, runs the runner, and writes the result, or why there is no run.
// Returns whether a result was written; reasons why not go to standard error.
bool serve(const Surroundings& surroundings);

// Writes the result of the launch that `serve` is in the middle of, from within its runner: for one that must end the
// process itself. Without one it does nothing.
void finish_early(int exit_code);

} // namespace app
