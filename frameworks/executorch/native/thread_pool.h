// Thread pool of the runtime.
#pragma once

#include <cstdint>
#include <optional>

namespace runner {

// Sets the size of the pool, where one is given, and returns its size in use.
// Call before a program is loaded: delegates keep a pointer to the pool that existed when they were initialised.
// Throws Failure(kNotLoaded) where the pool refuses.
int64_t use_threads(std::optional<int64_t> threads);

} // namespace runner
