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

std::optional<int64_t> Turns::next() {
  say(before_ ? "done " + std::to_string(*before_) : "ready");
  std::string line;
  if (!std::getline(std::cin, line) || line == "end") {
    return std::nullopt;
  }
  const std::string run = "run ";
  if (line.compare(0, run.size(), run) != 0) {
    throw Failure(ExitStatus::kUsage, "on standard input: '" + line + "' is neither 'run N' nor 'end'");
  }
  before_ = whole("run", line.substr(run.size()), 1, kLargest);
  return before_;
}

} // namespace runner
