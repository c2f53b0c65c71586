#!/bin/sh
# Builds a runner for Android from a checkout of ExecuTorch, with the same parts as for the host.
#
#   sh build.sh REPO_DIR DESTINATION
#
# The NDK is the folder named by ANDROID_NDK or ANDROID_NDK_HOME. HARNESS_ABI (arm64-v8a) and ANDROID_PLATFORM
# (android-26) can be given too. C++'s library is linked in, so that the runner is one file.
set -eu
. "$(dirname "$0")/../executor_runner.sh"

repository=$1
destination=$2
python=${HARNESS_PYTHON:-python3}
build=${HARNESS_BUILD_DIR:-$(mktemp -d)}
ndk=${ANDROID_NDK:-${ANDROID_NDK_HOME:-}}
abi=${HARNESS_ABI:-arm64-v8a}
oldest=${ANDROID_PLATFORM:-android-26}

[ -n "$ndk" ] ||
  fail "no Android NDK: install r27 or later (sdkmanager 'ndk;27.2.12479018') and set ANDROID_NDK to its folder"
[ -f "$ndk/build/cmake/android.toolchain.cmake" ] ||
  fail "$ndk is no Android NDK: it has no build/cmake/android.toolchain.cmake; correct ANDROID_NDK"
check_tools "$python"
check_checkout "$repository"

# Phones with pages of 16 KiB load no program that is laid out for 4.
build_runner "$repository" "$build" "$destination" -DPYTHON_EXECUTABLE="$python" \
  -DCMAKE_TOOLCHAIN_FILE="$ndk/build/cmake/android.toolchain.cmake" \
  -DANDROID_ABI="$abi" \
  -DANDROID_PLATFORM="$oldest" \
  -DANDROID_STL=c++_static \
  -DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON
for strip in "$ndk"/toolchains/llvm/prebuilt/*/bin/llvm-strip; do
  [ ! -x "$strip" ] || "$strip" "$destination" # smaller, so faster to bring to a phone
done
write_meta "$destination" "$described, \"abi\": \"$abi\", \"android_platform\": \"$oldest\""
