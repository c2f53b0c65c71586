#include "placement.h"

#include <algorithm>

#include "protocol/json.h"

namespace app {
namespace {

constexpr const char* kCoreMl = "CoreMLBackend";
constexpr const char* kUnknown = "device unknown";

// Backends that have one device only, by the names that they register under.
std::string only_device(const std::string& backend) {
  static const std::map<std::string, std::string> devices = {
      {"XnnpackBackend", "cpu"}, {"MPSBackend", "gpu"}, {"MetalBackend", "gpu"}};
  const auto found = devices.find(backend);
  return found == devices.end() ? kUnknown : found->second;
}

std::string describe(const DevicePlan& plan) {
  if (!plan || plan->empty()) {
    return kUnknown;
  }
  std::vector<std::pair<int64_t, std::string>> devices;
  for (const auto& [device, operators] : *plan) {
    devices.emplace_back(-operators, device); // the most first
  }
  std::sort(devices.begin(), devices.end());
  std::string text;
  for (const auto& [negative, device] : devices) {
    text += (text.empty() ? "" : ", ") + device + " " + std::to_string(-negative);
  }
  return text;
}

} // namespace

std::vector<std::string> describe_placement(
    const std::vector<std::string>& backends,
    const std::vector<DevicePlan>& plans) {
  const bool are_matched =
      static_cast<size_t>(std::count(backends.begin(), backends.end(), kCoreMl)) == plans.size();
  std::vector<std::string> lines;
  size_t plan = 0;
  for (size_t i = 0; i < backends.size(); ++i) {
    const bool is_core_ml = backends[i] == kCoreMl;
    const std::string device =
        is_core_ml ? describe(are_matched ? plans[plan++] : std::nullopt) : only_device(backends[i]);
    lines.push_back(
        "PyTorchObserver {\"type\": \"RUN\", \"metric\": \"partition_" + std::to_string(i) +
        "\", \"unit\": \"\", \"info_string\": " + quote(backends[i] + ": " + device) + "}");
  }
  return lines;
}

} // namespace app
