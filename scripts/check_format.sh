#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks that all C++ files are formatted as .clang-format says; with --fix, formats them.
#
#   scripts/check_format.sh [CLANG_FORMAT] [--fix]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tool=clang-format-14
arguments=(--dry-run --Werror)
for argument in "$@"; do
    if [[ $argument == --fix ]]; then arguments=(-i); else tool=$argument; fi
done
find bench examples fuzz src tests \( -name '*.hpp' -o -name '*.cpp' \) -print0 |
    xargs -0 -n 40 "$tool" "${arguments[@]}"
