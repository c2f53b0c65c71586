// Where Core ML means to execute the models that it loads.
#pragma once

#include <vector>

#include "../placement.h"

namespace app {

// From now on every Core ML model that is loaded, and with which configuration, is remembered. Call once, before the
// runner loads a program.
void remember_core_ml_models();

// The plans of the models so far, in the order in which they were loaded. Making a plan takes about as long as loading
// the model: call after everything was measured.
std::vector<DevicePlan> read_core_ml_plans();

} // namespace app
