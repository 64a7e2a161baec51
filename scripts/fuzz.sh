#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the fuzz targets with clang, libFuzzer and the address and undefined-behaviour sanitizers,
# in build-fuzz/, and runs each of them for a time, as many at once as there are processors.
#
#   scripts/fuzz.sh [SECONDS] [TARGET]...
#
# SECONDS  for each target, 60 unless told
# TARGET   the name of a folder in fuzz/corpus/; all of them unless told
#
# Inputs that make a target fail are in build-fuzz/found/TARGET/, and those that go further than the
# seeds in build-fuzz/found/TARGET/corpus/, where the next run begins with them.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ ${1:-} != -h && ${1:-} != --help ]] || { sed -n '4,14s/^# \{0,1\}//p' "$0"; exit 0; }
seconds=60
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
    seconds=$1
    shift
fi
targets=("$@")
if ! ((${#targets[@]})); then
    mapfile -t targets < <(find "$repo_dir/fuzz/corpus" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort)
fi
for target in "${targets[@]}"; do
    [[ -d $repo_dir/fuzz/corpus/$target ]] || die "there is no target $target"
done
directory=$repo_dir/build-fuzz

# Debian packs the sanitizers apart from the compiler, as a recommendation.
has_libfuzzer() {
    echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
        clang++ -fsanitize=fuzzer,address -x c++ -o /dev/null - 2>/dev/null
}

# run_target NAME: its whole output is in build/logs/fuzz-NAME.log.
run_target() {
    local found=$directory/found/$1 log=$log_dir/fuzz-$1.log status=0
    mkdir -p "$found/corpus"
    UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 "$directory/fuzz/$1_fuzz" \
        -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -print_final_stats=1 \
        -artifact_prefix="$found/" "$found/corpus" "$repo_dir/fuzz/corpus/$1" \
        >"$log" 2>&1 </dev/null || status=$?
    if ((status == 0)); then
        note "$1: $(awk '/number_of_executed_units/ { print $2 }' "$log") executions, no findings"
    else
        warn "$1: failed, see $log"
    fi
    return "$status"
}

need_packages
if ! has_libfuzzer; then
    step "Installing what is missing: clang"
    run_logged apt-clang as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-remove clang
    has_libfuzzer || die "clang cannot link with libFuzzer"
fi
step "Building in build-fuzz/"
configure "$directory" --preset fuzz
build "$directory" "${targets[@]/%/_fuzz}"

step "Running ${#targets[@]} targets, $seconds s each"
mkdir -p "$log_dir"
failed=0
running=0
# Waits for the target that ends next.
await_one() {
    wait -n || failed=1
    running=$((running - 1))
}
for target in "${targets[@]}"; do
    if ((running == jobs)); then await_one; fi
    run_target "$target" &
    running=$((running + 1))
done
while ((running)); do await_one; done
exit "$failed"
