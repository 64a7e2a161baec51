// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/adaptive_spin.hpp"
#include "base/sync/deferred_close.hpp"
#include "base/wait/alarm_reserve.hpp"
#include "base/wait/descriptor_wakeup.hpp"
#include "base/wait/mailbox.hpp"
#include "core/connection/inproc.hpp"
#include "core/socket/direct_reading.hpp"
#include "core/socket/endpoint_list.hpp"
#include "core/socket/fast_path.hpp"
#include "core/socket/pattern.hpp"
#include "core/socket/pipe_table.hpp"
#include "core/socket/socket_gate.hpp"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::core {

class socket_services;
struct endpoint_text;
struct transport_row;
class socket;

/// Says that a call waits for a socket of its thread. If another thread closes that meanwhile, the
/// wait ends with ENOTSOCK, and the destructor of the outermost mark closes the socket. Does
/// nothing for null or a socket with a gate.
class wait_mark {
public:
    explicit wait_mark(socket* waited_for) noexcept;
    ~wait_mark();
    wait_mark(wait_mark&& other) noexcept : socket_(std::exchange(other.socket_, nullptr)) {}
    wait_mark& operator=(wait_mark&&) = delete;

private:
    socket* socket_;
};

/// A socket as its user thread sees it: blocking, time-outs, endpoints, options. What is sent where
/// is its pattern's business.
///
/// Its functions are in a file for each concept: socket_waiting.cpp (send and receive that block),
/// socket_polling.cpp (whoever waits for several sockets), socket_pipes.cpp (mail and pipes),
/// socket_endpoints.cpp, socket_datagrams.cpp, socket_options.cpp, and socket.cpp (how it begins
/// and ends).
///
/// Thread safety: one thread at a time (with a full fence in between), except shut_down() and
/// defer_close(). Sockets of thread-safe types are used in turns of their gate, except
/// shut_down(), gate() and poll_events().
/// Errors: functions return 0 or an errno value (ETERM once the context is being terminated).
class socket final : public pattern_host {
public:
    /// `defaults`: of any socket, or shared_options() of a new one of this type.
    socket(socket_services& owner, const pattern_row& row,
           std::shared_ptr<const socket_options> defaults, std::shared_ptr<void> context_hold);
    ~socket() override;

    int send(const frame& part, bool dont_wait)
    {
        if (box_->is_shut_down()) [[unlikely]]
            return term_error();
        if (box_->has_mail()) [[unlikely]]
            process_mail();
        const int result = pattern_->send(part);
        if (result == 0 || result != EAGAIN) [[likely]]
            return after_operation(result);
        return wait_to_send(part, dont_wait);
    }
    /// send() in short, see direct_rules::put(). One copy of it for all who send stays in the
    /// caches.
    [[gnu::noinline]] bool put(const std::byte* data, std::size_t size, bool more) noexcept
    {
        if (box_->has_mail()) [[unlikely]]
            return false;
        return fast_path_.put(data, size, more);
    }
    /// send() to a group, as far as the type has groups.
    int send_to_group(std::string_view group, const frame& part, bool dont_wait);
    /// Gives the next part, valid until received().
    int receive(frame& part, bool dont_wait)
    {
        const int result = receive_on_loan(part, dont_wait);
        if (result == 0)
            part.await_body();
        return result;
    }
    /// The same, but the body may still lie in the sender's memory (base/memory/loan.hpp): the
    /// caller may only copy_out() it.
    int receive_on_loan(frame& part, bool dont_wait)
    {
        if (box_->is_shut_down()) [[unlikely]]
            return term_error();
        if (box_->has_mail()) [[unlikely]]
            process_mail();
        const int result = pattern_->receive(part);
        if (result != EAGAIN) [[likely]] {
            if (result == 0)
                more_ = part.more();
            return after_operation(result);
        }
        return wait_to_receive(part, dont_wait);
    }
    /// receive(), a copy of the part's first `memory.size()` bytes, and received(). Tells the size
    /// of the part, which may be larger. `memory` may be written to also if nothing is received.
    int receive_to(std::span<std::byte> memory, std::size_t& size, bool dont_wait);
    /// receive() and received() in short, of a part of `most` bytes at most: valid until any other
    /// call. Nothing if it takes more than a look: receive() tells.
    taken_part take(std::size_t most) noexcept
    {
        if (box_->has_mail()) [[unlikely]]
            return {};
        const taken_part part = fast_path_.take(most);
        if (part) [[likely]] {
            more_ = part.more();
            receives_.received();
        }
        return part;
    }
    void received()
    {
        pattern_->received();
        receives_.received();
        after_operation(0);
    }
    /// Properties of the peer the part given last came from, with a reference that the caller owns;
    /// may be null.
    const metadata* share_source_metadata() const noexcept
    {
        const pipe_end* const only = fast_path_.source();
        return only ? only->slot.properties.share() : pattern_->share_source_metadata();
    }
    /// By which it can be sent to, as far as the type numbers its peers: else 0.
    std::uint32_t source_id() const noexcept
    {
        const pipe_end* const pipe = pattern_->source();
        return pipe ? pipe->slot.peer_id : 0;
    }
    /// The group of the part given last; empty if it has none.
    std::string_view source_group() const noexcept
    {
        const group_rules* const groups = pattern_->groups();
        return groups ? groups->source_group() : std::string_view();
    }

