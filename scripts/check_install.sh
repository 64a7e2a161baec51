#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs a build into a temporary prefix and uses it there as other projects would: with pkg-config
# and with find_package(ZeroMQ), shared and static.
#
#   scripts/check_install.sh [BUILD DIRECTORY]      default: build
set -eu

build=${1:-build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
source=$scratch/consumer

cmake --install "$build" --prefix "$prefix" >"$scratch/install.log"

# CMAKE_INSTALL_LIBDIR is lib, lib64 or lib/<architecture>.
pc=$(find "$prefix" -name libzmq.pc)
libdir=$(dirname "$(dirname "$pc")")
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH

mkdir "$source"
cat >"$source/consumer.c" <<'END'
#include <zlink.h>
#include <zmq.h>
#include <string.h>

int main(void) {
    char text[6] = "";
    void* context = zmq_ctx_new();
    void* in = zmq_socket(context, ZMQ_PULL);
    void* out = zmq_socket(context, ZMQ_PUSH);
    int fine = zmq_bind(in, "inproc://check") == 0 && zmq_connect(out, "inproc://check") == 0;
    fine = fine && zmq_send(out, "zlink", 5, 0) == 5 && zlink_flush() == 0 && zmq_recv(in, text, 5, 0) == 5;
    zmq_close(out);
    zmq_close(in);
    zmq_ctx_term(context);
    return fine && strcmp(text, "zlink") == 0 ? 0 : 1;
}
END
cat >"$source/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.21)
project(consumer LANGUAGES C CXX)
find_package(ZeroMQ 4.3 REQUIRED)
add_executable(with_shared consumer.c)
target_link_libraries(with_shared libzmq)
add_executable(with_static consumer.c)
target_link_libraries(with_static libzmq-static)
add_executable(with_alias consumer.c)
target_link_libraries(with_alias ZeroMQ::libzmq)
add_executable(with_variables consumer.c)
target_include_directories(with_variables PRIVATE ${ZeroMQ_INCLUDE_DIR})
target_link_libraries(with_variables ${ZeroMQ_LIBRARY})
END

# needs PROGRAM yes|no: whether the program loads libzmq.so.5, and from the prefix.
needs() {
    loaded=$(LD_LIBRARY_PATH=$libdir ldd "$1" | awk '/libzmq\.so\.5/ { print $3 }')
    case $2:$loaded in
        "yes:$libdir/libzmq.so.5" | no:) ;;
        *) echo "check_install: $1 loads '${loaded:-no libzmq}'" >&2; exit 1 ;;
    esac
}

# runs NAME PROGRAM yes|no
runs() {
    needs "$2" "$3"
    LD_LIBRARY_PATH=$libdir timeout 20 "$2" || { echo "check_install: $1 failed" >&2; exit 1; }
    echo "check_install: $1 works"
}

# shellcheck disable=SC2046 # the flags are words
cc "$source/consumer.c" $(pkg-config --cflags --libs libzmq) -o "$scratch/pc_shared"
runs "pkg-config, shared" "$scratch/pc_shared" yes
# shellcheck disable=SC2046
cc "$source/consumer.c" $(pkg-config --cflags libzmq) \
    $(pkg-config --static --libs libzmq | sed 's/-lzmq/-Wl,-Bstatic -lzmq -Wl,-Bdynamic/') \
    -o "$scratch/pc_static"
runs "pkg-config, static" "$scratch/pc_static" no

# The build tool that built the library, where CMake would look for make.
generator=
! command -v ninja >/dev/null || generator=Ninja
if ! { cmake -S "$source" -B "$scratch/cmake" ${generator:+-G "$generator"} \
    -DCMAKE_PREFIX_PATH="$prefix" &&
    cmake --build "$scratch/cmake"; } >"$scratch/cmake.log" 2>&1; then
    cat "$scratch/cmake.log" >&2
    exit 1
fi
runs "find_package, libzmq" "$scratch/cmake/with_shared" yes
runs "find_package, libzmq-static" "$scratch/cmake/with_static" no
runs "find_package, ZeroMQ::libzmq" "$scratch/cmake/with_alias" yes
runs "find_package, variables" "$scratch/cmake/with_variables" yes
