// Log of the ExecuTorch runtime: passed on to standard error, and kept to explain failures.
#pragma once

#include <executorch/runtime/core/error.h>

#include <string>

#include "failure.h"

namespace runner {

// Call before anything else of the runtime. From then on a failed check of the runtime ends the program with a
// sentence instead of a core dump.
void listen_to_runtime();

// Has a function called with the exit status before such an end; a program of its own needs none, an app does.
void call_before_giving_up(void (*function)(int status));

// Returns a Failure that explains the error: a missing operator by its name, a lack of memory as such, anything else as
// `what` followed by the last line that the runtime logged.
Failure explain(ExitStatus status, const std::string& what, executorch::runtime::Error error);

} // namespace runner