    int bind(std::string_view endpoint);
    int connect(std::string_view endpoint);
    int unbind(std::string_view endpoint);
    int disconnect(std::string_view endpoint);
    /// connect(), and tells by which routing id the peer can be sent to.
    int connect_peer(std::string_view endpoint, std::uint32_t& routing_id);
    int disconnect_peer(std::uint32_t routing_id);
    int join(std::string_view group);
    int leave(std::string_view group);

    int set_option(int id, const void* value, std::size_t bytes);
    int get_option(int id, void* value, std::size_t* bytes);

    event_sink& events_of_connections() const noexcept { return side_->events; }
    socket_services& services() const noexcept { return context_; }
    /// Tells the monitor the queue lengths of each pipe. 0, EINVAL (not monitored with
    /// ZMQ_EVENT_PIPES_STATS), or EAGAIN (no pipes).
    int report_pipes();

    /// ZMQ_POLLIN and ZMQ_POLLOUT as they are now. 0 or errno.
    int events(int& out);
    /// Counts the notifications that were processed, and input that was read here. Any call may
    /// process one that was meant for another: a caller that has found nothing to do must compare
    /// this before it blocks, and look again if it has changed.
    std::uint32_t mail_seen() const noexcept { return mail_seen_; }
    /// For who waits for several sockets: this one's part in deciding how.
    base::adaptive_spin& polling_spin() noexcept { return polling_spin_; }
    /// What its open connections, its waits and the calling thread have done so far.
    traffic_counts counts();
    /// How what was received since this was last asked has come.
    cadence take_cadence() noexcept { return receives_.now(!reading_.empty()); }
    /// The thread has found nothing and waits for input of this and other sockets. Adds what it has
    /// to wait for as well, the connections that it reads by itself; if that would be more than
    /// `most`, the I/O threads read again, and it is false: look again. Only for a socket without a
    /// gate.
    bool prepare_to_poll(std::vector<int>& descriptors, std::size_t most);
    /// The thread waits in a way that leaves the reading to the I/O threads. True if it did not
    /// before: look again.
    bool leave_reading();
    /// Reads the connections that this thread reads by itself.
    base::glance read_leased();
    /// Call before a sleep: writes what waits for batching. The peer cannot answer what it has not
    /// got.
    void flush() noexcept;
    /// Calls that do not wait write no batches from now on: the caller sees to them, with flush()
    /// and flush_list::flush_this_thread().
    void leave_batches_to_caller(bool leave) noexcept { leaves_batches_ = leave; }
    /// See name_rules::peer_events(). 0 or errno.
    int peer_events(std::string_view routing_id, int& out);
    base::mailbox& box() noexcept { return *box_; }
    /// What who waits for this and other sockets can borrow from, while the context lives.
    base::alarm_reserve& alarms() noexcept;

