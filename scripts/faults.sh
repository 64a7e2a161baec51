#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds what is needed in build/, and lets system calls and allocations fail, one after the other and each
# third one, in conversations over every transport and mechanism.
#
#   scripts/faults.sh [--quick] [OPTION]...
#
# --quick   each kind of failure at one place, three times: about a minute, as in the stress tests
# OPTION    what `tests/faults/run_faults.py --help` lists: --what calls or allocations, only some transports,
#           mechanisms, patterns or functions, fewer of all (--most, --sample, --minutes)
#
# Without options every call fails: that takes hours. The exit status is 1 if anything was wrong.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ ${1:-} != -h && ${1:-} != --help ]] || { sed -n '4,13s/^# \{0,1\}//p' "$0"; exit 0; }

need_packages
step "Building in build/"
configure "$repo_dir/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=ON
build "$repo_dir/build" zlink_fault_injector zlink_fault_scenario
step "Letting calls fail"
exec "$repo_dir/tests/faults/run_faults.py" --scenario "$repo_dir/build/tests/zlink_fault_scenario" \
    --injector "$repo_dir/build/libzlink_fault_injector.so" "$@"
