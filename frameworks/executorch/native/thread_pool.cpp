#include "thread_pool.h"

#include <cstddef>
#include <string>

#include "failure.h"

// The wheel ships libexecutorch_threadpool without extension/threadpool/threadpool.h. These are the two members of
// that class and the one function we need, as declared there (v1.5.1).
namespace executorch::extension::threadpool {

class ThreadPool final {
 public:
  size_t get_thread_count() const;
  bool _unsafe_reset_threadpool(uint32_t thread_count);
};

ThreadPool* get_threadpool();

} // namespace executorch::extension::threadpool

namespace runner {

int64_t use_threads(std::optional<int64_t> threads) {
  auto* pool = executorch::extension::threadpool::get_threadpool();
  if (pool == nullptr) {
    throw Failure(ExitStatus::kNotLoaded, "the runtime has no thread pool");
  }
  if (threads && !pool->_unsafe_reset_threadpool(static_cast<uint32_t>(*threads))) {
    throw Failure(ExitStatus::kNotLoaded, "the thread pool refuses " + std::to_string(*threads) + " threads");
  }
  return static_cast<int64_t>(pool->get_thread_count());
}

} // namespace runner