    /// Is it used by many threads at once? Then it needs a gate, given before anybody uses it.
    bool thread_safe() const noexcept { return thread_safe_; }
    void set_gate(socket_gate& gate) noexcept { gate_ = &gate; }
    socket_gate* gate() const noexcept { return gate_; }
    /// events() outside of a turn. If none of `wanted` is there, whoever watches the gate is
    /// signalled when that may have changed. 0, ETERM, or ENOTSOCK if it is closed. Adds to `mail`
    /// how much of it was looked at, or has come meanwhile: if that is not 0, look again rather
    /// than wait.
    int poll_events(int wanted, int& out, std::uint32_t& mail);
    /// In a turn: was it closed by another thread?
    bool closed() const noexcept { return closed_; }
    /// In a turn: whoever watches the gate is signalled when mail comes; false if some is there, or
    /// was looked at since mail_seen() was `seen`.
    bool expect_mail(std::uint32_t seen) noexcept;
    /// In a turn: the next call of another thread signals whoever watches the gate.
    void tell_next_use() noexcept { tells_next_use_ = true; }
    /// In a turn: a call of the application has succeeded.
    void used() noexcept
    {
        if (tells_next_use_) [[unlikely]] {
            tells_next_use_ = false;
            tell_waiting();
        }
    }
    /// It was changed by a call: who waits for it polls again.
    void tell_waiting() noexcept
    {
        if (gate_)
            gate_->wake();
        box_->fire();
    }

    /// For who waits outside of the library for a socket without a gate: has `wake(argument)`
    /// called once when the socket may have become ready for what it was not ready for before, or
    /// is closed or shut down; `is_armed` is false if that may be so already. Takes the place of
    /// what was armed before, which box().disarm() ends too. 0 or errno.
    int arm(base::one_shot_call::function& wake, void* argument, bool& is_armed);

    /// Any thread: the context is being terminated.
    void shut_down() noexcept { box_->shut_down(); }
    /// Is the context being terminated (calls answer ETERM), or was the socket closed while a
    /// thread waited for it (ENOTSOCK, see close_requested())?
    bool is_shut_down() const noexcept { return box_->is_shut_down(); }
    /// Ends everything; queued messages linger in the background. The object is of no use then.
    /// Needs no memory: what does (a connection that is there and was not looked at) is given up
    /// when there is none.
    void close() noexcept;

    // Closing a socket without a gate while a thread waits for it.

    /// The thread waits, until end_wait(); one wait may lie within another.
    void begin_wait() noexcept { deferred_close_.begin_wait(); }
    /// True if that was the last one and close_requested(): close_if_requested() has to follow.
    bool end_wait() noexcept { return deferred_close_.end_wait(); }
    /// Any thread, once the handle is gone: true if another thread waits. That is woken, and closes
    /// the socket; `owner` keeps socket and context until then. False: the caller closes it.
    bool defer_close(const std::shared_ptr<void>& owner) noexcept;
    /// Was the handle closed?
    bool close_requested() const noexcept { return deferred_close_.requested(); }
    /// Closes it if that was requested, unless another thread does. It may be gone then.
    void close_if_requested() noexcept;
    /// Has the call that is under way waited? Then it ends with end_waiting_call().
    bool has_waited() const noexcept { return has_waited_; }
    /// The last thing that a call does with the socket, which may be gone then. @return ENOTSOCK if
    /// another thread has closed the socket, else `error`
    int end_waiting_call(int error) noexcept;

