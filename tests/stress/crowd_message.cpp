// SPDX-License-Identifier: Apache-2.0
#include "crowd_message.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "no_loss_payload.hpp"
#include "support/socket.hpp"

namespace zlink::test {
namespace {

constexpr std::size_t largest_part_bytes = 100'000;
constexpr unsigned part_bits = 8;
constexpr unsigned number_bits = 36;

// The number that a part carries: which it is, of which message.
std::uint64_t packed(message_key key, unsigned part)
{
    return (std::uint64_t{key.stream} << (number_bits + part_bits)) | (key.number << part_bits) |
           part;
}

unsigned part_count(bodies body, message_key key)
{
    return body == bodies::multipart || body == bodies::any_parts
               ? 1 + unsigned(mix(packed(key, 0) + 7) % 4)
               : 1;
}

std::size_t any_size_bytes(std::uint64_t number)
{
    const std::uint64_t any = mix(number + 1);
    const std::uint64_t below = std::uint64_t{1} << std::min(any % 17, any / 17 % 17);
    return std::min<std::size_t>(payload_header_bytes + any / 289 % (2 * below),
                                 largest_part_bytes);
}

// Sizes around those at which the ways of a message part.
std::size_t part_size_bytes(bodies body, std::uint64_t number)
{
    constexpr std::array<std::size_t, 16> mixed{
        16,   16,   64,   64,   64,     200,    200,    1024,
        1024, 4096, 4200, 8192, 20'000, 30'000, 65'536, largest_part_bytes};
    switch (body) {
    case bodies::small:
        return 64;
    case bodies::middle:
        return 1024;
    case bodies::mixed:
    case bodies::multipart:
        break;
    case bodies::any:
    case bodies::any_parts:
        return any_size_bytes(number);
    }
    // The large ones are rare, or there were little else.
    const std::uint64_t any = mix(number + 1);
    return mixed[any % (any / 16 % 8 == 0 ? 16 : 10)];
}

bool gave_up(int result, const char* call)
{
    if (result >= 0)
        return false;
    if (zmq_errno() != EAGAIN && zmq_errno() != EINTR)
        throw call_failed(call);
    return true;
}

bool send_bytes(void* socket, const std::vector<unsigned char>& bytes, int flags,
                const message_receiver& to, bool as_message)
{
    if (to.routing_id == 0 && to.group == nullptr && !as_message)
        return !gave_up(zmq_send(socket, bytes.data(), bytes.size(), flags), "zmq_send");
    zmq_msg_t message;
    zmq_msg_init_size(&message, bytes.size());
    std::memcpy(zmq_msg_data(&message), bytes.data(), bytes.size());
    if (to.routing_id != 0)
        zmq_msg_set_routing_id(&message, to.routing_id);
    if (to.group != nullptr)
        zmq_msg_set_group(&message, to.group);
    const int result = zmq_msg_send(&message, socket, flags);
    if (result < 0) {
        const int code = zmq_errno();
        zmq_msg_close(&message);
        errno = code;
    }
    return !gave_up(result, "zmq_msg_send");
}

} // namespace

std::string text_of(message_key key)
{
    return "message " + std::to_string(key.number) + " of stream " + std::to_string(key.stream);
}

bool send_message(void* socket, bodies body, message_key key, int flags, message_receiver to)
{
    thread_local std::vector<unsigned char> bytes;
    const unsigned parts = part_count(body, key);
    for (unsigned part = 0; part < parts; ++part) {
        const std::uint64_t number = packed(key, part);
        bytes.resize(part_size_bytes(body, number));
        fill_payload(bytes.data(), bytes.size(), number);
        const int more = part + 1 < parts ? ZMQ_SNDMORE : 0;
        // The rest of a message has to follow.
        const int how = part == 0 ? flags | more : more;
        while (!send_bytes(socket, bytes, how, to, mix(number) % 4 == 0)) {
            if (part == 0 && (flags & ZMQ_DONTWAIT))
                return false;
        }
    }
    return true;
}

void send_word(void* socket, const std::string& word, int flags)
{
    while (gave_up(zmq_send(socket, word.data(), word.size(), flags), "zmq_send")) {
    }
}

std::optional<arrived_part> receive_as_message(void* socket, int flags)
{
    arrived_part part;
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (gave_up(zmq_msg_recv(&message, socket, flags), "zmq_msg_recv"))
        return {};
    part.bytes.assign(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    part.more = zmq_msg_more(&message) != 0;
    part.routing_id = zmq_msg_routing_id(&message);
    zmq_msg_close(&message);
    return part;
}

std::optional<arrived_part> receive_part(void* socket, int flags)
{
    thread_local unsigned turn = 0;
    if (++turn % 2 != 0)
        return receive_as_message(socket, flags);
    thread_local std::vector<char> buffer(largest_part_bytes + 1);
    arrived_part part;
    const int size = zmq_recv(socket, buffer.data(), buffer.size(), flags);
    if (gave_up(size, "zmq_recv"))
        return {};
    if (static_cast<std::size_t>(size) > buffer.size())
        throw crowd_failure("a part of " + std::to_string(size) + " bytes has come");
    part.bytes.assign(buffer.data(), static_cast<std::size_t>(size));
    int more = 0;
    std::size_t more_size = sizeof more;
    if (zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &more_size) != 0)
        throw call_failed("zmq_getsockopt ZMQ_RCVMORE");
    part.more = more != 0;
    return part;
}

arrived_part receive_next_part(void* socket)
{
    std::optional<arrived_part> part = receive_part(socket, ZMQ_DONTWAIT);
    if (!part)
        throw crowd_failure("the rest of a message is missing");
    return *std::move(part);
}

message_key receive_rest(void* socket, bodies body, const arrived_part& first)
{
    if (first.bytes.size() < payload_header_bytes)
        throw crowd_failure("a part of " + std::to_string(first.bytes.size()) +
                            " bytes has come where a message begins");
    std::uint64_t number = 0;
    std::memcpy(&number, first.bytes.data(), sizeof number);
    message_key key;
    key.stream = static_cast<std::uint32_t>(number >> (number_bits + part_bits));
    key.number = (number >> part_bits) & ((std::uint64_t{1} << number_bits) - 1);
    const unsigned parts = part_count(body, key);
    for (unsigned part = 0; part < parts; ++part) {
        const arrived_part next = part == 0 ? first : receive_next_part(socket);
        const std::uint64_t expected = packed(key, part);
        if (!payload_is(reinterpret_cast<const unsigned char*>(next.bytes.data()),
                        next.bytes.size(), part_size_bytes(body, expected), expected))
            throw crowd_failure("part " + std::to_string(part) + " of " + text_of(key) +
                                " is not what was sent");
        if (next.more != (part + 1 < parts))
            throw crowd_failure(text_of(key) + " has not as many parts as were sent");
    }
    return key;
}

} // namespace zlink::test
