# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Applications on pyzmq, and the event loops, with the library in the wheel's place.

run_lane() {
    local lane=$1 directory=$compat_dir/apps
    use_venv apps "$compat_dir/apps/requirements.txt"
    need_venv
    need_swapped_pyzmq
    check_pyzmq_library "$work/swapped" || die "the tests would not run on $library"
    export EXPECT_LIBRARY=$library JUPYTER_PLATFORM_DIRS=1 IPYTHONDIR=$work/tmp-ipython
    export JUPYTER_DATA_DIR=$venv/share/jupyter JUPYTER_RUNTIME_DIR=$work/tmp-jupyter
    case $lane in
        loops) run_pytest "$lane" "$compat_dir/loops" ;;
        *) run_pytest "$lane" "$directory" "test_$lane.py" ;;
    esac
}
