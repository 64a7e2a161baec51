# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the lanes share: their names, the tools they need, the Python environment, packages of the
# distribution unpacked into the work directory, and the installed tree of the library under test.
# Source it; it runs nothing by itself.

# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
compat_dir=$repo_dir/tests/compat

# ---- lanes --------------------------------------------------------------------------------------

# Name, file in lanes/, what it runs.
lane_table() {
    cat <<'EOF'
pyzmq-wheel   pyzmq   the tests of pyzmq: its wheel with this library in place of its own
pyzmq-draft   pyzmq   the tests of pyzmq, built against this library with the draft API
jeromq        wire    JeroMQ (Java) as a peer
jeromq-secure wire    the same with PLAIN, CURVE and handlers of ZAP
zmq4          wire    go-zeromq/zmq4 (Go) as a peer
zmq.rs        wire    zmq.rs (Rust) as a peer
zeromq.js     wire    the npm package zeromq, which has libzmq inside, as a peer over ws
zeromq.js-secure wire the same with PLAIN, CURVE and handlers of ZAP
jszmq         wire    the npm package jszmq (JavaScript) as a peer over ws
autobahn      autobahn the Autobahn test suite for WebSockets
czmq          debian    the tests inside libczmq4 of the distribution
python3-zmq   debian    the tests of the distribution's python3-zmq
pmacct        debian    pmacctd with PLAIN between its processes, on both libraries
cppzmq        bindings  the C++ header cppzmq
rust-zmq      bindings  the Rust crate zmq, linked to this library
node          bindings  the npm package zeromq, with this library preloaded
jupyter       apps     jupyter_client and an ipykernel that runs code
ipyparallel   apps     an ipyparallel cluster with four engines
locust        apps     a Locust master with two workers
loops         apps     asyncio, uvloop, Tornado and gevent on ZMQ_FD: a million messages
EOF
}
lane_names() { lane_table | awk '{ print $1 }'; }
lane_file() { lane_table | awk -v lane="$1" -v dir="$compat_dir/lanes" '$1 == lane { print dir "/" $2 ".sh" }'; }
lane_purpose() { lane_table | awk -v lane="$1" '$1 == lane { $1 = $2 = ""; sub(/^ +/, ""); print }'; }
list_lanes() { lane_table | awk '{ name = $1; $1 = $2 = ""; sub(/^ +/, ""); printf "%-16s %s\n", name, $0 }'; }

# ---- tools --------------------------------------------------------------------------------------

# need_tool COMMAND PACKAGE [HINT]: installs the package when the command is not there.
need_tool() {
    has_command "$1" && return 0
    note "installing $2, which has the command $1"
    apt_offers "$2" || run_logged apt-update as_root apt-get update || true
    run_logged "apt-$2" apt_install "$2" && has_command "$1" && return 0
    die "$1 is not here and could not be installed.
    Debian or Ubuntu:  apt-get install $2
    ${3:-Elsewhere, install what this package stands for}; then run this again."
}

# ---- Python -------------------------------------------------------------------------------------

# use_venv NAME REQUIREMENTS: the environment that the functions below mean.
use_venv() {
    venv=${work:-}/venv-$1
    python=$venv/bin/python
    requirements=$2
}
use_venv pyzmq "$compat_dir/requirements.txt"

# Makes the environment. The stamp holds what it was made from, so one that was interrupted or is out of
# date is made again.
need_venv() {
    local stamp=$venv/requirements.installed
    cmp -s "$requirements" "$stamp" && return 0
    has_venv || need_tool python3 python3-venv
    note "creating the Python environment"
    run_logged venv python3 -m venv --clear "$venv" &&
        run_logged pip "$python" -m pip install --disable-pip-version-check --prefer-binary \
            --requirement "$requirements" &&
        cp "$requirements" "$stamp" ||
        die "pip could not install $requirements: is a package index reachable?"
}

has_python_headers() {
    python3 -c 'import os, sysconfig; open(os.path.join(sysconfig.get_paths()["include"], "Python.h"))' 2>/dev/null
}

# For modules that are compiled.
need_python_headers() {
    has_python_headers && return 0
    note "installing python3-dev, which has the header Python.h"
    apt_offers python3-dev || run_logged apt-update as_root apt-get update || true
    run_logged apt-python3-dev apt_install python3-dev && has_python_headers && return 0
    die "Python.h is not here and could not be installed.
    Debian or Ubuntu:  apt-get install python3-dev
    Elsewhere, install what this package stands for; then run this again."
}

# The wheel of pyzmq with the library under test in place of its own.
need_swapped_pyzmq() {
    "$python" "$repo_dir/tests/interop/swap.py" --library "$library" --target "$work/swapped"
}

# The genuine library: the one inside the wheel.
bundled_library() { "$python" "$repo_dir/tests/interop/swap.py" --print-bundled; }

