// ExecuTorch's own trace of a few executions, for its Inspector (`executorch.devtools`).
#pragma once

#include "arguments.h"

namespace runner {

// Loads the program once more, traces a few executions of it, and writes `arguments.etdump`. What is measured has been
// measured before. Throws Failure(kUsage) where the runtime came without ETDump, or the file cannot be written;
// else as LoadedMethod and measure.
void write_etdump(const Arguments& arguments);

} // namespace runner
