// Declares the memory-mapping loader that is inside `_portable_lib` of the 1.4 wheels, which ship no header for it.
// Members and their order are the binary interface and must be upstream's
// (extension/data_loader/mmap_data_loader.h, v1.4.1).
#pragma once

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension {

class MmapDataLoader final : public runtime::DataLoader {
 public:
  enum class MlockConfig { NoMlock, UseMlock, UseMlockIgnoreErrors };

  static runtime::Result<MmapDataLoader> from(const char* file, MlockConfig config);

  MmapDataLoader(MmapDataLoader&& other) noexcept
      : file_(other.file_),
        size_(other.size_),
        page_size_(other.page_size_),
        descriptor_(other.descriptor_),
        config_(other.config_) {
    other.file_ = nullptr;
    other.descriptor_ = -1;
  }

  ~MmapDataLoader() override;

  runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo& segment) const override;
  runtime::Result<size_t> size() const override;
  runtime::Error load_into(size_t offset, size_t size, const SegmentInfo& segment, void* buffer) const override;

 private:
  const char* file_; // owned
  size_t size_;
  size_t page_size_;
  int descriptor_; // owned
  MlockConfig config_;
};

} // namespace executorch::extension
