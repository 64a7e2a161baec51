# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Other implementations of ZMTP, and of ZWS over WebSockets, as peers on the wire; one lane for each.

# Java keeps a list of its own of whom it trusts: a fresh one lacks what was added to the machine's before.
need_jdk() {
    has_command javac && return 0
    need_tool javac default-jdk-headless
    if has_command update-ca-certificates; then
        run_logged java-certificates as_root update-ca-certificates --fresh || true
    fi
}

role_jeromq() {
    need_jdk
    need_tool mvn maven
    run_logged wire-java mvn -q -B -f "$compat_dir/wire/java/pom.xml" -Dtarget="$work/wire-java" package || return 1
    role_command="java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp $work/wire-java/classes:$work/wire-java/dependency/* Role"
}

role_zmq4() {
    need_tool go golang-go
    (cd "$compat_dir/wire/go" && run_logged wire-go go build -o "$work/wire-go/role" .) || return 1
    role_command=$work/wire-go/role
}

# rust_is FROM: is there a Rust of that version or a later one?
rust_is() {
    local version
    version=$(rustc --version | awk '{ print $2 }') &&
        [[ $(printf '%s\n' "$1" "$version" | sort -V | head -n 1) == "$1" ]]
}

# The crate needs Rust 1.89. Debian has one that new under another name than `cargo`, Debian 12 only among its
# security updates, which not every machine takes.
role_zmqrs() {
    local package=cargo
    if ! has_command cargo && { apt_offers cargo-web || as_root apt-get update; } >/dev/null 2>&1; then
        if apt_offers cargo-web; then package=cargo-web; fi
    fi
    need_tool cargo "$package" "The crate needs Rust 1.89: https://rustup.rs"
    if ! rust_is 1.89; then
        skip_lane zmq.rs "the crate needs Rust 1.89, and here is $(rustc --version); see https://rustup.rs"
        exit 0
    fi
    run_logged wire-rust cargo build --locked --manifest-path "$compat_dir/wire/rust/Cargo.toml" \
        --target-dir "$work/wire-rust" || return 1
    role_command=$work/wire-rust/debug/role
}

# role_npm PACKAGE: both packages are in one directory.
role_npm() {
    need_tool node nodejs
    need_tool npm npm
    mkdir -p "$work/wire-node"
    cp "$compat_dir"/wire/node/* "$work/wire-node/"
    if ! cmp -s "$work/wire-node/package.json" "$work/wire-node/package.installed"; then
        run_logged wire-node npm install --prefix "$work/wire-node" --no-audit --no-fund || return 1
        cp "$work/wire-node/package.json" "$work/wire-node/package.installed"
    fi
    role_command="node $work/wire-node/role.js $1"
}

run_lane() {
    local peer=$1 role_command
    need_venv
    need_swapped_pyzmq
    check_pyzmq_library "$work/swapped" || die "the tests would not run on $library"
    case $peer in
        jeromq | jeromq-secure) role_jeromq ;;
        zmq4) role_zmq4 ;;
        zmq.rs) role_zmqrs ;;
        zeromq.js | zeromq.js-secure) role_npm zeromq ;;
        jszmq) role_npm jszmq ;;
    esac || die "could not build the peer $peer"
    # A Java machine or Node starts for each test of the security mechanisms, which takes minutes.
    case $peer in
        *-secure) run_pytest "$peer" "$compat_dir/wire" test_security.py --role "${peer%-secure}=$role_command" ;;
        *) run_pytest "$peer" "$compat_dir/wire" --ignore test_security.py --role "$peer=$role_command" ;;
    esac
}
