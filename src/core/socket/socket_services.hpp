// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/wait/alarm_reserve.hpp"
#include "core/connection/mechanism_row.hpp"
#include "core/connection/transport_row.hpp"
#include "runtime/io_thread.hpp"
#include "transport/datagram.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace zlink::core {

class inproc_registry;
class socket;

/// What a socket needs of its context.
/// Thread safety: any thread.
class socket_services {
public:
    /// Null: there is no such transport.
    virtual const transport_row* find_transport(std::string_view scheme) const noexcept = 0;
    virtual const transport::datagram_scheme*
    find_datagram_scheme(std::string_view name) const noexcept = 0;
    virtual std::span<const mechanism_row> mechanisms() const noexcept = 0;
    /// Null: the affinity allows none.
    virtual runtime::io_thread* choose_thread(std::uint64_t affinity) noexcept = 0;
    virtual runtime::io_pool& pool() noexcept = 0;
    virtual inproc_registry& inproc() noexcept = 0;
    virtual base::alarm_reserve& alarms() noexcept = 0;
    /// Null and `error` (EINVAL, EMFILE, ETERM, EAGAIN for threads that cannot be made).
    virtual std::shared_ptr<socket> open_socket(int type, int& error) = 0;
    virtual void close_socket(const std::shared_ptr<socket>& closing) = 0;

protected:
    ~socket_services() = default;
};

} // namespace zlink::core
