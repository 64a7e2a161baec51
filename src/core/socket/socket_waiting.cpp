// SPDX-License-Identifier: Apache-2.0
// Calls of a socket that block: sending and receiving where that cannot be done at once, until
// there is room or input, time is up, or a signal or the end of the socket interrupts the wait.
#include "base/pace/blocking_wait.hpp"
#include "base/tuning.hpp"
#include "base/wait/sleep.hpp"
#include "core/pace/fan_out_writes.hpp"
#include "core/pace/flush_list.hpp"
#include "core/socket/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <pthread.h>
#include <zmq.h>

namespace zlink::core {

// Of a socket that is shut down.
int socket::term_error() const noexcept
{
    return close_requested() ? ENOTSOCK : ETERM;
}

// The sleep of a thread that waits for this socket alone: until there is mail or, with `for_input`,
// something to read from a leased connection.
class socket::sleeper {
public:
    sleeper(socket& waited_for, bool for_input) : socket_(waited_for), for_input_(for_input) {}

    bool prepare()
    {
        if (!for_input_) // a peer that waits to be read may be what this thread waits for
            return !socket_.leave_reading();
        if (!socket_.gate_) // connections are never leased to one of many threads
            socket_.consider_reading();
        return true;
    }
    base::adaptive_spin* spin()
    {
        if (socket_.gate_) // which has its own, as others get their turn meanwhile
            return nullptr;
        return for_input_ ? &socket_.receiving_spin_ : &socket_.sending_spin_;
    }
    bool in_stream() { return for_input_ && sleeps_at_once(socket_.take_cadence()); }
    base::glance check()
    {
        if (socket_.box_->has_mail())
            return base::glance::news;
        return !for_input_ || socket_.reading_.empty() ? base::glance::nothing
                                                       : socket_.read_leased();
    }
    base::wait_result sleep(base::deadline until)
    {
        if (!socket_.gate_)
            return sleep_alone(until);
        using purpose = socket_gate::purpose;
        return socket_.gate_->sleep(*socket_.box_, socket_.mail_seen_, until,
                                    !for_input_   ? purpose::room
                                    : in_stream() ? purpose::message_of_stream
                                                  : purpose::message);
    }

private:
    base::wait_result sleep_alone(base::deadline until)
    {
        base::mailbox* const boxes[] = {socket_.box_.get()};
        base::waiter& waiter = socket_.waiter_;
        direct_reading& reading = socket_.reading_;
        if (!for_input_ || reading.empty())
            return base::sleep_until_mail(boxes, waiter, waiter.count(), until);
        if (socket_.alarm_.open() != 0) { // no descriptor is left: the I/O threads read without one
            socket_.leave_reading();
            return base::wait_result::signalled;
        }
        pollfd watched[1 + tuning::direct_reading::max_connections]{};
        std::size_t used = 1;
        for (const auto& connection : reading.connections())
            watched[used++] = {connection.descriptor, POLLIN, 0};
        const base::polling how{{watched, used}, &socket_.alarm_};
        const auto woken = base::sleep_until_mail(boxes, waiter, waiter.count(), until, &how);
        if (woken == base::wait_result::ready)
            socket_.read_leased();
        return woken;
    }

