# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The Autobahn test suite for WebSockets. It runs on Python 2.7 only, which few machines have: without it the lane is
# skipped, and tests/interop/test_websocket_autobahn.py has its cases.

autobahn_version=25.10.1

find_python2() {
    local candidate
    for candidate in python2.7 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/2.7.*/bin/python2.7; do
        if "$candidate" -m pip --version >/dev/null 2>&1; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

run_lane() {
    local python2
    if ! python2=$(find_python2); then
        skip_lane autobahn "it needs Python 2.7 with pip"
        return 0
    fi
    need_venv
    need_swapped_pyzmq
    check_pyzmq_library "$work/swapped" || die "the tests would not run on $library"
    export PYTHONUSERBASE=$work/autobahn
    if [[ ! -x $work/autobahn/bin/wstest ]]; then
        run_logged autobahn-install "$python2" -m pip install --user --disable-pip-version-check \
            "autobahntestsuite==$autobahn_version" || die "pip could not install the Autobahn test suite"
    fi
    run_tests autobahn env "PYTHONPATH=$work/swapped" "$python" "$compat_dir/autobahn/run.py" \
        --wstest "$work/autobahn/bin/wstest" --work "$work/autobahn-reports" --output "$results_dir/autobahn.xml"
    [[ -s $results_dir/autobahn.xml ]]
}
