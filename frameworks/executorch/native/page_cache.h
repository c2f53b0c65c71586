// The page cache of the kernel: loading from a file that is not in it is loading from the disk.
#pragma once

#include <cstdint>
#include <string>

namespace runner {

struct CachedPages {
  int64_t pages = 0; // of the file
  int64_t cached = 0; // that are still in the page cache
  std::string problem; // why nothing is known of them; empty where it is

  bool is_cold() const {
    return problem.empty() && cached == 0;
  }
};

// Drops a file from the page cache, and looks what is left of it there. Other files stay.
CachedPages drop_from_page_cache(const std::string& file);

} // namespace runner
