// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/socket_side.hpp"
#include "core/options/options.hpp"
#include "core/pipe/pipe.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::core {

/// The name in the text of an inproc endpoint.
inline std::string_view inproc_name(std::string_view endpoint) noexcept
{
    return endpoint.substr(std::string_view("inproc://").size());
}

/// The inproc names of a context: joins sockets pipe to pipe, without a connection in between.
/// Thread safety: any thread.
class inproc_registry {
public:
    struct party {
        std::shared_ptr<socket_side> side;
        const socket_options* options = nullptr; ///< read during the call only
    };

    /// 0, or EADDRINUSE. Connects that were waiting for the name are completed. Throws
    /// std::bad_alloc, and nothing has happened.
    int bind(const std::string& name, const party& binder);
    /// 0, or ENOENT if this socket has not bound the name.
    int unbind(std::string_view name, const socket_side& binder) noexcept;
    /// The connecting socket's end of a new pipe; if nobody has bound the name yet the other end
    /// waits for it. Throws std::bad_alloc, and there is none.
    std::shared_ptr<pipe_end> connect(const std::string& name, const party& connector);
    /// For a question to the handler of ZAP. Null when as many as are allowed wait to be read by
    /// it: those of peers that have left take their memory until its socket looks for mail, so that
    /// without a limit a handler that does nothing would make the process grow. Throws
    /// std::bad_alloc.
    std::shared_ptr<channel_pair> channels_for_question();
    /// Connects `asking`, which is no socket, to the handler of ZAP that has bound the name.
    /// Returns the handler's end of a new pipe over `channels`, which has no high-water marks; null
    /// if nobody has bound the name, or a socket of a type that cannot be a handler.
    std::shared_ptr<pipe_end> connect_to_handler(const std::string& name,
                                                 std::shared_ptr<channel_pair> channels,
                                                 std::shared_ptr<pipe_peer> asking);
    /// Closes the connecting socket's end of a pipe. If its name was not bound yet and messages
    /// were sent to it, the other end goes on waiting with them: who binds the name gets them. If
    /// the end is marked as refused, nobody gets anything.
    void close(pipe_end& connector, int linger_ms) noexcept;

    static constexpr int most_questions = 4096;

private:
    struct binding {
        std::shared_ptr<socket_side> side;
        socket_options options;
    };
    struct waiting_pipe {
        std::shared_ptr<pipe_end> connector_end; ///< null if it was closed
        std::shared_ptr<pipe_end> binder_end;
        // Once there is a binder, for the connector:
        std::unique_ptr<peer_info> binder_info;
        base::buffer_ref hello; ///< what the binder says first, if anything
    };
    static void prepare(waiting_pipe& pipe, const binding& binder);
    static void join(waiting_pipe& pipe, const binding& binder) noexcept;

    /// Shared with the channels, the last of which may outlive the context.
    std::shared_ptr<std::atomic<int>> questions_ = std::make_shared<std::atomic<int>>(0);
    std::mutex mutex_;
    std::map<std::string, binding, std::less<>> bound_;
    std::multimap<std::string, waiting_pipe, std::less<>> waiting_;
};

} // namespace zlink::core
