// Taking turns with another process: iterations when we are told, idle between.
#pragma once

#include <cstdint>
#include <optional>

namespace runner {

class Turns final {
 public:
  // Says `ready`, or that the turn before is `done`, and waits for the next one.
  // Returns its number of iterations; nothing at `end` and at the end of standard input.
  // Throws Failure(kUsage) on any other word, Failure(kNotExecuted) when nobody can hear us.
  std::optional<int64_t> next();

 private:
  std::optional<int64_t> before_;
};

} // namespace runner