    socket& socket_;
    const bool for_input_;
};

template <class Operation>
int socket::wait_until(Operation operation, int timeout_ms, bool for_input)
{
    pthread_testcancel();
    if (timeout_ms == 0) {
        if (!leaves_batches_)
            write_batches();
        if (!box_->has_descriptor())
            return EAGAIN;
        // Who waits for the descriptor must not find it readable without cause after EAGAIN, nor
        // cleared with mail that was not handled.
        process_mail();
        return after_operation(operation());
    }
    if (!gate_ && !deferred_close_.waiting()) {
        has_waited_ = true; // to the end of the call, which uses the socket until then
        begin_wait();
    }
    if (close_requested() || box_->is_shut_down())
        return term_error();
    const auto ready = [&] {
        if (closed_) // by another thread, between two turns
            return base::poll_answer::ended(ENOTSOCK);
        process_mail();
        if (const int result = operation(); result != EAGAIN)
            return base::poll_answer::ended(after_operation(result));
        if (box_->is_shut_down())
            return base::poll_answer::ended(term_error());
        // Where many threads use the socket another one may take the mail.
        return !gate_ && box_->has_mail() ? base::poll_answer::changed()
                                          : base::poll_answer::nothing();
    };
    sleeper how(*this, for_input);
    return base::blocking_wait(timeout_ms)
        .run_after(
            base::poll_answer::nothing(), ready, [this] { write_batches(); }, how);
}

void socket::flush() noexcept
{
    if (pipes_.numbers() > tuning::turn::max_flushed_pipes)
        return; // the I/O threads look after them before long
    pipes_.for_each([](pipe_end& pipe) { pipe.out.flush_before_sleep(); });
}

// What this thread has left for batches, through whatever socket: the answer may be what it has
// found nothing of, or is going to wait for.
void socket::write_batches() noexcept
{
    flush(); // is cheaper for connections of this socket
    flush_list::flush_this_thread();
}

// A thread that waits again and again is served best by reading its connections itself.
void socket::consider_reading()
{
    receives_.waits(flush_list::clock::now());
    if (!receives_.asks_to_read() || !reading_.empty() || box_->has_descriptor() || box_->armed() ||
        pipes_.size() > tuning::direct_reading::max_connections)
        return;
    pipes_.for_each([](pipe_end& pipe) {
        if (inlet* const from = pipe.in.connection())
            from->ask_to_read();
    });
}

base::glance socket::read_leased()
{
    return reading_.read([this](pipe_end& pipe) {
        ++mail_seen_; // it is no less news than mail
        fast_path_.forget();
        pattern_->readable(pipe);
    });
}

bool socket::leave_reading()
{
    if (reading_.empty())
        return false;
    read_leased();
    reading_.give_back();
    return true;
}

template <class Operation>
int socket::wait_for_room(Operation operation, bool dont_wait)
{
    const auto after_wait = [&] {
        if (!dont_wait) { // who had to wait for room is in the middle of sending
            flush_list::expect_more_of_this_thread();
            side_->fan_out->waited_for_room(flush_list::clock::now());
        }
        return operation();
    };
    return wait_until(after_wait, dont_wait ? 0 : options_->send_timeout_ms, false);
}

int socket::wait_to_send(const frame& part, bool dont_wait)
{
    after_operation(0);
    const auto operation = [&] { return pattern_->send(part); };
    if (!dont_wait) { // the first answer may have been about a message that lost its peer
        const int result = after_operation(operation());
        if (result != EAGAIN)
            return result;
    }
    const int result = wait_for_room(operation, dont_wait);
    if (result == EAGAIN && !part.more())
        pattern_->last_part_refused();
    return result;
}

int socket::send_to_group(std::string_view group, const frame& part, bool dont_wait)
{
    if (box_->is_shut_down())
        return ETERM;
    if (box_->has_mail())
        process_mail();
    group_rules* const groups = pattern_->groups();
    const auto send = [&] {
        return groups ? groups->send_to_group(group, part) : pattern_->send(part);
    };
    const int result = after_operation(send());
    if (result != EAGAIN)
        return result;
    return wait_for_room(send, dont_wait);
}

int socket::wait_to_receive(frame& part, bool dont_wait)
{
    after_operation(0);
    const auto operation = [&] { return pattern_->receive(part); };
    int result = EAGAIN;
    if (!reading_.empty() && read_leased() == base::glance::news)
        result = after_operation(operation());
    if (result == EAGAIN)
        result = wait_until(operation, dont_wait ? 0 : options_->receive_timeout_ms, true);
    if (result == 0)
        more_ = part.more();
    return result;
}

int socket::receive_to(std::span<std::byte> memory, std::size_t& size, bool dont_wait)
{
    if (!dont_wait && !reading_.empty() && pattern_->passes_bodies_on())
        reading_.offer_memory(memory);
    frame part;
    int result = 0;
    try {
        result = receive_on_loan(part, dont_wait);
    } catch (...) {
        reading_.reclaim_memory();
        throw;
    }
    const bool is_there = result == 0 && reading_.take_body(part);
    reading_.reclaim_memory();
    if (result != 0)
        return result;
    size = part.size;
    if (!is_there)
        copy_out(part, memory.data(), std::min(part.size, memory.size()));
    received();
    return 0;
}

} // namespace zlink::core
