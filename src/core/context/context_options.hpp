// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/io_thread.hpp"

#include <climits>

namespace zlink::core {

/// The options of a context. What it has started with is fixed; see context.hpp.
/// Thread safety: plain data.
struct context_options {
    int io_threads = 1;
    int max_sockets = 1023;
    int max_message_bytes = INT_MAX; ///< kept; the genuine library does not enforce it either
    bool zero_copy_receive = true;   ///< kept: bodies refer to the receive buffer where it pays
    bool ipv6 = false;               ///< ZMQ_IPV6 of new sockets
    bool blocky = true;              ///< if not, new sockets have ZMQ_LINGER 0
    runtime::thread_settings threads;
};

/// Sets an option. 0, or EINVAL for unknown and read-only options and bad values.
int set_option(context_options& options, int id, int value);

/// The value of an option, which may be -1; -1 and EINVAL in `error` for unknown and write-only
/// options.
int get_option(const context_options& options, int id, int& error);

} // namespace zlink::core
