#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs real ZeroMQ clients, unmodified, on the library under test.
#
#   tests/compat/run.sh --library build/libzmq.so.5 [--only LANE...] [--work DIR] [--refresh] [--junit DIR]
#
# --library PATH   the libzmq.so.5 under test, in its CMake build directory
# --only LANE...   these lanes only (--list names them)
# --work DIR       where everything is installed and built (default: build/compat); kept between runs
# --refresh        also run the genuine library again where its results are kept for comparison
# --junit DIR      also write the results there, without the failures that were expected: compat-LANE.xml
# --list           print the lanes, with what each runs
#
# Everything is fetched from apt, PyPI, crates.io, npm, the Go proxy and Maven Central, and put into the
# work directory; nothing is installed on the machine except compilers and interpreters that are missing.
# The table at the end counts, for each lane, the tests that passed, failed and were skipped; "expected"
# are the failed and skipped ones that expected.txt names. The status is 0 when no other failed.
set -euo pipefail
compat_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/compat/lib.sh
source "$compat_dir/lib.sh"

usage() { sed -n '4,19s/^# \{0,1\}//p' "$0"; }

library=
work=$repo_dir/build/compat
refresh=no
junit_dir=
only=()
while (($#)); do
    case $1 in
        --library) library=${2:?--library needs a path}; shift 2 ;;
        --work) work=${2:?--work needs a directory}; shift 2 ;;
        --junit) junit_dir=${2:?--junit needs a directory}; shift 2 ;;
        --refresh) refresh=yes; shift ;;
        --only)
            shift
            while (($#)) && [[ $1 != --* ]]; do only+=("$1"); shift; done
            ((${#only[@]})) || die "--only needs the name of a lane"
            ;;
        --list) list_lanes; exit 0 ;;
        -h | --help) usage; exit 0 ;;
        *) die "unknown option $1" ;;
    esac
done
mapfile -t known < <(lane_names)
((${#only[@]})) || only=("${known[@]}")
for lane in "${only[@]}"; do
    [[ " ${known[*]} " == *" $lane "* ]] || die "no lane $lane; there are: ${known[*]}"
done
[[ -n $library ]] || die "give --library PATH/libzmq.so.5"
[[ -f $library ]] || die "no such library: $library"
library=$(realpath -s "$library")
mkdir -p "$work"
work=$(cd "$work" && pwd)
log_dir=$work/logs
results_dir=$work/results
mkdir -p "$results_dir" "$log_dir"
# What a lane runs sees the library that the lane gives it, and no other.
unset PYTHONPATH LD_PRELOAD LD_LIBRARY_PATH
export PYTHONDONTWRITEBYTECODE=1 refresh work library results_dir

broken=()
for lane in "${only[@]}"; do
    rm -f "$results_dir/$lane.xml"
    begin=$SECONDS
    step "$lane: $(lane_purpose "$lane")"
    # A process of its own: whatever a lane does or breaks, the next one begins afresh.
    status=0
    bash "$compat_dir/lane.sh" "$lane" || status=$?
    echo "$((SECONDS - begin))" >"$results_dir/$lane.seconds"
    # A lane that did not get as far as its tests has failed.
    [[ -e $results_dir/$lane.xml ]] || broken+=("$lane")
done
echo
python3 "$compat_dir/table.py" --results "$results_dir" --expected "$compat_dir/expected.txt" \
    --broken "${broken[*]}" ${junit_dir:+--junit "$junit_dir"} "${only[@]}"
