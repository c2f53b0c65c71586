// Interleaving with another process: iterations on request, idle in between.
#pragma once

#include <cstdint>
#include <optional>

namespace runner {

struct Turn {
  int64_t iterations;
  int64_t tokens; // after so many of a generation it pauses, and after its first; 0 where it does not
  int64_t prompts; // before each generation its prompt is processed so often, each time with a pause after it
};

class Turns final {
 public:
  // Prints `ready`, or `done N` for the previous turn, and waits for the next one: `run N`, `run N by K`, or
  // `run N by K after R`.
  // Returns it, or nothing at `end` and at the end of standard input.
  // Throws Failure(kUsage) on any other line, Failure(kNotExecuted) when standard output is closed.
  std::optional<Turn> next();

  // Prints `paused` and waits for `go on`. From the end of standard input on there are no pauses. Throws as `next`.
  void pause();

 private:
  std::optional<Turn> before_;
  bool is_alone_ = false;
};

} // namespace runner
