#!/bin/sh
# Checks in a moment what no release can be measured without, before its wheel is fetched. `build.sh` includes this file
# for `fail`, `abi`, `machine` (Linux's name of the processor) and `compiler`.
set -eu
. "$(dirname "$0")/../../../recipes.sh"

abi=${HARNESS_ABI:-arm64-v8a}
case $abi in
  arm64-v8a) machine=aarch64 package=g++-aarch64-linux-gnu ;;
  x86_64) machine=x86_64 package=g++-x86-64-linux-gnu ;;
  *) fail "no released package is for $abi: only for arm64-v8a and x86_64" ;;
esac
compiler=$machine-linux-gnu-g++
if [ "$(uname -s) $(uname -m)" = "Linux $machine" ]; then
  compiler=${CXX:-c++}
fi
command -v cmake > /dev/null || fail "no cmake: apt install cmake, or pip install cmake"
command -v "$compiler" > /dev/null || fail "no $compiler to compile for $abi: apt install $package"
