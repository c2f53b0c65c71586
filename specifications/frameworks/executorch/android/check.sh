#!/bin/sh
# Checks in a moment what no commit of ExecuTorch can be built without, before the files of one are fetched.
set -eu
. "$(dirname "$0")/tools.sh"

check_android_tools
