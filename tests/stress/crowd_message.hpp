// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/draft.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "crowd_cell.hpp"

namespace zlink::test {

/// Something arrived that must not, or did not arrive that must.
class crowd_failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Which message it is: its place among those that belong together.
struct message_key {
    std::uint32_t stream = 0; ///< below 2^20
    std::uint64_t number = 0; ///< below 2^36
};
std::string text_of(message_key key);

/// One part of a message as it arrived.
struct arrived_part {
    std::string bytes;
    bool more = false;
    std::uint32_t routing_id = 0; ///< what `receive_as_message` finds with SERVER
};

/// Parts up to this size are words between the threads; messages of a cell are larger.
inline constexpr std::size_t largest_word_bytes = 15;

/// Whom a message is for, with the types that need to be told by the message.
struct message_receiver {
    std::uint32_t routing_id = 0;
    const char* group = nullptr;
};

/// Sends all parts of a message. `flags` count for the first one: false if there is no room then.
bool send_message(void* socket, bodies body, message_key key, int flags = 0,
                  message_receiver to = {});
/// Sends a part that is no message.
void send_word(void* socket, const std::string& word, int flags = 0);

/// Receives one part, by one call or the other. Nothing if there is none (now, or in time).
std::optional<arrived_part> receive_part(void* socket, int flags = 0);
/// The same, always by zmq_msg_recv, and with the routing id.
std::optional<arrived_part> receive_as_message(void* socket, int flags = 0);
/// Receives a part that belongs to what has been received: it must be there.
arrived_part receive_next_part(void* socket);
/// Receives the rest of a message, of which `first` has arrived, and checks that it is whole.
message_key receive_rest(void* socket, bodies body, const arrived_part& first);

} // namespace zlink::test
