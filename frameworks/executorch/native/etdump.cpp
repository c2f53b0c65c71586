#include "etdump.h"

#include "failure.h"

#if defined(HARNESS_HAS_ETDUMP)

#include <executorch/devtools/etdump/etdump_flatcc.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "program.h"
#include "runtime_log.h"

namespace runner {
namespace {

constexpr int kExecutions = 10; // the Inspector tells percentiles; every execution adds to the file
using executorch::runtime::Error;

} // namespace

void write_etdump(const Arguments& arguments) {
  executorch::etdump::ETDumpGen trace;
  LoadedMethod loaded(arguments.model, arguments.method, &trace);
  Inputs inputs(loaded.method(), arguments.inputs);
  inputs.set_all();
  for (int done = 0; done < kExecutions; ++done) {
    inputs.refresh();
    const Error error = loaded.method().execute();
    if (error != Error::Ok) {
      throw explain(ExitStatus::kNotExecuted, "the program failed while it was traced", error);
    }
  }
  const auto found = trace.get_etdump_data();
  const std::unique_ptr<void, decltype(&std::free)> owned(found.buf, &std::free);
  std::ofstream stream(arguments.etdump, std::ios::binary | std::ios::trunc);
  stream.write(static_cast<const char*>(found.buf), static_cast<std::streamsize>(found.size));
  if (found.size == 0 || !stream.flush()) {
    throw Failure(ExitStatus::kUsage, "argument --etdump: cannot write " + arguments.etdump);
  }
}

} // namespace runner

#else

namespace runner {

void write_etdump(const Arguments&) {
  throw Failure(ExitStatus::kUsage, "argument --etdump: this runtime came without ETDump");
}

} // namespace runner

#endif
