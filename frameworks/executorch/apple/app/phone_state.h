// State of the phone, as UIKit and the kernel tell it.
#pragma once

#include "../protocol/app_protocol.h"

namespace app {

// Any thread but the main one may call it.
State read_phone_state();

} // namespace app
