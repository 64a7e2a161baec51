#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds, and runs the tests in lanes.
#
#   scripts/test.sh [--quick] [--lane plain|nosodium|interop|compat|web|asan|tsan]... [--werror]
#
# plain     all tests, Release, in build/
# nosodium  a library without CURVE, tls and wss, and the tests that see the difference, in build-nosodium/
# interop   against the genuine library, with the library of the plain lane
# compat    the tests of pyzmq, peers in Java, Go, Rust and Node, and Autobahn, with the library of the plain lane
# web       the client for browsers, in Chromium, with the library of the plain lane
# asan      all tests with address and undefined-behaviour sanitizers, in build-asan/
# tsan      all tests with the thread sanitizer, in build-tsan/
#
# --quick   the plain lane only      --werror   compiler warnings are errors
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

lanes=()
werror=OFF
while (($#)); do
    case $1 in
        --quick) lanes=(plain); shift ;;
        --lane)
            case ${2:-} in
                plain | nosodium | interop | compat | web | asan | tsan) lanes+=("$2") ;;
                *) die "--lane needs plain, nosodium, interop, compat, web, asan or tsan" ;;
            esac
            shift 2
            ;;
        --werror) werror=ON; shift ;;
        -h | --help) sed -n '4,16s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) die "unknown option $1" ;;
    esac
done
((${#lanes[@]})) || lanes=(plain nosodium interop compat web asan tsan)

results_dir=$repo_dir/build/results
failed_lanes=()

# junit RUN: where the results of a run are written.
junit() { echo "$results_dir/$1.xml"; }

# ctest_run RUN DIRECTORY [CTEST ARGUMENT]...
ctest_run() {
    local run=$1 directory=$2
    shift 2
    run_logged "test-$run" ctest --test-dir "$directory" --no-tests=error \
        --output-on-failure --output-junit "$(junit "$run")" "$@"
}

# Stress tests want the machine to themselves; the others mostly wait.
all_tests() {
    local lane=$1 directory=$2 status=0
    step "$lane: tests"
    ctest_run "$lane-tests" "$directory" -LE stress -j "$((2 * jobs + 1))" || status=1
    step "$lane: stress tests"
    ctest_run "$lane-stress" "$directory" -L stress -j 1 || status=1
    return "$status"
}

# With these options the objects of tests/ are the same in all lanes: the first one compiles them, the
# others have them from the compiler's cache.
all_lanes=(-DBUILD_TESTING=ON -DZLINK_PCH=ON -DZLINK_WERROR="$werror")

build_lane() {
    local lane=$1 directory=$2
    shift 2
    step "$lane: building in $(basename "$directory")/"
    configure "$directory" "${all_lanes[@]}" "$@" && build "$directory"
}

lane_plain() {
    build_lane plain "$repo_dir/build" -DCMAKE_BUILD_TYPE=Release &&
        step "plain: compiling each header alone" &&
        build "$repo_dir/build" headers &&
        all_tests plain "$repo_dir/build"
}

# Whether the library is as it is without libsodium: tests of CURVE are skipped, whatever the reason.
check_no_sodium() {
    local library=$1
    if readelf -d "$library" | grep -q 'NEEDED.*sodium'; then return 1; fi
    python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).zmq_has(b"curve"))' "$library"
}

# Most objects of the library, too, are the same as those of the plain lane.
lane_nosodium() {
    local directory=$repo_dir/build-nosodium program status=0
    local -a programs=(api_small_api_test behaviour_authentication_test
        behaviour_curve_test behaviour_options_test behaviour_option_sheet_test
        behaviour_damaged_handshakes_test)
    step "nosodium: building in build-nosodium/"
    configure "$directory" "${all_lanes[@]}" -DCMAKE_BUILD_TYPE=Release \
        -DZLINK_CURVE=OFF -DZLINK_TLS=OFF -DZLINK_BENCH=OFF -DZLINK_EXAMPLES=OFF &&
        build "$directory" libzmq "${programs[@]}" || return 1
    step "nosodium: tests"
    run_logged nosodium-library check_no_sodium "$directory/libzmq.so.5" || return 1
    for program in "${programs[@]}"; do
        run_logged "test-nosodium-$program" timeout 300 "$(built_program "$directory" "$program")" \
            --gtest_brief=1 --gtest_output="xml:$(junit "nosodium-$program")" || status=1
    done
    return "$status"
}

sanitizer_lane() {
    local lane=$1 preset=$2 directory=$repo_dir/build-$1
    # The preset has -Og: GCC takes half as long again for instrumented code with -O1, for little.
    build_lane "$lane" "$directory" --preset "$preset" &&
        all_tests "$lane" "$directory"
}

lane_asan() {
    ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
        UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
        sanitizer_lane asan asan-ubsan
}

# Under setarch -R where that is allowed, because GCC's thread sanitizer cannot live with much
# randomisation of addresses. The build needs it too: it asks the test programs for their tests.
lane_tsan() {
    local -a launcher=()
    if setarch -R true 2>/dev/null; then launcher=(setarch -R); fi
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 sanitizer_lane tsan tsan
}

# The library of the plain lane, if that has not been run.
need_library() {
    if [[ ! -e $repo_dir/build/libzmq.so.5 || ! " ${lanes[*]} " == *" plain "* ]]; then
        step "$1: building the library"
        configure "$repo_dir/build" -DCMAKE_BUILD_TYPE=Release -DZLINK_WERROR="$werror" &&
            build "$repo_dir/build" libzmq
    fi
}

lane_interop() {
    need_library interop || return 1
    step "interop: against the genuine library"
    run_logged test-interop timeout 900 "$repo_dir/tests/interop/run.sh" \
        --library "$repo_dir/build/libzmq.so.5" --junit-xml "$(junit interop)" --numprocesses "$((jobs + 1))"
}

lane_compat() {
    need_library compat || return 1
    step "compat: real clients and independent peers"
    run_logged test-compat timeout 1200 "$repo_dir/tests/compat/run.sh" \
        --library "$repo_dir/build/libzmq.so.5" --junit "$results_dir" \
        --only pyzmq-wheel pyzmq-draft jeromq zmq4 zmq.rs zeromq.js zeromq.js-secure jszmq autobahn
}

lane_web() {
    need_library web || return 1
    step "web: the client for browsers"
    has_browser || warn "there is no Chromium: tests in the browser are skipped"
    run_logged test-web timeout 600 "$repo_dir/tests/web/run.sh" \
        --library "$repo_dir/build/libzmq.so.5" --junit-xml "$(junit web)"
}

if [[ " ${lanes[*]} " == *" web "* ]]; then with_browser=yes; fi
need_packages
mkdir -p "$results_dir"
rm -f "$results_dir"/*.xml
for lane in "${lanes[@]}"; do
    begin=$SECONDS
    # Not `if lane_...`: a lane returns its status itself, and a failed one must not end the others.
    status=0
    "lane_$lane" || status=$?
    if ((status)); then failed_lanes+=("$lane"); fi
    step "$lane: $("$repo_dir/scripts/junit_summary.py" "$results_dir/$lane"*.xml) in $((SECONDS - begin)) s"
done

# A lane that failed without a failed test (it did not build, it crashed) counts as one failure.
"$repo_dir/scripts/junit_summary.py" --total --failed-lanes "${failed_lanes[*]}" "$results_dir"/*.xml
