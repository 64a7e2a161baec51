// SPDX-License-Identifier: Apache-2.0
#include "api/message.hpp"
#include "api/objects.hpp"
#include "base/tuning.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/uio.h>
#include <zmq.h>

using namespace zlink::api;
namespace core = zlink::core;

namespace {

int reported_size(std::size_t bytes) noexcept
{
    return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
}

int no_message(void* socket)
{
    return with_usable_socket(socket, [](core::socket&) { return EFAULT; });
}

bool dont_wait(int flags) noexcept
{
    return (flags & ZMQ_DONTWAIT) != 0;
}

bool more_follows(int flags) noexcept
{
    return (flags & ZMQ_SNDMORE) != 0;
}

std::uint8_t frame_flags(int flags) noexcept
{
    return more_follows(flags) ? zlink::engine::zmtp3::flag_more : std::uint8_t{0};
}

[[gnu::noinline]] int send_bytes_as_frame(void* socket, const void* data, std::size_t bytes,
                                          int flags)
{
    if (with_socket(socket, [=](core::socket& s) {
            const auto* const body = static_cast<const std::byte*>(data);
            if (s.gate() && s.put(body, bytes, more_follows(flags)))
                return 0;
            const core::frame part{body, bytes, nullptr, frame_flags(flags), !dont_wait(flags)};
            return s.send(part, dont_wait(flags));
        }))
        return -1;
    return reported_size(bytes);
}

int send_bytes(void* socket, const void* data, std::size_t bytes, int flags)
{
    if (core::socket* const own = unshared_socket(socket)) [[likely]]
        if (own->put(static_cast<const std::byte*>(data), bytes, more_follows(flags))) [[likely]]
            return reported_size(bytes);
    return send_bytes_as_frame(socket, data, bytes, flags);
}

[[gnu::noinline]] int send_message_as_frame(void* socket, message& content, int flags)
{
    return with_socket(socket, [&content, flags](core::socket& s) {
        return s.send(content.as_frame(more_follows(flags)), dont_wait(flags));
    });
}

// What only the types for many threads have: routing ids and groups.
int send_shared_message(void* socket, message& content, int flags)
{
    return with_socket(socket, [&](core::socket& s) {
        core::frame part = content.as_frame(more_follows(flags));
        if (!content.user_owned() && s.put(part.data, part.size, part.more()))
            return 0;
        part.routing_id = content.routing_id();
        return s.send_to_group(content.group(), part, dont_wait(flags));
    });
}

// Returns the size of the part, of which no more than fits is copied.
std::size_t copy_to(void* memory, std::size_t capacity, const core::taken_part& part) noexcept
{
    if (const std::size_t bytes = std::min(part.size(), capacity)) // memcpy must not see null
        std::memcpy(memory, part.data(), bytes);
    return part.size();
}

[[gnu::noinline]] int receive_bytes_as_frame(void* socket, void* buf, std::size_t len, int flags)
{
    std::size_t size = 0;
    if (with_socket(socket, [=, out = &size](core::socket& s) {
            if (const core::taken_part part = s.gate() ? s.take(SIZE_MAX) : core::taken_part{}) {
                *out = copy_to(buf, len, part);
                return 0;
            }
            return s.receive_to({static_cast<std::byte*>(buf), len}, *out, dont_wait(flags));
        }))
        return -1;
    return reported_size(size);
}

[[gnu::noinline]] int receive_message_as_frame(void* socket, message& into, int flags)
{
    if (with_socket(socket, [&into, flags](core::socket& s) {
            core::frame part;
            if (const int error = s.receive(part, dont_wait(flags)))
                return error;
            if (!into.replace(part))
                return ENOMEM; // the part stays to be received
            into.set_properties(s.share_source_metadata());
            s.received();
            return 0;
        }))
        return -1;
    return reported_size(into.size());
}

// A part that is short enough to find memory for sure and can be had with a look. False if there is
// none.
bool take_message(core::socket& from, message& into) noexcept
{
    const core::taken_part part = from.take(message::certain_bytes());
    if (!part)
        return false;
    into.replace_small(part);
    into.set_properties(from.share_source_metadata());
    return true;
}

// With what only the types for many threads have: routing ids and groups.
[[gnu::noinline]] int receive_shared_message(void* socket, message& into, int flags)
{
    if (with_socket(socket, [&into, flags](core::socket& s) {
            if (take_message(s, into)) {
                into.set_routing_id(s.source_id());
                return 0;
            }
            core::frame part;
            if (const int error = s.receive(part, dont_wait(flags)))
                return error;
            message received;
            received.init_empty();
            const auto group = s.source_group();
            if (!received.replace(part) || (!group.empty() && !received.set_group(group))) {
                received.close();
                return ENOMEM;
            }
            received.set_routing_id(s.source_id());
            received.set_properties(s.share_source_metadata());
            s.received();
            into.move_from(received);
            return 0;
        }))
        return -1;
    return reported_size(into.size());
}

// A receive that came to nothing leaves no former content, so that nobody takes it for a message.
// One that was wrong in the first place changes nothing.
[[gnu::cold]] int nothing_received(message& into, int error) noexcept
{
    if (error == EAGAIN || error == EINTR || error == ETERM) {
        into.close(); // may call a function of the application, and that may change errno
        into.init_empty();
    }
    return fail(error);
}

} // namespace

