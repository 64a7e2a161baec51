// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/options/options.hpp"
#include "transport/scheme.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

namespace zlink::core {

/// For whom a dialer connects. Nothing of this may throw.
class dialing_owner {
public:
    virtual ~dialing_owner() = default;
    /// With each connection made; then nothing more happens until dialer::retry(), or until
    /// dialer::unreached() where the upgrades of the connection have not led to the peer. With
    /// null: there is none, and no other try will be made.
    virtual void connected(std::unique_ptr<transport::stream> stream) noexcept = 0;
    /// ZMQ_EVENT_CONNECT_DELAYED, _CLOSED and _CONNECT_RETRIED with their values.
    virtual void dialing(std::uint64_t event, int value) noexcept = 0;
    /// The dialer cannot go on by itself, as there is no memory: dialer::go_on() is to be called
    /// after a while.
    virtual void dialing_is_stuck() noexcept = 0;
};

/// Connects to one endpoint. After a failure it tries again at the reconnect interval (which grows
/// only with ZMQ_RECONNECT_IVL_MAX), until told to stop; where the options forbid another attempt
/// it tells of null.
/// Thread safety: the thread of the I/O context only.
/// Lifetime: keeps itself alive while something is pending; no call-back after stop().
class dialer : public std::enable_shared_from_this<dialer> {
public:
    dialer(boost::asio::io_context& io, std::shared_ptr<transport::connect_endpoint> endpoint,
           std::shared_ptr<const socket_options> options);

    transport::connect_endpoint& endpoint() const noexcept { return *endpoint_; }

    /// Begins; `owner` is kept until stop(). The last ZMQ_EVENT_CLOSED is told by stop(), when the
    /// owner knows that there is no connection: who hears the event may connect again.
    void start(std::shared_ptr<dialing_owner> owner) noexcept;
    /// When it is stuck: as if an attempt to connect had failed; nothing if it is not stuck.
    void go_on();
    /// The connection has come as far as its traffic: the reconnect interval starts anew.
    void succeeded();
    /// The connection does not lead to the peer, for this reason, and its descriptor was closed:
    /// retries, or tells of null, as if it had not been made.
    void unreached(const transport::error_code& error, int descriptor);
    /// Do the options want another try after a connection was lost, or could not be used?
    bool retries_after_loss(bool handshake_failed) const noexcept;
    /// Tries again after the reconnect interval. Only where the options want another try.
    void retry();
    void stop() noexcept;

private:
    struct answer;

    void attempt() noexcept;
    void failed(const transport::error_code& error);
    void attempted(const answer& which, const transport::error_code& error,
                   std::unique_ptr<transport::stream> stream);
    void get_stuck() noexcept;
    bool retries_after(const transport::error_code& error) const noexcept;
    int next_interval_ms();
    void tell(std::uint64_t event, int value)
    {
        tell_closed();
        if (to_)
            to_->dialing(event, value);
    }
    void tell_closed();

    boost::asio::io_context& io_;
    const std::shared_ptr<transport::connect_endpoint> endpoint_;
    const std::shared_ptr<const socket_options> options_;
    std::unique_ptr<boost::asio::steady_timer> timer_;  ///< once it has tried again
    std::weak_ptr<transport::connect_attempt> attempt_; ///< while it is pending
    const answer* awaited_ = nullptr;                   ///< that of the attempt
    std::shared_ptr<dialing_owner> to_;                 ///< null before start() and after stop()
    bool is_stuck_ = false;
    std::optional<int> closed_descriptor_; ///< of which ZMQ_EVENT_CLOSED is still to be told
    int interval_ms_ = 0; ///< of the last retry, 0 = none since the last connection
};

} // namespace zlink::core
