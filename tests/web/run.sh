#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests the client for browsers in web/: with node alone, and in Chromium against the library.
#
#   tests/web/run.sh --library build/libzmq.so.5 [--work DIR] [pytest arguments]
#
# --library PATH   the libzmq.so.5 under test
# --work DIR       Python environment, what npm installs, caches (default: build/web)
# PYTHON           interpreter for the Python environment (default: python3)
#
# Needed: node 18 or newer, npm, Chromium, certutil (libnss3-tools), openssl, cc, python3-venv, and for the
# first run PyPI and npm. Tests in the browser are skipped where there is no Chromium.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/web
library=

fail() { echo "web: $*" >&2; exit 2; }
say() { echo "web: $*"; }

while (($#)); do
    case $1 in
        --library) library=${2:?--library needs a path}; shift 2 ;;
        --work) work=${2:?--work needs a directory}; shift 2 ;;
        -h | --help) sed -n '4,13s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) break ;;
    esac
done
[[ -n $library ]] || fail "give --library PATH/libzmq.so.5"
[[ -f $library ]] || fail "no such library: $library"
for program in node npm openssl cc; do
    command -v "$program" >/dev/null || fail "$program is not installed"
done
library=$(realpath "$library")
mkdir -p "$work"
work=$(cd "$work" && pwd)
unset PYTHONPATH LD_PRELOAD LD_LIBRARY_PATH
export PYTHONDONTWRITEBYTECODE=1

# What was installed is used again if it was made from the same list.
venv=$work/venv
if ! cmp -s "$here/requirements.txt" "$venv/requirements.installed"; then
    say "making the Python environment"
    "${PYTHON:-python3}" -m venv --clear "$venv" || fail "cannot make $venv: install python3-venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
        --requirement "$here/requirements.txt" || fail "pip could not install what the tests need"
    cp "$here/requirements.txt" "$venv/requirements.installed"
fi
if ! cmp -s "$here/package.json" "$work/npm/package.json.installed"; then
    say "installing what the tests need from npm"
    rm -rf "$work/npm"
    mkdir -p "$work/npm"
    cp "$here/package.json" "$work/npm/"
    npm install --prefix "$work/npm" --no-audit --no-fund --loglevel=error || fail "npm could not install what the tests need"
    cp "$here/package.json" "$work/npm/package.json.installed"
fi

"$venv/bin/python" "$root/tests/interop/swap.py" --library "$library" --target "$work/swapped"
cd "$here"
PYTHONPATH=$work/swapped exec "$venv/bin/python" -m pytest -v --rootdir "$here" -c "$here/pytest.ini" "--library=$library" \
    "--work=$work" --basetemp "$work/tmp" "$@"
