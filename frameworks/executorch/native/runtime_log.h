// What the ExecuTorch runtime logs: passed on to standard error, and remembered to explain failures.
#pragma once

#include <executorch/runtime/core/error.h>

#include <string>

#include "failure.h"

namespace runner {

// Call before anything else of the runtime. From then on a failed check of the runtime ends the program with a
// sentence instead of a core dump.
void listen_to_runtime();

// A Failure that tells what went wrong: a missing operator by its name, a lack of memory as such, anything else as
// `what` followed by the last thing the runtime said.
Failure explain(ExitStatus status, const std::string& what, executorch::runtime::Error error);

} // namespace runner
