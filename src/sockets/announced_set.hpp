// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/socket_side.hpp"
#include "core/pipe/pipe.hpp"
#include "engine/commands/traffic_commands.hpp"

#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

namespace zlink::sockets {

/// What a socket wants to get, whose changes its peers are told of: topics or groups. The socket
/// changes it; I/O threads take snapshots for new connections, and the pipe of such a connection is
/// told of each change after its snapshot, also of those before the socket learns of the pipe.
/// Thread safety: snapshot() in any thread, all else in the socket's thread.
class announced_set : public core::subscription_source {
public:
    void snapshot(std::vector<std::byte>& frames, bool repeated, core::pipe_end& pipe,
                  const std::function<void()>& then) final;

    /// The socket has learned of a pipe. One within the process is told everything that is in the
    /// set; a connection is told by a snapshot.
    void add(core::pipe_end& pipe);
    /// Nothing more is to be told.
    void remove(core::pipe_end& pipe);

protected:
    using kind = engine::traffic_command_kind;

    /// Appends a command frame for each member to `frames`. `repeated`: as often as it was added.
    virtual void append_all(std::vector<std::byte>& frames, bool repeated) const = 0;
    /// Calls `change`, which changes the set, and tells the peers of it if that returns true.
    template <class Change>
    void change(kind command, std::span<const std::byte> argument, Change change)
    {
        std::lock_guard lock(mutex_);
        if (change())
            tell_all(command, argument);
    }

private:
    void tell_all(kind command, std::span<const std::byte> argument);

    std::mutex mutex_;
    /// Those the socket has, and those with a snapshot that it has yet to learn of. They may have
    /// gone without a word only when the socket has: there are no changes then.
    std::unordered_set<core::pipe_end*> pipes_;
};

} // namespace zlink::sockets
