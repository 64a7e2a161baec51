#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the interop suite: the library under test against the libzmq inside the pyzmq wheel.
#
#   tests/interop/run.sh --library build/libzmq.so.5 [--work DIR] [pytest arguments]
#   tests/interop/run.sh --genuine [--work DIR] [pytest arguments]
#
# Test files named in the pytest arguments are relative to tests/interop.
#
# --library PATH   the libzmq.so.5 under test
# --genuine        test the wheel's own library against itself (a check of the suite)
# --work DIR       virtual environment, swapped copy and caches (default: build/interop)
# PYTHON           interpreter for the virtual environment (default: python3)

set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/interop
library=
genuine=no

fail() {
    echo "interop: $*" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --library) [ $# -ge 2 ] || fail "--library needs a path"; library=$2; shift 2 ;;
        --library=*) library=${1#*=}; shift ;;
        --work) [ $# -ge 2 ] || fail "--work needs a directory"; work=$2; shift 2 ;;
        --work=*) work=${1#*=}; shift ;;
        --genuine) genuine=yes; shift ;;
        -h | --help) sed -n '4,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) break ;;
    esac
done

[ "$genuine" = yes ] || [ -n "$library" ] || fail "give --library PATH/libzmq.so.5 or --genuine"
[ "$genuine" = yes ] && [ -n "$library" ] && fail "--library and --genuine exclude each other"
if [ -n "$library" ]; then
    [ -f "$library" ] || fail "no such library: $library"
    library=$(cd "$(dirname "$library")" && pwd)/$(basename "$library")
fi

mkdir -p "$work"
work=$(cd "$work" && pwd)
export PYTHONDONTWRITEBYTECODE=1

# The environment is complete only once the stamp holds the requirements it was made from, so an
# interrupted or outdated one is made again.
venv=$work/venv
stamp=$venv/requirements.installed
if ! cmp -s "$here/requirements.txt" "$stamp"; then
    python=${PYTHON:-python3}
    command -v "$python" >/dev/null || fail "$python not found: install Python 3.10 or newer"
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "$python cannot create virtual environments: install python3-venv"
    rm -rf "$venv"
    "$python" -m venv "$venv" || fail "cannot create a virtual environment in $venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --only-binary :all: --requirement "$here/requirements.txt" ||
        fail "pip could not install what requirements.txt names: is a package index reachable?"
    cp "$here/requirements.txt" "$stamp"
fi

if [ "$genuine" = yes ]; then
    library=$("$venv/bin/python" "$here/swap.py" --print-bundled) || exit 2
fi
"$venv/bin/python" "$here/swap.py" --library "$library" --target "$work/swapped" || exit 2

# Neither side may inherit a library or module path from the caller.
unset PYTHONPATH LD_PRELOAD LD_LIBRARY_PATH
cd "$here"
exec "$venv/bin/python" -m pytest -o "cache_dir=$work/pytest-cache" --rootdir "$here" \
    -c "$here/pytest.ini" "--library=$library" "--swapped=$work/swapped" \
    --basetemp "$work/tmp" "$@"