# Fails unless a Python process with the given module path uses the library under test.
check_pyzmq_library() {
    PYTHONPATH=$1 "$python" - "$library" <<'PY'
import os, sys, zmq
expected = os.path.realpath(sys.argv[1])
maps = {line.split()[-1] for line in open("/proc/self/maps") if "zmq" in line and ".so" in line}
used = {os.path.realpath(path) for path in maps if "libzmq" in os.path.basename(path)}
same = {path for path in used if open(path, "rb").read() == open(expected, "rb").read()}
sys.exit(None if used and used == same else f"pyzmq uses {sorted(used)}, not {expected}")
PY
}

# run_tests NAME COMMAND...: like run_logged, for tests that may fail: what failed is for the table to say.
run_tests() {
    local name=$1 begin=$SECONDS
    shift
    { "$@" 2>&1 </dev/null | tee "$log_dir/$name.log" | show_progress; } || true
    note "ran in $((SECONDS - begin)) s"
}

# run_pytest LANE DIRECTORY [PYTEST ARGUMENT]...: runs tests of ours with pyzmq on the library under test; the
# results are those of the lane. Which tests failed is judged by the table.
run_pytest() {
    local lane=$1 directory=$2
    shift 2
    (cd "$directory" && PYTHONPATH=$work/swapped run_tests "$lane" "$python" -m pytest -v -p no:cacheprovider \
        --basetemp "$work/tmp-$lane" --junit-xml "$results_dir/$lane.xml" "$@")
    [[ -s $results_dir/$lane.xml ]]
}

# skip_lane LANE REASON: the machine cannot have what the lane needs. Its results are one skipped test.
skip_lane() {
    warn "$1 is skipped: $2"
    printf '<testsuites><testsuite name="%s" tests="1" skipped="1"><testcase classname="%s" name="all"><skipped message="%s"/></testcase></testsuite></testsuites>\n' \
        "$1" "$1" "$2" >"$results_dir/$1.xml"
}

# A test of pyzmq that races with itself: it publishes over tcp without waiting for its subscription. When
# it fails it spoils those after it in its class, so it runs in a process of its own.
racy_test=test_log.py::TestPubLog::test_blank_root_topic

# run_apart NAME TESTS COMMAND...: runs the tests of pyzmq in the directory TESTS, which is relative to the
# root of pytest; the results are $work/NAME.xml and $work/NAME-apart.xml. Says which tests failed while the
# machine stood still: they have failed all the same.
run_apart() {
    local name=$1 tests=$2 pauses=$work/$1.pauses line
    shift 2
    rm -f "$work/$name.xml" "$work/$name-apart.xml" "$pauses"
    set -- "$@" -p machine_watch --pauses "$pauses"
    local -x PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}$compat_dir/plugins
    run_tests "$name" "$@" --deselect "$tests/$racy_test" --junit-xml "$work/$name.xml" "$tests"
    run_tests "$name-apart" "$@" --junit-xml "$work/$name-apart.xml" "$tests/$racy_test"
    if [[ -e $pauses ]]; then
        while IFS= read -r line; do note "$line"; done <"$pauses"
    fi
    [[ -s $work/$name.xml && -s $work/$name-apart.xml ]]
}

# ---- the installed tree -------------------------------------------------------------------------

prefix=${work:-}/prefix

# Installs the library under test with header, pkg-config file and CMake package to $prefix.
need_prefix() {
    local build_dir
    build_dir=$(dirname "$library")
    [[ -e $build_dir/CMakeCache.txt ]] ||
        die "$library is not in a CMake build directory, so it cannot be installed from there"
    run_logged prefix-build cmake --build "$build_dir" --target libzmq libzmq-static zlink &&
        run_logged prefix-install cmake --install "$build_dir" --prefix "$prefix"
}

# ---- packages of the distribution ---------------------------------------------------------------

deb_root=${work:-}/deb

# Prints those of the packages, and of what they depend on, that this machine does not have.
missing_debs() {
    apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
        --no-enhances "$@" | grep -E '^[a-z0-9]' | sort -u | while read -r package; do
        dpkg-query -W -f '${db:Status-Abbrev}\n' "$package" 2>/dev/null | grep -q '^ii' || echo "$package"
    done
}

# unpack_debs PACKAGE...: unpacks packages below $deb_root, with nothing they depend on. The machine itself
# stays as it is, and so does whatever libzmq it has.
unpack_debs() {
    local package stamp_dir=$deb_root/.stamps fetch_dir
    has_command apt-get || die "this lane takes packages from Debian or Ubuntu, and there is no apt-get here"
    mkdir -p "$stamp_dir"
    for package in "$@"; do
        [[ -e $stamp_dir/$package ]] && continue
        apt_offers "$package" || run_logged apt-update as_root apt-get update ||
            die "apt knows no package $package; run apt-get update as root, then this again"
        fetch_dir=$(mktemp -d)
        if (cd "$fetch_dir" && run_logged "deb-$package" apt-get download "$package" &&
            dpkg-deb -x ./*.deb "$deb_root"); then
            touch "$stamp_dir/$package"
        fi
        rm -rf "$fetch_dir"
        [[ -e $stamp_dir/$package ]] || die "could not fetch the package $package"
    done
}
