#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the soak test in build/ and runs it: connections of every transport, mechanism and pattern,
# with and without breaks, in which every message is accounted for.
#
#   scripts/soak.sh [MINUTES] [--seed N] [OPTION]...
#
# MINUTES  how long, 30 unless told
# --seed   of the random numbers; it is printed, so that a run can be repeated
# OPTION   what `zlink_soak --help` lists: only some transports, mechanisms, patterns or breaks
#
# Every ten seconds it says how far it is, and at the end what was counted, also after an interrupt.
# The exit status is 1 if anything was wrong.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ ${1:-} != -h && ${1:-} != --help ]] || { sed -n '4,14s/^# \{0,1\}//p' "$0"; exit 0; }
minutes=30
if [[ ${1:-} =~ ^[0-9]+([.][0-9]+)?$ ]]; then
    minutes=$1
    shift
fi

need_packages
step "Building in build/"
configure "$repo_dir/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=ON
build "$repo_dir/build" zlink_soak
step "Running for $minutes minutes"
exec "$repo_dir/build/tests/zlink_soak" --minutes "$minutes" "$@"
