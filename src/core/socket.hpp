// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/mailbox.hpp"
#include "core/inproc.hpp"
#include "core/listener.hpp"
#include "core/pattern.hpp"
#include "core/session.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::core {

class context;

/// A socket as its user thread sees it: blocking, time-outs, endpoints, options. What is sent where
/// is its pattern's business.
///
/// Thread safety: one thread at a time (with a full fence in between), except interrupt().
/// Errors: functions return 0 or an errno value (ETERM once the context is being terminated).
class socket final : public pattern_host {
public:
    socket(context& owner, const pattern_row& row, socket_options defaults,
           std::shared_ptr<void> context_hold);
    ~socket() override;

    int send(const frame& part, bool dont_wait)
    {
        if (box_->interrupted()) [[unlikely]]
            return term_error();
        if (box_->has_mail()) [[unlikely]]
            process_mail();
        const int result = pattern_->send(part);
        if (result == 0 || result != would_block) [[likely]]
            return after_operation(result);
        return wait_to_send(part, dont_wait);
    }
    /// Gives the next part, valid until received().
    int receive(frame& part, bool dont_wait)
    {
        if (box_->interrupted()) [[unlikely]]
            return term_error();
        if (box_->has_mail()) [[unlikely]]
            process_mail();
        const int result = pattern_->receive(part);
        if (result != would_block) [[likely]] {
            if (result == 0)
                more_ = part.more();
            return after_operation(result);
        }
        return wait_to_receive(part, dont_wait);
    }
    void received()
    {
        pattern_->received();
        after_operation(0);
    }
    /// Properties of the peer the part given last came from; may be null.
    const metadata* source_metadata() const noexcept;

    int bind(std::string_view endpoint);
    int connect(std::string_view endpoint);
    int unbind(std::string_view endpoint);
    int disconnect(std::string_view endpoint);

    int set_option(int id, const void* value, std::size_t bytes);
    int get_option(int id, void* value, std::size_t* bytes);

    /// ZMQ_POLLIN and ZMQ_POLLOUT as they are now. 0 or errno.
    int events(int& out);
    base::mailbox& box() noexcept { return *box_; }

    /// Any thread: the context is being terminated.
    void interrupt() noexcept { box_->interrupt(); }
    /// Ends everything; queued messages linger in the background. The object is of no use then.
    void close();

    const socket_options& options() const noexcept override { return options_; }
    void drop(pipe_end& pipe) override { dropped_.push_back(&pipe); }

private:
    static constexpr int would_block = 11; // EAGAIN, checked in socket.cpp
    static int term_error() noexcept;

    int after_operation(int result)
    {
        if (!dropped_.empty()) [[unlikely]]
            drop_pipes();
        return result;
    }
    int wait_to_send(const frame& part, bool dont_wait);
    int wait_to_receive(frame& part, bool dont_wait);
    template <class Operation>
    int wait_until(Operation operation, int timeout_ms);
    void process_mail();
    void handle_mail(const std::shared_ptr<void>& owner, base::mail& item, std::uint32_t events);
    void adopt(std::shared_ptr<pipe_end> pipe);
    void finish_pipe(pipe_end& pipe);
    void drop_pipes();
    void close_pipe(pipe_end& pipe, int linger_ms);
    int connect_inproc(std::string_view name, const std::string& endpoint);
    void snapshot_options();

    context& context_;
    socket_options options_;
    std::shared_ptr<const socket_options> endpoint_options_; ///< copy for new endpoints; or null
    const std::shared_ptr<base::mailbox> box_;
    std::shared_ptr<socket_link> link_;
    const std::unique_ptr<pattern> pattern_;
    base::waiter waiter_;
    bool more_ = false;

    std::vector<std::shared_ptr<pipe_end>> pipes_; ///< by pipe_end::number; null = free
    std::vector<std::uint32_t> free_numbers_;
    std::vector<pipe_end*> dropped_;

    struct bound_endpoint {
        std::string endpoint;
        std::string as_given;
        std::shared_ptr<listener> listening; ///< null for inproc
    };
    struct connected_endpoint {
        std::string endpoint;
        std::shared_ptr<session> connection; ///< null for inproc
        std::weak_ptr<pipe_end> pipe;
    };
    std::vector<bound_endpoint> bound_;
    std::vector<connected_endpoint> connected_;
    std::string last_endpoint_;
};

} // namespace zlink::core
