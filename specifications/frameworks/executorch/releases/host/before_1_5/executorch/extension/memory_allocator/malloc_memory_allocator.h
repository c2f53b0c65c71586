// Memory from the system, given back at the end: what upstream's class of this name does, which the 1.4 wheels lack.
#pragma once

#include <executorch/runtime/core/memory_allocator.h>

#include <cstdlib>
#include <vector>

namespace executorch::extension {

class MallocMemoryAllocator : public runtime::MemoryAllocator {
 public:
  MallocMemoryAllocator() : MemoryAllocator(0, nullptr) {}

  ~MallocMemoryAllocator() override {
    MallocMemoryAllocator::reset();
  }

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    void* memory = nullptr;
    const size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
    if (posix_memalign(&memory, least, size) != 0) { // also refuses what is no power of two
      return nullptr;
    }
    pieces_.push_back(memory);
    return memory;
  }

  void reset() override {
    for (void* piece : pieces_) {
      std::free(piece);
    }
    pieces_.clear();
  }

 private:
  std::vector<void*> pieces_;
};

} // namespace executorch::extension
