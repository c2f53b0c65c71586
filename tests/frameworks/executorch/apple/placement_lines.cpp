// Prints the lines of some programs; tests/frameworks/executorch/apple/test_runner_app.py reads them.
#include <cstdio>

#include "placement.h"

int main() {
  const app::DevicePlan plan = std::map<std::string, int64_t>{{"cpu", 4}, {"neural_engine", 120}, {"gpu", 0x7}};
  const std::vector<std::vector<std::string>> programs = {
      app::describe_placement({"CoreMLBackend", "XnnpackBackend", "CoreMLBackend"}, {plan, std::nullopt}),
      app::describe_placement({"CoreMLBackend", "CoreMLBackend"}, {plan}),
      app::describe_placement({"MPSBackend", "a \"new\"\nbackend"}, {plan}),
      app::describe_placement({}, {}),
  };
  for (const auto& lines : programs) {
    for (const std::string& line : lines) {
      std::printf("%s\n", line.c_str());
    }
    std::puts("--");
  }
}
