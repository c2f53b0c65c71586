#include "turns.h"

#include <cstdio>
#include <iostream>
#include <string>
#include <utility>

#include "arguments.h"
#include "failure.h"

namespace runner {
namespace {

void say(const std::string& words) {
  if (std::printf("%s\n", words.c_str()) < 0 || std::fflush(stdout) != 0) {
    throw Failure(ExitStatus::kNotExecuted, "cannot write to standard output");
  }
}

// Returns the text before a word, and that behind it where the word occurs.
std::pair<std::string, std::optional<std::string>> split(const std::string& text, const std::string& word) {
  const size_t place = text.find(word);
  if (place == std::string::npos) {
    return {text, std::nullopt};
  }
  return {text.substr(0, place), text.substr(place + word.size())};
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
  const auto [iterations, rest] = split(numbers, " by ");
  const auto [tokens, prompts] = split(rest.value_or(""), " after ");
  before_ = Turn{
      whole("run", iterations, 1, kLargest),
      rest ? whole("run", tokens, 1, kLargest) : 0,
      prompts ? whole("run", *prompts, 1, kLargest) : 0,
  };
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
