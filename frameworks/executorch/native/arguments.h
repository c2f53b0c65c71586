// The command line. Kept identical to that of python/arguments.py, which documents it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace runner {

struct Arguments {
  std::string model;
  std::string method = "forward";
  std::optional<int64_t> threads; // absent: the runtime's own default
  int64_t warmup = 10;
  int64_t iterations = 50;
  int64_t min_iterations = 1;
  double time_limit_s = 0; // 0: none
  std::vector<std::string> inputs; // empty: every element is one
  std::string outputs; // empty: outputs are not written
  bool help = false;
};

extern const char* const kUsage;

// Throws Failure(kUsage) with a sentence that names the flag.
Arguments parse_arguments(int argc, const char* const* argv);

} // namespace runner
