# shellcheck shell=sh
# Tools that build for Android: an NDK, else GCC for Linux on the same processor.
. "$(dirname "$0")/../executor_runner.sh"

# Optimised kernels for ARM use $<BUILD_LOCAL_INTERFACE>, which is newer than the least CMake that v1.4 says.
LEAST_CMAKE=3.26

# check_android_tools: whether everything is there that is needed for any commit. Sets `python`, `abi`, `ndk` (empty
# where there is none), `machine` (Linux's name of the processor) and `cross` (how names of GCC's programs begin).
check_android_tools() {
  python=${HARNESS_PYTHON:-python3}
  abi=${HARNESS_ABI:-arm64-v8a}
  ndk=${ANDROID_NDK:-${ANDROID_NDK_HOME:-}}
  case $abi in
    arm64-v8a) machine=aarch64 ;;
    x86_64) machine=x86_64 ;;
    *) machine=none ;;
  esac
  cross=$machine-linux-gnu
  if [ -n "$ndk" ]; then
    [ -f "$ndk/build/cmake/android.toolchain.cmake" ] ||
      fail "$ndk is no Android NDK: it has no build/cmake/android.toolchain.cmake; correct ANDROID_NDK"
  elif [ "$machine" = none ] || ! command -v "$cross-g++" > /dev/null; then
    fail "no Android NDK and no $cross-g++: install NDK r27 or later (sdkmanager 'ndk;27.2.12479018') and set ANDROID_NDK to its folder, or, for a runner with another C library than that of apps, apt install g++-$(echo "$cross" | tr _ -)"
  fi
  check_tools "$python"
}
