// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/blocking_wait.hpp"
#include "core/socket/socket.hpp"
#include "core/wait/wait_set.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::core {

/// Moves whole messages between two sockets until it is told to end. Frames go from queue to queue
/// without becoming messages in between.
///
/// Thread safety: one thread, which must be the one that uses all of the sockets. Others may use,
/// and close, thread-safe ones meanwhile: each message is moved in a turn of its own.
/// Lifetime: the sockets outlive the object; thread-safe ones may be closed meanwhile.
/// Back-pressure: a message is taken only when the other side has room for it; until then it stays
/// where it is, and nothing is done. The capture socket, where there is one, is waited for.
class proxy {
public:
    /// `capture` and `control` may be null; `front` and `back` may be the same socket, which then
    /// has only one direction.
    proxy(socket& front, socket& back, socket* capture, socket* control);

    /// Returns 0 after TERMINATE, or an errno value: ETERM, EINTR, ENOTSOCK (a socket was closed),
    /// what refused a message, which is dropped then, or that of a descriptor that cannot be had.
    /// Once.
    int run();

private:
    enum class progress : std::uint8_t { moved, waits, failed };

    struct side {
        socket* at;
        std::uint64_t received = 0; ///< parts
        std::uint64_t received_bytes = 0;
        std::uint64_t sent = 0;
        std::uint64_t sent_bytes = 0;
    };
    struct direction {
        side* from;
        side* to;
        bool captured = false; ///< the part that comes next was captured already
    };

    struct waited_for {
        socket* at;
        std::uint32_t mail_seen; ///< when the sockets were last begun to be looked at
    };

    base::poll_answer move_all();
    int note_mail();
    int look_for_news(bool& news);
    void write_batches();
    int collect_mail();

    int move_messages(bool& moved);
    progress forward(direction& way);
    progress answer(direction& way);
    progress forward_part(direction& way, frame part, bool first);
    progress capture(direction& way, const frame& part, bool first);
    progress forward_shared(direction& way);
    progress move_shared(direction& way);
    int send_to_capture(const frame& part, std::string_view group);
    progress wait_or_fail(int error) noexcept;
    void drop_message(direction& way);

    /// `more`: commands wait that messages come before.
    int obey(bool& ended, bool& more);
    int next_command(std::string& command);
    void execute(std::string_view command, bool& ended);
    void reply_statistics();

    side front_;
    side back_;
    socket* const capture_;
    socket* const control_;
    std::vector<direction> ways_;
    std::vector<waited_for> sockets_; ///< front, back and control, each once
    wait_set sleeper_;
    // Of a part: if both sides are one socket, or if it is captured only after it was sent.
    std::string copy_;
    std::string copied_group_;
    int error_ = 0; ///< of what failed last
    bool paused_ = false;
};

} // namespace zlink::core
