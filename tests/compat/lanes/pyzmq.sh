# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# pyzmq's own tests, from its source distribution, on the library under test and on the genuine one.

pyzmq_version=$(sed -n 's/^pyzmq==//p' "$compat_dir/requirements.txt")
suite_dir=$work/pyzmq-$pyzmq_version
draft_dir=$work/pyzmq-draft

need_sources() {
    [[ -d $suite_dir/tests ]] && return 0
    run_logged pyzmq-sdist "$python" -m pip download --disable-pip-version-check --no-deps --no-build-isolation \
        --no-binary pyzmq --dest "$work" "pyzmq==$pyzmq_version" || return 1
    # Only the tests: the package beside them would be imported in place of the installed one.
    mkdir -p "$suite_dir.new"
    tar -xf "$work/pyzmq-$pyzmq_version.tar.gz" -C "$suite_dir.new" --strip-components=1 \
        --wildcards '*/tests' '*/pytest.ini' --exclude '*/zmq/tests'
    mv "$suite_dir.new" "$suite_dir"
}

# Built once for each state of the header: that, and not the library, is what the extension is made from.
need_draft_pyzmq() {
    local stamp=$draft_dir/zmq.h
    need_prefix || return 1
    cmp -s "$prefix/include/zmq.h" "$stamp" && return 0
    need_python_headers
    note "building pyzmq with the draft API"
    rm -rf "$draft_dir"
    ZMQ_PREFIX=$prefix ZMQ_DRAFT_API=1 PYZMQ_NO_BUNDLE=1 PATH=$venv/bin:$PATH \
        run_logged pyzmq-build "$python" -m pip install --disable-pip-version-check \
        --no-deps --no-build-isolation --target "$draft_dir" "$work/pyzmq-$pyzmq_version.tar.gz" &&
        cp "$prefix/include/zmq.h" "$stamp"
}

# run_suite NAME MODULE_PATH: see run_apart for the results.
run_suite() {
    local name=$1 module_path=$2
    (cd "$suite_dir" && PYTHONPATH=$module_path run_apart "$name" tests "$python" -m pytest -v \
        -p no:cacheprovider --basetemp "$work/tmp-$name" --timeout 60 --deselect tests/test_mypy.py)
}

# The genuine library's results are kept until the environment changes.
need_genuine_results() {
    if [[ $refresh == no && $work/pyzmq-genuine-apart.xml -nt $venv/requirements.installed ]]; then return 0; fi
    note "on the genuine library, to compare with"
    run_suite pyzmq-genuine ''
}

run_lane() {
    local lane=$1 module_path
    need_venv
    need_sources || die "could not fetch the source distribution of pyzmq $pyzmq_version"
    need_genuine_results || die "the tests of pyzmq did not run on the genuine library"
    case $lane in
        pyzmq-wheel) need_swapped_pyzmq && module_path=$work/swapped ;;
        pyzmq-draft) need_draft_pyzmq && module_path=$draft_dir ;;
    esac || die "could not prepare pyzmq"
    check_pyzmq_library "$module_path" || die "the tests would not run on $library"
    note "on the library under test"
    run_suite "$lane-run" "$module_path" || die "the tests of pyzmq did not run to their end"
    python3 "$compat_dir/compare_junit.py" --genuine "$work"/pyzmq-genuine{,-apart}.xml \
        --tested "$work/$lane-run"{,-apart}.xml --output "$results_dir/$lane.xml"
}
