// Where the parts of a program are executed, as observer lines. Plain C++: tested on any machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace app {

// Operators of a Core ML model by the device that Core ML prefers for them: `neural_engine`, `gpu`, `cpu`; absent where
// the system does not tell.
using DevicePlan = std::optional<std::map<std::string, int64_t>>;

// Returns one observer line for each partition, `partition_0` first, such as
// `CoreMLBackend: neural_engine 120, cpu 4` or `XnnpackBackend: cpu`.
//
// `backends` are the backends of a program's partitions in their order; `plans` those of the Core ML models in the
// order in which they were loaded, which is that of the partitions. Where their numbers differ, none is credited.
std::vector<std::string> describe_placement(
    const std::vector<std::string>& backends,
    const std::vector<DevicePlan>& plans);

} // namespace app