    const socket_options& options() const noexcept override { return *options_; }
    /// As they are now: they will not change any more.
    std::shared_ptr<const socket_options> shared_options() const noexcept { return options_; }
    void drop(pipe_end& pipe) override
    {
        if (!pipe.slot.last_words_follow && !std::exchange(pipe.slot.dropped, true))
            pipes_.drop(pipe);
    }
    void refuse(pipe_end& pipe) override
    {
        pipe.set_refused(true);
        drop(pipe);
    }
    void ignore_arrivals(pipe_end& pipe) override;
    void begin_message_to_many(std::size_t pipes) override;
    void end_message_to_many() override;

private:
    int term_error() const noexcept;

    int after_operation(int result)
    {
        fast_path_.forget();
        if (pipes_.has_dropped()) [[unlikely]]
            drop_pipes();
        return result;
    }

    // Waiting.
    int wait_to_send(const frame& part, bool dont_wait);
    int wait_to_receive(frame& part, bool dont_wait);
    template <class Operation>
    int wait_until(Operation operation, int timeout_ms, bool for_input);
    class sleeper;
    void write_batches() noexcept;
    template <class Operation>
    int wait_for_room(Operation operation, bool dont_wait);
    void consider_reading();
    int ready_for(int wanted, int& out);

    // Mail and pipes.
    int begin_call();
    void process_mail();
    void handle_mail(const std::shared_ptr<void>& owner, base::mail& item, std::uint32_t events);
    void take_lease(pipe_end& pipe);
    void adopt(const std::shared_ptr<pipe_end>& pipe);
    void adopt_made(const std::shared_ptr<pipe_end>& pipe);
    void count_connections() noexcept;
    void choose_waits(pipe_end& pipe, bool has_others) noexcept;
    void finish_pipe(pipe_end& pipe);
    bool end_own_reading(pipe_end& pipe);
    void drop_pipes();
    void close_pipe(pipe_end& pipe, int linger_ms);

    // Endpoints.
    int begin_call(std::string_view text, endpoint_text& endpoint);
    int bind_inproc(std::string_view name, std::string_view text);
    int bind_failed(std::string_view address, std::string_view endpoint, int error,
                    std::unique_ptr<transport::acceptor> opened);
    int connect_inproc(std::string_view name, const shared_text& endpoint);
    std::shared_ptr<const transport::options> transport_options() const noexcept;
    bool wants_other_transport(std::string_view scheme) const noexcept;
    int open_datagrams(const transport::datagram_scheme& scheme, endpoint_role role,
                       std::string_view text, std::string_view address);
    int end_datagrams(endpoint_role role, std::string_view text);
    int end_endpoints(endpoint_role role, std::string_view text);
    bool end_bound(std::string_view text);
    void end_accepted(std::string_view endpoint);
    bool end_connected(std::string_view text);
    void end_pipes_of(const connected_endpoint& ended);

    // Options.
    socket_options& change_options();
    void snapshot_options();

    socket_services& context_;
    std::shared_ptr<const socket_options> options_; ///< shared with endpoints: copied on write
    const std::shared_ptr<base::mailbox> box_;
    std::shared_ptr<socket_side> side_;
    const std::unique_ptr<pattern> pattern_;
    fast_path fast_path_{*box_, *pattern_};
    base::waiter waiter_;
    base::descriptor_wakeup alarm_; ///< for sleeps beside connections; open once there are any
    const bool thread_safe_;
    bool closed_ = false;
    bool tells_next_use_ = false;
    bool leaves_batches_ = false; ///< see leave_batches_to_caller()
    base::deferred_close deferred_close_;
    bool has_waited_ = false;     ///< the call that is under way has a wait to end
    socket_gate* gate_ = nullptr; ///< of a thread-safe type
    std::uint32_t mail_seen_ = 0;
    std::uint32_t mail_told_ = 0; ///< mail_seen_, and beside the parts received, of the last arm()
    unsigned parts_told_ = 0;
    bool more_ = false;
    direct_reading reading_;
    base::adaptive_spin receiving_spin_;
    base::adaptive_spin sending_spin_;
    base::adaptive_spin polling_spin_;
    receiving_cadence receives_;
    pipe_table pipes_;
    endpoint_list endpoints_;
    shared_text last_endpoint_;
};

} // namespace zlink::core
