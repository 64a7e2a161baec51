#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds zlink, lets zlink and the genuine library talk to each other, and
# measures both side by side.
#
#   scripts/demo.sh [--count N] [--no-bench]
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

count=20000
bench=yes
while (($#)); do
    case $1 in
        --count) count=${2:?--count needs a number}; shift 2 ;;
        --no-bench) bench=no; shift ;;
        -h | --help) sed -n '4,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) die "unknown option $1" ;;
    esac
done

need_packages
build_dir=$repo_dir/build
targets=(libzmq demo_peer)
if [[ $bench == yes ]]; then targets+=(zlink_bench zlink_bench_worker); fi

step "Configuring (Release) in build/"
configure "$build_dir" -DCMAKE_BUILD_TYPE=Release
step "Building zlink, the demonstration and the benchmark"
build "$build_dir" "${targets[@]}"
[[ -e $build_dir/libzmq.so.5 ]] || die "the build made no build/libzmq.so.5"

genuine=()
if prepare_genuine; then
    genuine=(--genuine "$genuine_dir")
else
    warn "no genuine library to be had: zlink talks to itself only"
fi

step "Messages between processes: every one counted and checked"
status=0
"$repo_dir/scripts/demo_matrix.py" --program "$(built_program "$build_dir" demo_peer)" \
    --zlink "$build_dir" "${genuine[@]}" --count "$count" || status=1

if [[ $bench == yes ]]; then
    step "A short benchmark, about a minute (docs/benchmarks.md explains the figures)"
    libraries=(--library "zlink=$build_dir")
    if ((${#genuine[@]})); then libraries+=(--library "genuine=$genuine_dir"); fi
    "$(built_program "$build_dir" zlink_bench)" "${libraries[@]}" --quick || status=1
fi

if ((status)); then die "something above went wrong"; fi
step "${green}All of it worked.${plain} To run a program on zlink:"
note "LD_LIBRARY_PATH=$build_dir your-program"
