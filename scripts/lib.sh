# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Shared by the scripts beside it: progress output, installing what is missing, building, and the
# genuine library to compare with. Source it; it runs nothing by itself.

repo_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
log_dir=$repo_dir/build/logs
jobs=$(nproc 2>/dev/null || echo 2)

# ---- output -------------------------------------------------------------------------------------

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
    bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' yellow=$'\e[33m' plain=$'\e[0m'
else
    bold='' green='' red='' yellow='' plain=''
fi

step() { printf '%s==> %s%s\n' "$bold" "$*" "$plain"; }
note() { printf '    %s\n' "$*"; }
warn() { printf '%s    %s%s\n' "$yellow" "$*" "$plain" >&2; }
die() {
    printf '%serror: %s%s\n' "$red" "$*" "$plain" >&2
    exit 1
}

# Shows that work goes on: the newest line on a terminal, otherwise one line every 20 seconds.
show_progress() {
    local line last=$SECONDS
    while IFS= read -r line; do
        if [[ -t 1 ]]; then
            printf '\r\e[K    %.90s' "${line//[$'\t\r\e']/ }"
        elif ((SECONDS - last >= 20)); then
            printf '    %.90s\n' "$line"
            last=$SECONDS
        fi
    done
    if [[ -t 1 ]]; then printf '\r\e[K'; fi
}

# Put before every command that run_logged runs; what it starts has to be a program then.
launcher=()

# run_logged NAME COMMAND...: runs it with its output in build/logs/NAME.log; on failure shows the
# end of that file and returns the command's status.
run_logged() {
    local name=$1 begin=$SECONDS status=0
    local log=$log_dir/$name.log
    shift
    mkdir -p "$log_dir"
    { "${launcher[@]}" "$@" 2>&1 </dev/null | tee "$log" | show_progress; } || status=$?
    if ((status == 0)); then
        note "${green}done${plain} in $((SECONDS - begin)) s"
    else
        note "${red}failed${plain} after $((SECONDS - begin)) s, the end of $log:"
        tail -n 40 "$log" >&2
    fi
    return "$status"
}

# ---- what has to be installed -------------------------------------------------------------------

# A requirement is looked for as it will be used (a command, a header, a Python module), so a
# machine that got it in some other way than from Debian's packages is left alone.
has_command() { command -v "$1" >/dev/null 2>&1; }
has_header() { printf '#include <%s>\n' "$1" | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1; }
has_boost() {
    printf '#include <boost/version.hpp>\n#include <boost/asio.hpp>\n%s\n' \
        '#if BOOST_VERSION < 108100
#error too old
#endif' | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1
}
has_venv() { python3 -c 'import ensurepip, venv' >/dev/null 2>&1; }

has_browser() { has_command chromium || has_command google-chrome-stable || has_command google-chrome; }

# Whether the tests of web/ are to run: who runs them sets it before need_packages.
with_browser=no

# True when apt knows a version of the package that can be installed.
apt_offers() {
    local candidate
    candidate=$(apt-cache policy "$1" 2>/dev/null | awk '/Candidate:/ { print $2 }')
    [[ -n $candidate && $candidate != '(none)' ]]
}

# Boost 1.81 is the oldest that serves; the package is named after the version.
boost_package() {
    local package
    for package in libboost1.81-dev libboost1.83-dev; do
        if apt_offers "$package"; then
            echo "$package"
            return
        fi
    done
    echo libboost-dev
}

# Prints the packages of the requirements that this machine does not meet yet.
missing_packages() {
    local compiler=yes
    if ! has_command g++; then
        compiler=no
        echo g++
    fi
    has_command cmake || echo cmake
    has_command ninja || echo ninja-build
    has_command ccache || echo ccache
    has_command pkg-config || echo pkg-config
    has_command python3 || echo python3
    has_command openssl || echo openssl
    has_command stunnel4 || has_command stunnel || echo stunnel4
    has_venv || echo python3-venv
    # The format is checked where the version that it is made for can be had.
    if ! has_command clang-format-14 && apt_offers clang-format-14; then echo clang-format-14; fi
    if [[ $compiler == no ]] || ! has_boost; then boost_package; fi
    if [[ $compiler == no ]] || ! has_header gtest/gtest.h; then echo libgtest-dev; fi
    if [[ $compiler == no ]] || ! has_header benchmark/benchmark.h; then echo libbenchmark-dev; fi
    if [[ $compiler == no ]] || ! has_header sodium.h; then echo libsodium-dev; fi
    if [[ $compiler == no ]] || ! has_header openssl/ssl.h; then echo libssl-dev; fi
    if [[ $compiler == no ]] || ! has_header fmt/core.h; then echo libfmt-dev; fi
    if [[ $compiler == no ]] || ! has_header CLI/CLI.hpp; then echo libcli11-dev; fi
    if [[ $with_browser == yes ]]; then
        has_command node || echo nodejs
        has_command npm || echo npm
        has_command certutil || echo libnss3-tools
        # Ubuntu has it as a snap only.
        if ! has_browser && apt_offers chromium; then echo chromium; fi
    fi
}

# Runs a command with the rights to install, or fails when there is no way to get them.
as_root() {
    if ((EUID == 0)); then
        "$@"
    elif ! has_command sudo; then
        return 1
    elif [[ -t 0 ]]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

# apt_install PACKAGE...: --no-remove, because a helper script must not take anything away.
apt_install() {
    has_command apt-get || return 1
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends --no-remove "$@"
}

# Installs what is missing, or says what to install by hand and stops.
need_packages() {
    local -a packages
    mapfile -t packages < <(missing_packages)
    ((${#packages[@]})) || return 0
    step "Installing what is missing: ${packages[*]}"
    if has_command apt-get; then
        # sudo may have to ask for a password: not behind a log file.
        if ((EUID != 0)) && has_command sudo && [[ -t 0 ]]; then sudo -v || true; fi
        run_logged apt-update as_root apt-get update ||
            warn "apt-get update failed; trying with the package lists that are here"
        # The name of the Boost package depends on the lists just fetched.
        mapfile -t packages < <(missing_packages)
        run_logged apt-install apt_install "${packages[@]}" || true
    fi
    local still_missing
    still_missing=$(missing_packages | tr '\n' ' ')
    [[ -z $still_missing ]] || die "please install by hand, then run this again:
    Debian or Ubuntu:  apt-get install $still_missing
    (Boost has to be 1.81 or newer; elsewhere, install what these packages stand for)"
}

# ---- building -----------------------------------------------------------------------------------

# configure DIRECTORY [CMAKE ARGUMENT]...
configure() {
    local directory=$1
    local -a arguments=(-S "$repo_dir" -B "$directory")
    shift
    # A directory that was configured with another generator keeps it.
    [[ -e $directory/CMakeCache.txt ]] || arguments+=(-G Ninja)
    if has_command ccache; then
        # Neither preprocess what has to be compiled anyway, nor refuse what uses precompiled headers,
        # nor miss it because they are in another build directory.
        export CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=$repo_dir
        arguments+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
    run_logged "configure-$(basename "$directory")" cmake "${arguments[@]}" "$@"
}

# build DIRECTORY [TARGET]...: everything when no target is named.
build() {
    local directory=$1
    shift
    local -a targets=()
    if (($#)); then targets=(--target "$@"); fi
    run_logged "build-$(basename "$directory")" \
        cmake --build "$directory" -j "$jobs" "${targets[@]}"
}

# built_program DIRECTORY NAME: where the build put a program.
built_program() {
    find "$1" -name "$2" -type f -perm -u+x -not -path '*/CMakeFiles/*' -print -quit
}

# ---- the genuine library and Python -------------------------------------------------------------

venv_dir=$repo_dir/build/venv
genuine_dir=$repo_dir/build/genuine

# Makes build/venv with the pyzmq that the interop suite names, once. Returns non-zero when it cannot
# be had.
prepare_python() {
    local requirement
    if "$venv_dir/bin/python" -c 'import zmq' 2>/dev/null; then return 0; fi
    requirement=$(grep '^pyzmq' "$repo_dir/tests/interop/requirements.txt" || echo pyzmq)
    step "Fetching the genuine library (in the wheel of $requirement)"
    run_logged venv python3 -m venv --clear "$venv_dir" &&
        run_logged pip "$venv_dir/bin/python" -m pip install --disable-pip-version-check \
            --only-binary :all: "$requirement"
}

# Succeeds when the library in the given directory answers as a ZeroMQ library.
answers_as_zmq() {
    python3 - "$1/libzmq.so.5" <<'PY' 2>/dev/null
import ctypes, sys
version = [ctypes.c_int() for _ in range(3)]
ctypes.CDLL(sys.argv[1]).zmq_version(*map(ctypes.byref, version))
PY
}

# Links the library files that the pyzmq wheel carries into build/genuine. Its libsodium is linked
# beside it, because the loader takes $ORIGIN as the directory of the link, not of the file.
link_genuine_from_wheel() {
    local file library
    library=$(find "$venv_dir" -path '*/pyzmq.libs/libzmq*.so*' -print -quit)
    [[ -n $library ]] || return 1
    for file in "$(dirname "$library")"/*.so*; do
        ln -sf "$file" "$genuine_dir/$(basename "$file")"
    done
    ln -sf "$library" "$genuine_dir/libzmq.so.5"
    answers_as_zmq "$genuine_dir"
}

# The runtime library of the distribution, installed when it is not there.
link_genuine_from_system() {
    local library
    library=$(system_libzmq)
    if [[ -z $library ]]; then
        run_logged apt-libzmq5 apt_install libzmq5 || return 1
        library=$(system_libzmq)
    fi
    [[ -n $library ]] || return 1
    ln -sf "$library" "$genuine_dir/libzmq.so.5"
    answers_as_zmq "$genuine_dir"
}

# Only the distribution's own directories: /usr/local may hold an installed zlink.
system_libzmq() {
    find /usr/lib /usr/lib64 /lib -name 'libzmq.so.5' -print -quit 2>/dev/null || true
}

# Makes build/genuine/libzmq.so.5, a link to a genuine libzmq. Returns non-zero when there is none.
prepare_genuine() {
    mkdir -p "$genuine_dir"
    if [[ -e $genuine_dir/libzmq.so.5 ]] && answers_as_zmq "$genuine_dir"; then return 0; fi
    rm -f "$genuine_dir"/*
    if prepare_python && link_genuine_from_wheel; then return 0; fi
    warn "no library in the pyzmq wheel; taking the system's libzmq.so.5"
    rm -f "$genuine_dir"/*
    link_genuine_from_system
}
