# SPDX-License-Identifier: Apache-2.0
# Headers compiled once, for builds from scratch: a test compiles in half the time. Off by default, so that
# a file that forgets an include is found by who works on it; on in the lanes of scripts/test.sh.
option(ZLINK_PCH "Precompile common headers for the tests, and for the library if it is instrumented" OFF)

set(zlink_std_headers <algorithm> <array> <atomic> <cerrno> <chrono> <csignal> <cstring> <deque> <functional>
    <map> <memory> <mutex> <optional> <random> <span> <string> <string_view> <thread> <unordered_map>
    <unordered_set> <vector>)
set(zlink_asio_headers <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/ip/udp.hpp>
    <boost/asio/local/stream_protocol.hpp> <boost/asio/posix/stream_descriptor.hpp> <boost/asio/post.hpp>
    <boost/asio/steady_timer.hpp>)
set(zlink_gtest_headers <filesystem> <future> <gtest/gtest.h>)

# zlink_precompile(TARGET HEADER...): TARGET includes these headers, compiled once, whether it asks or not.
function(zlink_precompile target)
    if(ZLINK_PCH)
        target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
endfunction()

# zlink_share_precompiled(TARGET OWNER): the same for a target with the same compiler options.
function(zlink_share_precompiled target owner)
    if(ZLINK_PCH)
        target_precompile_headers(${target} REUSE_FROM ${owner})
    endif()
endfunction()
