// SPDX-License-Identifier: Apache-2.0
#include "worker/message_port.hpp"

#include "worker/zmq_handles.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace zlink::bench::worker {

namespace {

constexpr std::size_t max_id_bytes = 255;

void send_as_msg(void* socket, const void* data, std::size_t size, int flags)
{
    zmq_msg_t message;
    checked(zmq_msg_init_size(&message, size), "zmq_msg_init_size");
    std::memcpy(zmq_msg_data(&message), data, size);
    if (zmq_msg_send(&message, socket, flags) == -1) {
        zmq_msg_close(&message);
        throw_zmq_error("zmq_msg_send");
    }
}

/// Receives one frame and copies of it what fits into `buffer`. Returns its full size.
std::size_t receive_as_msg(void* socket, std::vector<char>& buffer, int flags, bool more_expected)
{
    zmq_msg_t message;
    checked(zmq_msg_init(&message), "zmq_msg_init");
    const int size = zmq_msg_recv(&message, socket, flags);
    const bool framed_well = size == -1 || (zmq_msg_more(&message) != 0) == more_expected;
    if (size != -1) {
        // A program that uses messages reads them where they lie, so only the number is copied.
        const std::size_t wanted = more_expected ? buffer.size() : sizeof(std::uint64_t);
        std::memcpy(buffer.data(), zmq_msg_data(&message),
                    std::min(static_cast<std::size_t>(size), wanted));
    }
    zmq_msg_close(&message);
    checked(size, "zmq_msg_recv");
    if (!framed_well) {
        throw failure("a message arrived with a wrong number of frames");
    }
    return static_cast<std::size_t>(size);
}

} // namespace

message_port::message_port(void* out, void* in, port_format format)
    : out_(out),
      in_(in),
      format_(std::move(format)),
      send_buffer_(format_.size_bytes, 'z'),
      receive_buffer_(format_.size_bytes),
      id_buffer_(max_id_bytes)
{}

void message_port::send(std::uint64_t sequence)
{
    if (format_.addressed) {
        send_frame(format_.peer_id.data(), format_.peer_id.size(), ZMQ_SNDMORE);
    }
    std::memcpy(send_buffer_.data(), &sequence, sizeof sequence);
    send_frame(send_buffer_.data(), send_buffer_.size(), 0);
}

std::uint64_t message_port::receive()
{
    if (format_.poll_before_receive) {
        wait_readable();
    }
    if (format_.addressed) {
        receive_id();
    }
    const std::size_t size = receive_frame(receive_buffer_, false);
    if (size != format_.size_bytes) {
        throw failure(fmt::format("received {} bytes instead of {}", size, format_.size_bytes));
    }
    std::uint64_t sequence = 0;
    std::memcpy(&sequence, receive_buffer_.data(), sizeof sequence);
    return sequence;
}

void message_port::send_frame(const void* data, std::size_t size, int flags)
{
    if (format_.api == api::msg) {
        send_as_msg(out_, data, size, flags);
    } else {
        checked(zmq_send(out_, data, size, flags), "zmq_send");
    }
}

std::size_t message_port::receive_frame(std::vector<char>& buffer, bool more_expected)
{
    const int flags = format_.poll_before_receive ? ZMQ_DONTWAIT : 0;
    if (format_.api == api::msg) {
        return receive_as_msg(in_, buffer, flags, more_expected);
    }
    // zmq_recv returns the full size even if the frame did not fit.
    return static_cast<std::size_t>(
        checked(zmq_recv(in_, buffer.data(), buffer.size(), flags), "zmq_recv"));
}

void message_port::receive_id()
{
    const std::size_t size = receive_frame(id_buffer_, true);
    const std::string_view id(id_buffer_.data(), std::min(size, id_buffer_.size()));
    if (format_.peer_id.empty()) {
        format_.peer_id = id;
    }
    if (id != format_.peer_id) {
        throw failure("a message arrived with a wrong routing id");
    }
}

void message_port::wait_readable()
{
    zmq_pollitem_t item{in_, 0, ZMQ_POLLIN, 0};
    checked(zmq_poll(&item, 1, -1), "zmq_poll");
    if ((item.revents & ZMQ_POLLIN) == 0) {
        throw failure("zmq_poll returned without an event");
    }
}

void message_port::throw_out_of_order(std::uint64_t expected, std::uint64_t received) const
{
    throw failure(fmt::format("message {} arrived where {} was expected", received, expected));
}

} // namespace zlink::bench::worker
