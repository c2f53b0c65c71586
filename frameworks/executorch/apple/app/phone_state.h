// State of the phone, as UIKit and the kernel tell it.
#pragma once

#include <cstdint>
#include <optional>

#include "../protocol/app_protocol.h"

namespace app {

// Any thread but the main one may call it.
State read_phone_state();

// Peak of the physical footprint, by which iOS decides which app it ends.
std::optional<int64_t> peak_footprint_bytes();

} // namespace app
