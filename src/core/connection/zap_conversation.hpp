// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/mechanism_row.hpp"
#include "core/connection/socket_side.hpp"
#include "core/options/options.hpp"
#include "core/pipe/pipe.hpp"
#include "engine/handshake/authenticator.hpp"
#include "runtime/io_thread.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zlink::core {

/// Asks the application's handler of ZAP whether a peer is admitted: one question and its answer,
/// over a pipe of their own to the socket that is bound to `inproc://zeromq.zap.01` in the same
/// context. The handler is looked for when the question is asked; where it goes away before it has
/// answered, the peer is refused. A question that nobody asks any more is not read by the handler.
///
/// Thread safety: the I/O thread of the connection; the pipe_peer functions are called in the
/// thread of the handler and ask that one.
/// Lifetime: the pipe end of the handler refers to it as well, until that is closed.
class zap_conversation final : public engine::authenticator,
                               public pipe_peer,
                               public runtime::resident,
                               public std::enable_shared_from_this<zap_conversation> {
public:
    /// `how`: not authentication::none.
    zap_conversation(runtime::io_thread& thread, std::shared_ptr<socket_side> side,
                     std::shared_ptr<const socket_options> options, authentication how);
    ~zap_conversation() override;

    // engine::authenticator
    void ask(const engine::credentials& presented,
             std::function<void(engine::verdict)> decided) override;
    void cancel() noexcept override;

    // pipe_peer: the handler's thread
    void on_readable() noexcept override;
    void on_ended(pipe_ending how, int linger_ms) noexcept override;

    // runtime::resident
    void do_request(unsigned number) override;

private:
    /// What is asked of the I/O thread; done in this order.
    enum class request : unsigned { read_reply, end_without_reply };

    void read_reply();
    void decide(engine::verdict verdict);
    void decide(engine::handshake_error refusal);

    runtime::io_thread& thread_;
    std::shared_ptr<socket_side> side_; ///< the context waits for it
    const std::shared_ptr<const socket_options> options_;
    const authentication how_;
    std::function<void(engine::verdict)> decided_; ///< null before and after
    std::shared_ptr<pipe_end> end_;                ///< ours: what it reads is the reply
    std::vector<std::string> parts_;               ///< of the reply
};

} // namespace zlink::core
