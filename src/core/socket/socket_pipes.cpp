// SPDX-License-Identifier: Apache-2.0
// The pipes of a socket: how they come and go, and what the mail about them makes its pattern do.
#include "base/system/no_cancellation.hpp"
#include "base/tuning.hpp"
#include "core/pace/fan_out_writes.hpp"
#include "core/pace/flush_list.hpp"
#include "core/socket/socket.hpp"
#include "core/socket/socket_services.hpp"

#include <cerrno>
#include <memory>
#include <utility>
#include <zmq.h>

namespace zlink::core {

// Of a call that does not send, receive or poll: 0 after a look at the mail, or ETERM.
int socket::begin_call()
{
    if (box_->is_shut_down())
        return ETERM;
    process_mail();
    return 0;
}

void socket::process_mail()
{
    const base::no_cancellation whole;
    // Before their last mail is collected.
    endpoints_.forget_given_up(side_->endpoints_given_up.load(std::memory_order_acquire));
    box_->clear_descriptor();
    if (box_->has_mail())
        pattern_->begin_mail();
    box_->collect([this](const std::shared_ptr<void>& owner, base::mail& item,
                         std::uint32_t events) { handle_mail(owner, item, events); });
    after_operation(0);
}

void socket::handle_mail(const std::shared_ptr<void>& owner, base::mail& item, std::uint32_t events)
{
    ++mail_seen_;
    auto& pipe = static_cast<pipe_end&>(item);
    if (pipe.closed_here())
        return;
    if ((events & pipe_end::attached) && pipe.is_taken_back()) {
        pipe.close(0); // before anybody has seen it
        return;
    }
    std::unique_ptr<peer_info> peer;
    const auto done = [&events](std::uint32_t event) { events &= ~event; };
    try {
        // First: what is read while attaching shows whom it is from.
        if (events & pipe_end::identified) {
            peer = pipe.take_peer();
            if (peer) // else it came with news that were looked at before
                pipe.slot.properties = metadata_stock(peer->properties);
        }
        if (events & pipe_end::attached)
            adopt(std::static_pointer_cast<pipe_end>(owner));
        done(pipe_end::attached);
        if (peer && (events & pipe_end::identified)) {
            fast_path_.forget();
            pattern_->identified(pipe, *peer);
        }
        done(pipe_end::identified);
        if (events & pipe_end::leaving) {
            fast_path_.forget();
            pipe.out.close();
            pipe.slot.last_words_follow = true;
            pattern_->peer_closed(pipe);
        }
        done(pipe_end::leaving);
        if (events & pipe_end::readable)
            pattern_->readable(pipe);
        done(pipe_end::readable);
        if (events & pipe_end::writable)
            pattern_->writable(pipe);
        done(pipe_end::writable);
        if (events & pipe_end::leased)
            take_lease(pipe);
        done(pipe_end::leased);
        if (events & pipe_end::closed) {
            pipe.mark_other_gone();
            pipe.slot.last_words_follow = false;
            pattern_->readable(pipe);
            finish_pipe(pipe);
        }
    } catch (...) { // memory has run out: what is still to be done stays news
        if (peer && (events & pipe_end::identified))
            pipe.set_peer(std::move(peer)); // needs no memory
        pipe.notify(events);
        throw;
    }
}

void socket::take_lease(pipe_end& pipe)
{
    reading_.add(pipe, [this](pipe_end& read) {
        fast_path_.forget();
        pattern_->readable(read);
    });
}

void socket::adopt(const std::shared_ptr<pipe_end>& pipe)
{
    fast_path_.forget();
    pipes_.add(pipe);
    pipe->set_limits(options_->send_hwm, options_->receive_hwm);
    choose_waits(*pipe, true);
    count_connections();
    try {
        pattern_->attach(*pipe);
    } catch (...) {
        pattern_->detach(*pipe);
        pipes_.remove(*pipe);
        count_connections();
        throw;
    }
}

// One that a call has made: where the socket cannot take it, all is as if it had not been made.
void socket::adopt_made(const std::shared_ptr<pipe_end>& pipe)
{
    pipe->slot.made_by_call = pipe->origin.connected_side;
    try {
        adopt(pipe);
        if (pipe->origin.is_inproc)
            if (const auto info = pipe->take_peer())
                pattern_->identified(*pipe, *info);
    } catch (...) {
        pipe->set_refused(pipe->origin.is_inproc); // nobody has seen it
        if (pipes_.contains(*pipe))
            close_pipe(*pipe, 0);
        else if (pipe->origin.is_inproc)
            context_.inproc().close(*pipe, 0);
        else
            pipe->close(0);
        throw;
    }
}

void socket::count_connections() noexcept
{
    const std::size_t count = pipes_.size();
    side_->fan_out->connections = count;
    if (count > 2)
        return; // nothing has changed for those that were there
    pipes_.for_each([&](pipe_end& pipe) { choose_waits(pipe, count != 1); });
}

// A reader in this process is waited for, but where each message goes to many, none of them must
// slow down the others.
void socket::choose_waits(pipe_end& pipe, bool has_others) noexcept
{
    pipe.out.wait_for_reader(
        pipe.origin.is_inproc && !(has_others && side_->fan_out->sends_to_many), has_others);
}

// The peer is gone: nothing more is written; what can still be read keeps the pipe.
void socket::finish_pipe(pipe_end& pipe)
{
    fast_path_.forget();
    pipe.out.close();
    pattern_->peer_closed(pipe);
    frame unread;
    if (pipe.is_taken_back() || !pattern_->reads_from(pipe) || !pipe.in.peek(unread))
        drop(pipe);
}

// This thread reads nothing more of its connection. True if it did.
bool socket::end_own_reading(pipe_end& pipe)
{
    fast_path_.forget();
    return reading_.remove(pipe);
}

void socket::ignore_arrivals(pipe_end& pipe)
{
    if (end_own_reading(pipe))
        pipe.in.stop_reading();
}

void socket::begin_message_to_many(std::size_t pipes)
{
    side_->fan_out->begin_message(pipes, flush_list::clock::now);
}

void socket::end_message_to_many()
{
    side_->fan_out->end_message(flush_list::clock::now);
}

void socket::drop_pipes()
{
    while (pipes_.has_dropped()) {
        const auto pipe = pipes_.take_dropped();
        if (!pipe->closed_here())
            close_pipe(*pipe, options_->linger_ms);
    }
}

void socket::close_pipe(pipe_end& pipe, int linger_ms)
{
    end_own_reading(pipe);
    pattern_->detach(pipe);
    if (pipe.origin.is_inproc && pipe.origin.connected_side)
        context_.inproc().close(pipe, linger_ms);
    else
        pipe.close(linger_ms);
    pipes_.remove(pipe);
    count_connections();
}

} // namespace zlink::core
