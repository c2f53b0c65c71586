// Interleaving with another process: iterations on request, idle in between.
#pragma once

#include <cstdint>
#include <optional>

namespace runner {

class Turns final {
 public:
  // Prints `ready`, or `done N` for the previous turn, and waits for the next one.
  // Returns its number of iterations, or nothing at `end` and at the end of standard input.
  // Throws Failure(kUsage) on any other line, Failure(kNotExecuted) when standard output is closed.
  std::optional<int64_t> next();

 private:
  std::optional<int64_t> before_;
};

} // namespace runner
