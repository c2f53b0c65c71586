// Settings of the OpenVINO library beneath ExecuTorch's OpenVINO delegate, which has none of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace runner {

constexpr const char* kOpenVinoBackend = "OpenvinoBackend";

struct OpenVinoSettings {
  std::optional<int64_t> threads; // absent: OpenVINO's own default
  std::string precision; // empty: OpenVINO's own choice, by the machine
};

// One delegate, as OpenVINO describes it after it was loaded.
struct OpenVinoModel {
  std::string device;
  std::string precision;
  int64_t threads;
};

// The settings of every delegate that is loaded from now on.
void set_openvino(OpenVinoSettings settings);

// Loads the library that OPENVINO_LIB_PATH names, and stands between it and the delegate. Call before the runtime asks
// for the delegate. Where the library cannot be loaded nothing changes, and the delegate tells why. Throws
// Failure(kNotLoaded) for a release that reads memory which the delegate has freed.
void open_openvino();

// Every delegate that was loaded. Throws Failure(kNotLoaded) where none has the precision that is set.
const std::vector<OpenVinoModel>& openvino_models();

// The version of the library; empty where it was not loaded.
std::string openvino_version();

} // namespace runner
