# shellcheck shell=sh
# What our recipes share, of whatever framework. A change here changes the digest of each of them.

fail() {
  echo "error: $*" >&2
  exit 1
}

# find_android_target: sets `python`, `abi`, `ndk` (empty where there is none), `machine` (Linux's name of the processor,
# or `none`) and `cross` (how names of GCC's programs for it begin).
find_android_target() {
  python=${HARNESS_PYTHON:-python3}
  abi=${HARNESS_ABI:-arm64-v8a}
  ndk=${ANDROID_NDK:-${ANDROID_NDK_HOME:-}}
  case $abi in
    arm64-v8a) machine=aarch64 ;;
    x86_64) machine=x86_64 ;;
    *) machine=none ;;
  esac
  cross=$machine-linux-gnu
  [ -z "$ndk" ] || [ -f "$ndk/build/cmake/android.toolchain.cmake" ] ||
    fail "$ndk is no Android NDK: it has no build/cmake/android.toolchain.cmake; correct ANDROID_NDK"
}

# find_wheel_version FOLDER: sets `version` to that of the released executorch package that was unpacked there.
find_wheel_version() {
  [ -d "$1/executorch" ] || fail "$1 is no unpacked wheel of executorch"
  version=
  for folder in "$1"/executorch-*.dist-info; do
    version=$(basename "$folder" .dist-info)
    version=${version#executorch-}
  done
  [ "$version" != "*" ] || fail "$1 has no executorch-*.dist-info, which tells the version"
}
