# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Bindings that are compiled against the library, or carry another one: each with a program of checks.

run_checks() {
    local lane=$1
    shift
    run_tests "$lane" python3 "$compat_dir/bindings/checks.py" --output "$results_dir/$lane.xml" "$@"
    [[ -s $results_dir/$lane.xml ]]
}

run_cppzmq() {
    unpack_debs cppzmq-dev
    need_prefix
    mkdir -p "$work/cppzmq"
    # Alone in its directory: the packages of the distribution may hold another zmq.h.
    cp "$deb_root"/usr/include/zmq*.hpp "$work/cppzmq/"
    run_logged cppzmq-build g++ -std=c++17 -O1 -DZMQ_BUILD_DRAFT_API -isystem "$work/cppzmq" -I "$prefix/include" \
        "$compat_dir/bindings/cppzmq.cpp" -o "$work/cppzmq/checks" -L "$(dirname "$library")" -lzmq -pthread \
        -Wl,-rpath,"$(dirname "$library")" || die "cppzmq does not compile against the library"
    run_checks cppzmq "$work/cppzmq/checks"
}

# The crate would build a libzmq of its own; Cargo lets a program say that it has one.
run_rust_zmq() {
    local target
    need_tool cargo cargo
    need_prefix
    target=$(rustc -vV | sed -n 's/^host: //p')
    run_logged rust-zmq-build cargo build --release --locked --manifest-path "$compat_dir/bindings/rust/Cargo.toml" \
        --target-dir "$work/rust-zmq" \
        --config "target.$target.zmq.rustc-link-lib=['zmq']" \
        --config "target.$target.zmq.rustc-link-search=['$prefix/lib']" ||
        die "the crate zmq does not build against the library"
    LD_LIBRARY_PATH=$(dirname "$library") EXPECT_LIBRARY=$library run_checks rust-zmq "$work/rust-zmq/release/checks"
}

# The addon has its library linked into itself, but calls it through the dynamic symbol table, which is where
# a preloaded one comes first.
addon_calls_library() {
    local bindings
    bindings=$(LD_BIND_NOW=1 LD_DEBUG=bindings LD_PRELOAD=$library node -e 'require("zeromq")' 2>&1 </dev/null |
        sed -n 's/.*addon[^ ]* \[0\] to \([^ ]*\) .* .\(zmq_[a-z0-9_]*\).$/\1 \2/p')
    grep -q "^$library zmq_" <<<"$bindings" && ! grep -v zmq_sha1 <<<"$bindings" | grep -q '^[^ ]*addon'
}

run_node() {
    need_tool node nodejs
    need_tool npm npm
    mkdir -p "$work/node"
    cp "$compat_dir"/bindings/node/* "$work/node/"
    if [[ ! -e $work/node/node_modules/zeromq ]]; then
        run_logged node-install npm install --prefix "$work/node" --no-audit --no-fund || die "npm could not install zeromq"
    fi
    (cd "$work/node" && addon_calls_library) || die "the addon would not run on $library"
    EXPECT_LIBRARY=$library run_checks node env LD_PRELOAD="$library" node "$work/node/checks.js"
}

run_lane() {
    case $1 in
        cppzmq) run_cppzmq ;;
        rust-zmq) run_rust_zmq ;;
        node) run_node ;;
    esac
}
