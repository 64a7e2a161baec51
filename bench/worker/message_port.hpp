// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/settings.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zlink::bench::worker {

/// How a socket tells its peers apart.
enum class addressing {
    none,
    frame,  ///< each message is [routing id][body] (ROUTER)
    number, ///< each message has a routing id beside its body (SERVER)
    stream, ///< [routing id][bytes as they come], without borders between messages (STREAM)
};

/// How messages look on one side's sockets.
struct port_format {
    std::size_t size_bytes = 0;
    bench::api api = bench::api::buffer;
    addressing peers = addressing::none;
    bool poll_before_receive = false; ///< zmq_poll, then a receive that does not block
    std::string peer_id;              ///< known routing id of the peer, or empty to learn it
};

/// Sends and receives numbered messages of a fixed size. Every received message is checked for its
/// size, its routing id and its frames; in a flow of bytes, each number for being where it belongs.
/// The sockets are borrowed and may be one and the same. Not thread-safe. Throws `failure`.
class message_port {
public:
    message_port(void* out, void* in, port_format format);

    /// Waits for the connection of a STREAM socket, before anything else.
    void meet_peer();

    /// Sends one message, blocking while the high-water mark is reached.
    void send(std::uint64_t sequence);

    /// Waits for the next message and returns its sequence number.
    std::uint64_t receive();

    /// Waits for the next message, whose sequence number has to be this one.
    void receive_expected(std::uint64_t sequence)
    {
        const std::uint64_t received = receive();
        if (received != sequence) {
            throw_out_of_order(sequence, received);
        }
    }

private:
    void send_frame(const void* data, std::size_t size, int flags);
    std::size_t receive_frame(std::span<char> buffer, bool more_expected);
    void receive_id();
    bool is_peer_id(std::size_t size) const;
    void learn_id(std::size_t size);
    void send_numbered();
    std::uint64_t receive_numbered();
    std::uint64_t receive_record();
    void receive_bytes();
    void wait_readable();
    void require_size(std::size_t size) const
    {
        if (size != format_.size_bytes) {
            throw_wrong_size(size);
        }
    }
    [[noreturn]] void throw_wrong_size(std::size_t size) const;
    [[noreturn]] void throw_out_of_order(std::uint64_t expected, std::uint64_t received) const;

    void* out_;
    void* in_;
    port_format format_;
    std::vector<char> send_buffer_;
    std::vector<char> receive_buffer_;
    std::vector<char> id_buffer_;
    std::uint32_t peer_number_ = 0;
    std::size_t bytes_begin_ = 0; ///< of receive_buffer_, with a flow of bytes: those that have
    std::size_t bytes_end_ = 0;   ///< come and were not looked at
};

} // namespace zlink::bench::worker
