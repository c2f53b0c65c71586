#include "turns.h"

#include <cstdio>
#include <iostream>
#include <string>

#include "arguments.h"
#include "failure.h"

namespace runner {
namespace {

void say(const std::string& words) {
  if (std::printf("%s\n", words.c_str()) < 0 || std::fflush(stdout) != 0) {
    throw Failure(ExitStatus::kNotExecuted, "cannot write to standard output");
  }
}

} // namespace

std::optional<Turn> Turns::next() {
  say(before_ ? "done " + std::to_string(before_->iterations) : "ready");
  std::string line;
  if (!std::getline(std::cin, line) || line == "end") {
    return std::nullopt;
  }
  const std::string run = "run ";
  if (line.compare(0, run.size(), run) != 0) {
    throw Failure(ExitStatus::kUsage, "on standard input: '" + line + "' is neither 'run N' nor 'end'");
  }
  const std::string numbers = line.substr(run.size());
  const std::string by = " by ";
  const size_t middle = numbers.find(by);
  const int64_t iterations = whole("run", numbers.substr(0, middle), 1, kLargest);
  const bool pauses = middle != std::string::npos;
  before_ = Turn{iterations, pauses ? whole("run", numbers.substr(middle + by.size()), 1, kLargest) : 0};
  return before_;
}

void Turns::pause() {
  if (is_alone_) {
    return;
  }
  say("paused");
  std::string line;
  is_alone_ = !std::getline(std::cin, line);
  if (!is_alone_ && line != "go on") {
    throw Failure(ExitStatus::kUsage, "on standard input: '" + line + "' is not 'go on'");
  }
}

} // namespace runner
