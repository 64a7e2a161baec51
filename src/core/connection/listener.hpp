// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/session.hpp"
#include "core/connection/transport_row.hpp"
#include "runtime/io_thread.hpp"
#include "transport/scheme.hpp"

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zlink::core {

/// Accepts connections on one bound endpoint and starts a session for each.
/// Thread safety: start(), close() and set_certificate() in any thread, the rest in its I/O thread.
class listener final : public runtime::resident, public std::enable_shared_from_this<listener> {
public:
    listener(runtime::io_pool& pool, runtime::io_thread& thread, std::shared_ptr<socket_side> side,
             std::shared_ptr<const socket_options> options, const transport_row& transport,
             std::shared_ptr<const transport::bind_endpoint> address,
             std::unique_ptr<transport::acceptor> acceptor);

    const std::string& endpoint() const noexcept { return endpoint_; }
    void start() noexcept { ask(request::begin); }
    /// See transport::bind_endpoint.
    void set_certificate(const transport::options& settings) const
    {
        address_->set_certificate(settings);
    }
    /// Stops listening before it returns; connections in handshake are given up.
    void close() noexcept;

    // runtime::resident
    void do_request(unsigned number) override;

private:
    enum class request : unsigned { begin, end };

    void ask(request what) noexcept;
    void wait_later() noexcept;
    void wait();
    void accept();
    void accept_soon();
    void begin_session(runtime::io_thread& target, transport::acceptor::result accepted);
    void pause(int error) noexcept;
    void end();

    runtime::io_pool& pool_;
    runtime::io_thread& thread_;
    std::shared_ptr<socket_side> side_;
    const std::shared_ptr<const socket_options> options_;
    const transport_row& transport_;
    const std::shared_ptr<const transport::bind_endpoint> address_;
    std::unique_ptr<transport::acceptor> acceptor_;
    const shared_text endpoint_;
    std::optional<boost::asio::steady_timer> pause_;
    std::vector<std::weak_ptr<session>> sessions_;
    std::size_t sessions_until_look_ = 0; ///< with so many, those that have ended are dropped
    bool closed_ = false;
    std::atomic<bool> ended_{false}; ///< close() waits for it
};

} // namespace zlink::core
