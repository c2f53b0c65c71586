#include "page_cache.h"

#if defined(__linux__)

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace runner {
namespace {

CachedPages unknown(const char* doing) {
  CachedPages found;
  found.problem = std::string(doing) + ": " + std::strerror(errno);
  return found;
}

CachedPages count_cached(int file, size_t size) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) {
    return unknown("the file cannot be mapped");
  }
  std::vector<unsigned char> resident((size + page - 1) / page);
  const bool known = mincore(mapped, size, resident.data()) == 0;
  CachedPages found = known ? CachedPages{} : unknown("mincore failed");
  munmap(mapped, size);
  found.pages = static_cast<int64_t>(resident.size());
  for (const unsigned char flags : resident) {
    found.cached += flags & 1;
  }
  return found;
}

} // namespace

CachedPages drop_from_page_cache(const std::string& file) {
  const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (opened < 0 || fstat(opened, &status) != 0) {
    return unknown("the file cannot be opened");
  }
  CachedPages found;
  if (status.st_size > 0) {
    fsync(opened); // pages that are not written yet are not dropped
    posix_fadvise(opened, 0, 0, POSIX_FADV_DONTNEED);
    found = count_cached(opened, static_cast<size_t>(status.st_size));
  }
  close(opened);
  return found;
}

} // namespace runner

#else

namespace runner {

CachedPages drop_from_page_cache(const std::string&) {
  CachedPages found;
  found.problem = "this system has no way to drop a file from its page cache";
  return found;
}

} // namespace runner

#endif
