// Many examples in one launch: their inputs are read, and their outputs written, one example at a time.
#pragma once

#include <executorch/runtime/executor/method.h>

#include <string>
#include <vector>

#include "arguments.h"

namespace runner {

// Executes every example once. Returns a description of each output: `float32 [1, 1000] dim_order [0, 1]`.
// Files have the inputs, or outputs, of all examples one after the other, in row-major order whatever the layout of the
// method's own tensor (dim_order) is.
// Throws Failure(kUsage) where a file does not fit the method, naming file, expected and actual bytes;
// Failure(kNotExecuted) where an example fails, an output changes its shape, or a file cannot be written.
std::vector<std::string> run_examples(executorch::runtime::Method& method, const Arguments& arguments);

} // namespace runner
