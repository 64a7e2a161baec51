// SPDX-License-Identifier: Apache-2.0
#include "worker/message_port.hpp"

#include "worker/frames.hpp"
#include "worker/zmq_handles.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace zlink::bench::worker {

namespace {

constexpr std::size_t max_id_bytes = 255;
// More than any library reads at a time.
constexpr std::size_t max_chunk_bytes = 256 * 1024;

// What is not on the way of every message stays out of the functions that are, so that these are
// short: the time of this program counts as the library's.
[[noreturn, gnu::noinline]] void fail(const char* reason)
{
    throw failure(reason);
}

/// A function that libraries without draft types do not have.
template <class Function>
Function* draft_function(const char* name)
{
    void* const found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr) {
        throw failure(fmt::format("the library has no {}", name));
    }
    return reinterpret_cast<Function*>(found);
}

} // namespace

message_port::message_port(void* out, void* in, port_format format)
    : out_(out),
      in_(in),
      format_(std::move(format)),
      send_buffer_(format_.size_bytes, 'z'),
      receive_buffer_(format_.size_bytes +
                      (format_.peers == addressing::stream ? max_chunk_bytes : 0)),
      id_buffer_(max_id_bytes)
{}

inline void message_port::send_frame(const void* data, std::size_t size, int flags)
{
    worker::send_frame(format_.api, out_, data, size, flags);
}

inline std::size_t message_port::receive_frame(std::span<char> buffer, bool more_expected)
{
    const int flags = format_.poll_before_receive ? ZMQ_DONTWAIT : 0;
    return worker::receive_frame(format_.api, in_, buffer, flags, more_expected);
}

inline void message_port::receive_id()
{
    const std::size_t size = receive_frame(id_buffer_, true);
    if (!is_peer_id(size)) {
        learn_id(size);
    }
}

// memcmp() has to wait until bytes that were just written as numbers of another width have reached
// the cache, which takes longer than all else that is done with an id.
inline bool message_port::is_peer_id(std::size_t size) const
{
    const std::string& expected = format_.peer_id;
    if (size != expected.size()) {
        return false;
    }
    if (size != sizeof(std::uint64_t)) {
        return std::memcmp(id_buffer_.data(), expected.data(), size) == 0;
    }
    std::uint64_t received = 0;
    std::uint64_t wanted = 0;
    std::memcpy(&received, id_buffer_.data(), size);
    std::memcpy(&wanted, expected.data(), size);
    return received == wanted;
}

void message_port::meet_peer()
{
    receive_id();
    if (receive_frame(receive_buffer_, false) != 0) {
        fail("bytes arrived before the notice of a connection");
    }
}

void message_port::send(std::uint64_t sequence)
{
    std::memcpy(send_buffer_.data(), &sequence, sizeof sequence);
    if (format_.peers == addressing::number) {
        return send_numbered();
    }
    if (format_.peers != addressing::none) {
        send_frame(format_.peer_id.data(), format_.peer_id.size(), ZMQ_SNDMORE);
    }
    send_frame(send_buffer_.data(), send_buffer_.size(), 0);
}

std::uint64_t message_port::receive()
{
    if (format_.poll_before_receive) {
        wait_readable();
    }
    if (format_.peers != addressing::none) {
        if (format_.peers == addressing::stream) {
            return receive_record();
        }
        if (format_.peers == addressing::number) {
            return receive_numbered();
        }
        receive_id();
    }
    // A program that uses messages reads them where they lie, so only the number is copied.
    const std::size_t wanted =
        format_.api == api::msg ? sizeof(std::uint64_t) : receive_buffer_.size();
    const std::size_t size = receive_frame({receive_buffer_.data(), wanted}, false);
    require_size(size);
    std::uint64_t sequence = 0;
    std::memcpy(&sequence, receive_buffer_.data(), sizeof sequence);
    return sequence;
}

// The first id that comes is the peer's, unless it was known before.
void message_port::learn_id(std::size_t size)
{
    if (!format_.peer_id.empty() || size > id_buffer_.size()) {
        fail("a message arrived with a wrong routing id");
    }
    format_.peer_id.assign(id_buffer_.data(), size);
}

void message_port::send_numbered()
{
    static auto* const set_routing_id =
        draft_function<int(zmq_msg_t*, std::uint32_t)>("zmq_msg_set_routing_id");
    zmq_msg_t message;
    checked(zmq_msg_init_size(&message, send_buffer_.size()), "zmq_msg_init_size");
    std::memcpy(zmq_msg_data(&message), send_buffer_.data(), send_buffer_.size());
    checked(set_routing_id(&message, peer_number_), "zmq_msg_set_routing_id");
    if (zmq_msg_send(&message, out_, 0) == -1) {
        zmq_msg_close(&message);
        throw_zmq_error("zmq_msg_send");
    }
}

std::uint64_t message_port::receive_numbered()
{
    static auto* const routing_id = draft_function<std::uint32_t(zmq_msg_t*)>("zmq_msg_routing_id");
    zmq_msg_t message;
    checked(zmq_msg_init(&message), "zmq_msg_init");
    const int size = zmq_msg_recv(&message, in_, 0);
    std::uint64_t sequence = 0;
    if (size >= static_cast<int>(sizeof sequence)) {
        std::memcpy(&sequence, zmq_msg_data(&message), sizeof sequence);
    }
    const std::uint32_t from = size == -1 ? 0 : routing_id(&message);
    zmq_msg_close(&message);
    checked(size, "zmq_msg_recv");
    require_size(static_cast<std::size_t>(size));
    if (peer_number_ == 0) {
        peer_number_ = from;
    }
    if (from == 0 || from != peer_number_) {
        fail("a message arrived with a wrong routing id");
    }
    return sequence;
}

std::uint64_t message_port::receive_record()
{
    while (bytes_end_ - bytes_begin_ < format_.size_bytes) {
        receive_bytes();
    }
    std::uint64_t sequence = 0;
    std::memcpy(&sequence, receive_buffer_.data() + bytes_begin_, sizeof sequence);
    bytes_begin_ += format_.size_bytes;
    return sequence;
}

// Appends what comes to the beginning of a record that is there already.
void message_port::receive_bytes()
{
    if (bytes_begin_ != 0) {
        std::copy(receive_buffer_.begin() + static_cast<std::ptrdiff_t>(bytes_begin_),
                  receive_buffer_.begin() + static_cast<std::ptrdiff_t>(bytes_end_),
                  receive_buffer_.begin());
        bytes_end_ -= std::exchange(bytes_begin_, 0);
    }
    receive_id();
    const std::span<char> space(receive_buffer_.data() + bytes_end_,
                                receive_buffer_.size() - bytes_end_);
    const std::size_t size = receive_frame(space, false);
    if (size == 0 || size > space.size()) {
        fail(size == 0 ? "the connection is lost" : "more bytes at once than expected");
    }
    bytes_end_ += size;
}

void message_port::wait_readable()
{
    zmq_pollitem_t item{in_, 0, ZMQ_POLLIN, 0};
    checked(zmq_poll(&item, 1, -1), "zmq_poll");
    if ((item.revents & ZMQ_POLLIN) == 0) {
        fail("zmq_poll returned without an event");
    }
}

void message_port::throw_wrong_size(std::size_t size) const
{
    throw failure(fmt::format("received {} bytes instead of {}", size, format_.size_bytes));
}

void message_port::throw_out_of_order(std::uint64_t expected, std::uint64_t received) const
{
    throw failure(fmt::format("message {} arrived where {} was expected", received, expected));
}

} // namespace zlink::bench::worker
