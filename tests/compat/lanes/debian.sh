# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Programs of the distribution that are linked to libzmq.so.5, with LD_LIBRARY_PATH: czmq's own tests,
# which are part of its library, Debian's pyzmq with the tests in its package, and pmacctd.

multiarch=$(gcc -print-multiarch 2>/dev/null || echo x86_64-linux-gnu)
deb_libraries=$deb_root/usr/lib/$multiarch

need_system_libraries() {
    mapfile -t packages < <(missing_debs "$@")
    unpack_debs "$@" "${packages[@]}" libzmq5
}

# with_library DIRECTORY COMMAND...: the directory that has the libzmq.so.5 to use comes first.
with_library() {
    local directory=$1
    shift
    LD_LIBRARY_PATH=$directory:$deb_libraries "$@"
}

# The libraries that stand in for each other: each alone in a directory.
need_library_directories() {
    mkdir -p "$work/tested-lib" "$work/system-lib"
    ln -sfn "$library" "$work/tested-lib/libzmq.so.5"
    ln -sfn "$(realpath "$deb_libraries/libzmq.so.5")" "$work/system-lib/libzmq.so.5"
}

run_czmq() {
    need_system_libraries libczmq4
    need_library_directories
    local side
    for side in system tested; do
        with_library "$work/$side-lib" run_tests "czmq-$side" python3 "$compat_dir/debian/czmq_tests.py" \
            --expect-library "$work/$side-lib/libzmq.so.5" --output "$work/czmq-$side.xml"
    done
    python3 "$compat_dir/compare_junit.py" --genuine "$work/czmq-system.xml" --tested "$work/czmq-tested.xml" \
        --output "$results_dir/czmq.xml"
}

# pytest comes from the environment of the other Python lanes: behind the packages of the distribution.
run_python3_zmq() {
    local side modules
    need_venv
    need_system_libraries python3-zmq
    need_library_directories
    modules=$deb_root/usr/lib/python3/dist-packages:$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    for side in system tested; do
        (cd "$work" && PYTHONPATH=$modules with_library "$work/$side-lib" \
            run_apart "python3-zmq-$side" "${deb_root#"$work/"}/usr/lib/python3/dist-packages/zmq/tests" \
            /usr/bin/python3 -m pytest -v -p no:cacheprovider -p no:gevent \
            --basetemp "$work/tmp-python3-zmq" --timeout 60 --rootdir "$work" -o asyncio_mode=auto)
    done
    python3 "$compat_dir/compare_junit.py" --genuine "$work"/python3-zmq-system{,-apart}.xml \
        --tested "$work"/python3-zmq-tested{,-apart}.xml --output "$results_dir/python3-zmq.xml"
}

run_pmacct() {
    need_system_libraries pmacct
    need_library_directories
    run_tests pmacct python3 "$compat_dir/debian/pmacct_tests.py" --root "$deb_root" \
        --genuine "$work/system-lib/libzmq.so.5" --tested "$work/tested-lib/libzmq.so.5" \
        --output "$results_dir/pmacct.xml"
    [[ -s $results_dir/pmacct.xml ]]
}

run_lane() {
    case $1 in
        czmq) run_czmq ;;
        python3-zmq) run_python3_zmq ;;
        pmacct) run_pmacct ;;
    esac
}