extern "C" {

int zmq_send(void* socket, const void* buf, size_t len, int flags)
{
    return send_bytes(socket, buf, len, flags);
}

int zmq_send_const(void* socket, const void* buf, size_t len, int flags)
{
    if (len < zlink::tuning::body::min_shared_bytes)
        return send_bytes(socket, buf, len, flags); // a copy is cheaper
    zmq_msg_t memory;
    message& content = message::of(&memory);
    content.init_user(const_cast<void*>(buf), len, nullptr, nullptr);
    int failed = 0;
    try {
        failed = is_shared(socket) ? send_shared_message(socket, content, flags)
                                   : send_message_as_frame(socket, content, flags);
    } catch (...) { // the thread is cancelled
        content.close();
        throw;
    }
    content.close();
    return failed ? -1 : reported_size(len);
}

int zmq_recv(void* socket, void* buf, size_t len, int flags)
{
    if (core::socket* const own = unshared_socket(socket)) [[likely]]
        if (const core::taken_part part = own->take(SIZE_MAX)) [[likely]]
            return reported_size(copy_to(buf, len, part));
    return receive_bytes_as_frame(socket, buf, len, flags);
}

int zmq_msg_send(zmq_msg_t* msg, void* socket, int flags)
{
    if (!msg || !message::of(msg).valid()) [[unlikely]]
        return no_message(socket);
    message& content = message::of(msg);
    const std::size_t size = content.size();
    core::socket* const own = content.user_owned() ? nullptr : unshared_socket(socket);
    if (!own || !own->put(content.data(), size, more_follows(flags))) [[unlikely]] {
        if (is_shared(socket) ? send_shared_message(socket, content, flags)
                              : send_message_as_frame(socket, content, flags))
            return -1;
    }
    content.close();
    content.init_empty();
    return reported_size(size);
}

int zmq_msg_recv(zmq_msg_t* msg, void* socket, int flags)
{
    if (!msg || !message::of(msg).valid()) [[unlikely]]
        return no_message(socket);
    message& into = message::of(msg);
    if (core::socket* const own = unshared_socket(socket)) [[likely]]
        if (take_message(*own, into)) [[likely]]
            return reported_size(into.size());
    const int received = is_shared(socket) ? receive_shared_message(socket, into, flags)
                                           : receive_message_as_frame(socket, into, flags);
    return received < 0 ? nothing_received(into, errno) : received;
}

int zmq_sendmsg(void* socket, zmq_msg_t* msg, int flags)
{
    return zmq_msg_send(msg, socket, flags);
}

int zmq_recvmsg(void* socket, zmq_msg_t* msg, int flags)
{
    return zmq_msg_recv(msg, socket, flags);
}

int zmq_sendiov(void* socket, struct iovec* iov, size_t count, int flags)
{
    const bool valid = iov && count != 0;
    if (with_usable_socket(socket, [=](core::socket&) { return valid ? 0 : EINVAL; }))
        return -1;
    int sent = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const int part_flags = i + 1 == count ? flags & ~ZMQ_SNDMORE : flags;
        sent = send_bytes(socket, iov[i].iov_base, iov[i].iov_len, part_flags);
        if (sent < 0)
            return -1;
    }
    return sent;
}

int zmq_recviov(void* socket, struct iovec* iov, size_t* count, int flags)
{
    const bool valid = iov && count && *count != 0;
    if (with_usable_socket(socket, [=](core::socket&) { return valid ? 0 : EINVAL; }))
        return -1;
    const std::size_t capacity = *count;
    *count = 0;
    bool more = true;
    while (more && *count < capacity) {
        iovec& to = iov[*count];
        if (with_socket(socket, [&](core::socket& s) {
                core::frame part;
                if (const int error = s.receive(part, dont_wait(flags)))
                    return error;
                to.iov_base = std::malloc(std::max<std::size_t>(part.size, 1));
                if (!to.iov_base)
                    return ENOMEM;
                if (part.size)
                    std::memcpy(to.iov_base, part.data, part.size);
                to.iov_len = part.size;
                more = part.more();
                s.received();
                return 0;
            }))
            return -1;
        ++*count;
    }
    return static_cast<int>(*count);
}

} // extern "C"
