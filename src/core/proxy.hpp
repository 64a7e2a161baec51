// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/waiter.hpp"
#include "core/socket.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace zlink::core {

/// Moves whole messages between two sockets until it is told to end. Frames go from queue to queue
/// without becoming messages in between.
///
/// Thread safety: one thread, which must be the one that uses all of the sockets.
/// Back-pressure: a message is taken only when the other side has room for it; until then it stays
/// where it is, and nothing is done. The capture socket, where there is one, is waited for.
class proxy {
public:
    /// `capture` and `control` may be null; `front` and `back` may be the same socket, which then
    /// has only one direction.
    proxy(socket& front, socket& back, socket* capture, socket* control);

    /// Returns 0 after TERMINATE, or an errno value: ETERM, EINTR, or what refused a message, which
    /// is dropped then. Can be called again, and goes on where it was.
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

    int turn(bool& moved);
    progress forward(direction& way);
    progress answer(direction& way);
    progress forward_part(direction& way, frame part, bool first);
    progress capture(direction& way, const frame& part, bool first);
    progress wait_or_fail(int error) noexcept;
    void drop_message(direction& way);
    int collect_mail();
    int obey(bool& ended);
    void execute(std::string_view command, bool& ended);
    void reply_statistics();
    std::uint32_t mail_seen() const noexcept;
    int sleep();

    side front_;
    side back_;
    socket* const capture_;
    socket* const control_;
    std::vector<direction> ways_;
    std::vector<base::mailbox*> boxes_;
    std::vector<std::byte> copy_; ///< of a part, if both sides are one socket
    base::waiter waiter_;
    int error_ = 0; ///< of what failed last
    bool paused_ = false;
};

} // namespace zlink::core
