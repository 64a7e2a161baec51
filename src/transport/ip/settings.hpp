// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/options.hpp"
#include "transport/stream.hpp"

namespace zlink::transport::ip_settings {

/// Sets one int option of a socket; failures are not worth failing for.
void set_int(int fd, int level, int name, int value) noexcept;

/// What every fresh IP socket gets before it is bound or connected: buffer sizes, type of service,
/// priority, busy polling, both families if it is IPv6, the device. Fails if it cannot have the
/// device.
error_code apply(int fd, const options& settings);

/// SO_PRIORITY and SO_BUSY_POLL, which accepted sockets do not inherit.
void apply_per_connection(int fd, const options& settings) noexcept;

} // namespace zlink::transport::ip_settings
