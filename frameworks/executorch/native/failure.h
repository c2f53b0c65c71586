// Failures of the runner: one sentence for a person, one exit status for a program.
#pragma once

#include <stdexcept>
#include <string>

namespace runner {

enum class ExitStatus : int {
  kOk = 0,
  kUsage = 2,
  kNotLoaded = 3,
  kNotExecuted = 4,
  kOutOfMemory = 5,
};

class Failure final : public std::runtime_error {
 public:
  Failure(ExitStatus status, const std::string& sentence)
      : std::runtime_error(sentence), status_(status) {}

  ExitStatus status() const {
    return status_;
  }

 private:
  ExitStatus status_;
};

} // namespace runner
