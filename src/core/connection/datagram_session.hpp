// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/socket_side.hpp"
#include "core/options/options.hpp"
#include "core/pipe/pipe.hpp"
#include "runtime/io_thread.hpp"
#include "transport/datagram.hpp"

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zlink::core {

enum class endpoint_role : std::uint8_t { bound, connected };

/// How a socket type uses datagrams at such an endpoint; nothing if it does not.
std::optional<datagram_head> datagram_head_for(const socket_type_traits& type,
                                               endpoint_role role) noexcept;

/// The I/O side of a pipe whose messages are datagrams: each message of two parts is sent as one,
/// each one received is put into the pipe as such a message. There is no handshake, no connection
/// and no word of loss: what does not fit into a datagram, has no address or is refused by the
/// system is dropped; so is what comes and makes no sense. While the pipe is full nothing is read.
///
/// Thread safety: everything belongs to its I/O thread, except the constructor, start(), settle()
/// and the pipe_peer functions, which the socket's thread calls and which ask that thread.
/// Lifetime: keeps itself alive while it works; the socket's pipe end refers to it as well.
class datagram_session final : public pipe_peer,
                               public runtime::resident,
                               public std::enable_shared_from_this<datagram_session> {
public:
    datagram_session(runtime::io_thread& thread, std::shared_ptr<socket_side> side,
                     std::shared_ptr<const socket_options> options, datagram_head head,
                     endpoint_role role, std::unique_ptr<transport::datagram_socket> socket);

    /// The socket's end of the pipe, for the socket to adopt before start(). Throws std::bad_alloc,
    /// and there is none.
    std::shared_ptr<pipe_end> make_pipe();
    void start() noexcept;
    /// After the pipe was closed: waits until the address is free again, or as long as it takes to
    /// find that the system does not take what is still to be sent.
    void settle() noexcept;

    // pipe_peer: the socket's thread
    void on_readable() noexcept override;
    void on_writable() noexcept override;
    void on_ended(pipe_ending how, int linger_ms) noexcept override;

    // runtime::resident
    void do_request(unsigned number) override;

private:
    /// What is asked of the I/O thread, by it or another; done in this order.
    enum class request : unsigned { send, receive, close, settle };

    void ask(request what) noexcept;
    void ask_later(request what) noexcept;
    void send();
    bool send_next();
    int send_message(const frame& body);
    void receive();
    void deliver(const transport::datagram& got);
    void put(std::string_view head, std::span<const std::byte> body);
    void wait(transport::direction which);
    void begin_close(int linger_ms);
    void finish();

    runtime::io_thread& thread_;
    boost::asio::io_context& io_;
    std::shared_ptr<socket_side> side_; ///< until finish(): the context waits for it
    const std::shared_ptr<const socket_options> options_;
    const datagram_head head_;
    const endpoint_role role_;
    std::unique_ptr<transport::datagram_socket> socket_;
    std::shared_ptr<pipe_end> socket_end_;
    std::shared_ptr<pipe_end> end_; ///< ours: what it reads is to be sent
    std::vector<std::byte> buffer_; ///< for the largest datagram, if any are received
    std::string next_head_;         ///< of the message whose body comes next in the pipe
    bool has_next_head_ = false;
    std::optional<boost::asio::steady_timer> linger_;
    std::atomic<int> linger_ms_{-1};   ///< what on_ended() was told
    std::atomic<bool> settled_{false}; ///< settle() waits for it
    bool waiting_to_read_ = false;
    bool waiting_to_write_ = false;
    bool closing_ = false;
    bool finished_ = false;
};

} // namespace zlink::core
