// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/wait/alarm_reserve.hpp"
#include "base/wait/waiter.hpp"
#include "core/connection/inproc.hpp"
#include "core/connection/mechanism_row.hpp"
#include "core/connection/transport_row.hpp"
#include "core/context/context_options.hpp"
#include "core/socket/pattern.hpp"
#include "core/socket/socket.hpp"
#include "core/socket/socket_services.hpp"
#include "runtime/io_thread.hpp"
#include "transport/datagram.hpp"
#include "transport/scheme.hpp"
#include "transport/shared_ports.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_set>

namespace zlink::core {

/// What is compiled in; made by the composition root.
struct builtins {
    std::span<const transport_row> transports;
    std::span<const mechanism_row> mechanisms;
    std::span<const pattern_row> patterns;
    std::span<const transport::datagram_scheme* const> datagram_schemes;
    bool steps_io_threads = false; ///< for tests, see runtime::thread_settings::stepped
};

/// Sockets, their I/O threads and the inproc names they share.
///
/// Thread safety: any thread.
/// Lifetime: terminate() returns 0 when every socket is closed and every lingering message is sent
/// or given up; then the object can be destroyed.
class context final : public socket_services {
public:
    explicit context(const builtins& parts);
    ~context();
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    /// ZMQ context options. 0 or errno.
    int set_option(int id, int value);
    /// -1 and `error` for unknown options; some values are -1 without an error.
    int get_option(int id, int& error) const;
    int set_name_prefix(std::string_view prefix);
    std::string name_prefix() const;

    /// Null and `error` (EINVAL, EMFILE, ETERM, EAGAIN for threads that cannot be made).
    std::shared_ptr<socket> open_socket(int type, int& error) override;
    void close_socket(const std::shared_ptr<socket>& closing) override;

    /// All operations end with ETERM from now on.
    void shutdown();
    /// shutdown(), then waits for the end of everything. 0 or EINTR.
    int terminate();

    // socket_services
    const transport_row* find_transport(std::string_view scheme) const noexcept override;
    const transport::datagram_scheme*
    find_datagram_scheme(std::string_view name) const noexcept override;
    std::span<const mechanism_row> mechanisms() const noexcept override
    {
        return parts_.mechanisms;
    }
    runtime::io_thread* choose_thread(std::uint64_t affinity) noexcept override
    {
        return pool_.choose(affinity);
    }
    runtime::io_pool& pool() noexcept override { return pool_; }
    inproc_registry& inproc() noexcept override { return inproc_; }
    base::alarm_reserve& alarms() noexcept override { return alarms_; }

private:
    std::shared_ptr<void> make_hold();
    void released() noexcept;

    const builtins& parts_;
    mutable std::mutex mutex_;
    context_options options_;
    int socket_slots_ = 0; ///< the most sockets, as set when the first one was opened
    bool started_ = false;
    bool shut_down_ = false;
    std::unordered_set<std::shared_ptr<socket>> sockets_;
    /// Those of the newest socket: the next one may be like it.
    struct {
        std::shared_ptr<const socket_options> options;
        bool ipv6 = false;
        bool blocky = false;
    } defaults_;
    std::unique_ptr<transport::shared_ports> ports_; ///< once there are sockets
    std::mutex hold_mutex_;
    int holds_ = 0; ///< sockets with all that still works for them
    base::waiter ended_;
    inproc_registry inproc_;
    runtime::io_pool pool_;
    base::alarm_reserve alarms_; ///< has one from the first socket on, if one was to be had then
};

} // namespace zlink::core
