// The least that measures a program: load, run, time each run. What the harness's figures are held against.
//
//   bare_loop MODEL WARMUP ITERATIONS   prints the median in nanoseconds, with one thread
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

// Declared here because the wheel ships the library without this header.
namespace executorch::extension::threadpool {
class ThreadPool final {
 public:
  bool _unsafe_reset_threadpool(uint32_t thread_count);
};
ThreadPool* get_threadpool();
} // namespace executorch::extension::threadpool

int main(int, char** argv) {
  using executorch::extension::Module;
  using executorch::runtime::EValue;
  executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(1);
  Module module(argv[1], Module::LoadMode::Mmap);
  const auto meta = module.method_meta("forward");
  std::vector<executorch::extension::TensorPtr> tensors;
  std::vector<EValue> inputs;
  for (size_t i = 0; meta.ok() && i < meta->num_inputs(); ++i) {
    const auto sizes = meta->input_tensor_meta(i)->sizes();
    tensors.push_back(executorch::extension::ones({sizes.begin(), sizes.end()}));
    inputs.emplace_back(*tensors.back());
  }
  const int warmup = std::atoi(argv[2]);
  const int iterations = std::atoi(argv[3]);
  std::vector<int64_t> times;
  for (int i = 0; i < warmup + iterations; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto outputs = module.forward(inputs);
    const auto end = std::chrono::steady_clock::now();
    if (!outputs.ok()) {
      return 1;
    }
    if (i >= warmup) {
      times.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count());
    }
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  std::printf("%lld\n", static_cast<long long>(times[times.size() / 2]));
}
