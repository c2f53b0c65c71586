// Measures one ExecuTorch program: load, warm up, iterate, print observer lines. Prints nothing while it iterates.
#pragma once

#include <executorch/runtime/executor/method_meta.h>

#include <functional>

namespace runner {

// Prints further observer lines about a method, after everything was measured.
using PrintMore = std::function<void(const executorch::runtime::MethodMeta&)>;

// The whole runner, once in a process: what `main` is given, and its exit status. Apps call it as well.
int run_program(int argc, const char* const* argv, const PrintMore& print_more = nullptr);

} // namespace runner
