# shellcheck shell=sh
# Tools that build for Android: an NDK, else GCC for Linux on the same processor.
. "$(dirname "$0")/../executor_runner.sh"

# Optimised kernels for ARM use $<BUILD_LOCAL_INTERFACE>, which is newer than the least CMake that v1.4 says.
LEAST_CMAKE=3.26

# check_android_tools: whether everything is there that is needed for any commit. Sets what `find_android_target` sets.
check_android_tools() {
  find_android_target
  if [ -z "$ndk" ] && { [ "$machine" = none ] || ! command -v "$cross-g++" > /dev/null; }; then
    fail "no Android NDK and no $cross-g++: install NDK r27 or later (sdkmanager 'ndk;27.2.12479018') and set ANDROID_NDK to its folder, or, for a runner with another C library than that of apps, apt install g++-$(echo "$cross" | tr _ -)"
  fi
  check_tools "$python"
}
