#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs one lane; run.sh starts it. It reads $work, $library, $results_dir and $refresh.
set -euo pipefail
compat_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/compat/lib.sh
source "$compat_dir/lib.sh"
log_dir=$work/logs
lane=$1
# shellcheck source=/dev/null
source "$(lane_file "$lane")"
run_lane "$lane"
