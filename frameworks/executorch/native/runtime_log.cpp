#include "runtime_log.h"

#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace runner {
namespace {

using executorch::runtime::Error;

struct Heard {
  std::string last;
  std::string missing_operators;
};

// The runtime calls plain functions, so what they receive has to be kept here.
Heard& heard() {
  static Heard instance;
  return instance;
}

void remember_missing_operator(const std::string& message) {
  // runtime/executor/method.cpp: "Missing operator: [%zd] %s"
  const std::string prefix = "Missing operator: [";
  if (message.compare(0, prefix.size(), prefix) != 0) {
    return;
  }
  const size_t bracket = message.find("] ");
  if (bracket == std::string::npos) {
    return;
  }
  const std::string name = message.substr(bracket + 2);
  std::string& names = heard().missing_operators;
  if (names.find(name) == std::string::npos) {
    names += (names.empty() ? "" : ", ") + name;
  }
}

void emit(
    et_timestamp_t,
    et_pal_log_level_t level,
    const char* file,
    const char*,
    size_t line,
    const char* message,
    size_t length) {
  if (level != kError && level != kFatal) {
    return;
  }
  // The runtime quotes damaged files, and the last line of standard error must stay one line.
  std::string text(message, length);
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  std::fprintf(stderr, "%c executorch:%s:%zu] %s\n", static_cast<char>(level), file, line, text.c_str());
  heard().last = text;
  remember_missing_operator(text);
}

void (*before_giving_up)(int status) = nullptr;

[[noreturn]] void give_up() {
  std::fprintf(stderr, "error: the runtime gave up: %s\n", heard().last.c_str());
  if (before_giving_up != nullptr) {
    before_giving_up(static_cast<int>(ExitStatus::kNotExecuted));
  }
  _exit(static_cast<int>(ExitStatus::kNotExecuted));
}

// Operators of language models are in no C++ library of the released package.
std::string remedy(const std::string& operators) {
  return operators.find("llama::") == std::string::npos
      ? ""
      : ": the Python runner of the installed release has them on hosts (--runner python), builds of commits "
        "with EXECUTORCH_CMAKE_ARGS=-DEXECUTORCH_BUILD_KERNELS_LLM=ON too, and a program exported without custom "
        "operators needs none";
}

bool is_lack_of_memory(Error error) {
  return error == Error::MemoryAllocationFailed || error == Error::DelegateMemoryAllocationFailed;
}

} // namespace

void listen_to_runtime() {
  executorch::runtime::register_pal(
      executorch::runtime::PalImpl::create(nullptr, give_up, nullptr, nullptr, emit, nullptr, nullptr, __FILE__));
  executorch::runtime::runtime_init();
}

void call_before_giving_up(void (*function)(int status)) {
  before_giving_up = function;
}

Failure explain(ExitStatus status, const std::string& what, Error error) {
  const Heard& said = heard();
  if (error == Error::OperatorMissing && !said.missing_operators.empty()) {
    const bool many = said.missing_operators.find(", ") != std::string::npos;
    return Failure(
        status,
        "the program needs operator" + std::string(many ? "s " : " ") + said.missing_operators +
            ", which this runtime does not have" + remedy(said.missing_operators));
  }
  const std::string detail = said.last.empty() ? executorch::runtime::to_string(error) : said.last;
  if (is_lack_of_memory(error)) {
    return Failure(ExitStatus::kOutOfMemory, "out of memory: " + detail);
  }
  return Failure(status, what + " (" + detail + ")");
}

} // namespace runner
