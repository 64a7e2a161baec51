// SPDX-License-Identifier: Apache-2.0
// Calls of a socket that block: sending and receiving where that cannot be done at once, until
// there is room or input, time is up, or a signal or the end of the socket interrupts the wait.
#include "base/system/held_signals.hpp"
#include "base/tuning.hpp"
#include "base/wait/sleep.hpp"
#include "core/pace/fan_out_writes.hpp"
#include "core/pace/flush_list.hpp"
#include "core/socket/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <zmq.h>

namespace zlink::core {

// Of a socket that is shut down.
int socket::term_error() const noexcept
{
    return close_requested() ? ENOTSOCK : ETERM;
}

// For applications that wait for ZMQ_FD: a call that ends with EAGAIN must neither leave it
// readable without cause, nor clear it before the mail was handled.
template <class Operation>
int socket::try_once_more(Operation operation)
{
    process_mail();
    return after_operation(operation());
}

template <class Operation>
int socket::wait_until(Operation operation, int timeout_ms, bool for_input)
{
    pthread_testcancel();
    if (timeout_ms == 0) {
        if (!leaves_batches_)
            write_batches();
        return box_->watched() ? try_once_more(operation) : EAGAIN;
    }
    const base::deadline until = base::deadline_after_ms(timeout_ms);
    if (gate_)
        return sleep_until(operation, until, for_input);
    // The mark stays to the end of the call, which uses the socket until then.
    if (!deferred_close_.waiting()) {
        has_waited_ = true;
        begin_wait();
    }
    return close_requested() ? ENOTSOCK : sleep_until(operation, until, for_input);
}

template <class Operation>
int socket::sleep_until(Operation operation, base::deadline until, bool for_input)
{
    std::optional<base::held_signals> held;
    for (;;) {
        if (box_->is_shut_down())
            return term_error();
        if (held && held->waiting())
            return EINTR;
        if (!box_->has_mail())
            held.reset();
        if (const int error = sleep(until, for_input))
            return error;
        process_mail();
        const int result = operation();
        if (result != EAGAIN)
            return after_operation(result);
        // Mail that changes nothing may come for ever, and then no sleep is long enough for the
        // time to run out in it, or for a signal to interrupt it. (Of a socket with a gate another
        // thread may take the mail, and this one sleeps all the same.)
        if (until != base::no_deadline && base::steady_clock::now() >= until)
            return EAGAIN;
        if (!held && !gate_ && box_->has_mail())
            held.emplace();
    }
}

// Until there is mail or, with `for_input`, something to read from a leased connection. 0, EAGAIN,
// EINTR, or ENOTSOCK if another thread has closed the socket.
int socket::sleep(base::deadline until, bool for_input)
{
    write_batches();
    if (gate_) { // connections are never leased to one of many threads
        using purpose = socket_gate::purpose;
        const bool in_stream = sleeps_at_once(take_cadence());
        const int error = gate_->sleep(*box_, mail_seen_, until,
                                       !for_input  ? purpose::room
                                       : in_stream ? purpose::message_of_stream
                                                   : purpose::message);
        return closed_ ? ENOTSOCK : error;
    }
    base::wait_result woken{};
    if (for_input) {
        consider_reading();
        woken = receiving_spin_.wait(
            sleeps_at_once(take_cadence()), until,
            [&] {
                return box_->has_mail()   ? base::glance::news
                       : reading_.empty() ? base::glance::nothing
                                          : read_leased();
            },
            [&] { return sleep_alone(until, true); });
    } else {
        if (leave_reading()) // a peer that waits to be read may be what this thread waits for
            return 0;
        woken = sending_spin_.wait(
            false, until,
            [&] { return box_->has_mail() ? base::glance::news : base::glance::nothing; },
            [&] { return sleep_alone(until, false); });
    }
    switch (woken) {
    case base::wait_result::timeout:
        return EAGAIN;
    case base::wait_result::interrupted:
        return EINTR;
    default:
        return 0;
    }
}

base::wait_result socket::sleep_alone(base::deadline until, bool for_input)
{
    base::mailbox* const boxes[] = {box_.get()};
    if (!for_input || reading_.empty())
        return base::sleep_until_mail(boxes, waiter_, waiter_.count(), until);
    if (alarm_.open() != 0) { // no descriptor is left: the I/O threads can read without one
        leave_reading();
        return base::wait_result::signalled;
    }
    pollfd watched[1 + tuning::direct_reading::max_connections]{};
    std::size_t used = 1;
    for (const auto& connection : reading_.connections())
        watched[used++] = {connection.descriptor, POLLIN, 0};
    const base::polling how{{watched, used}, &alarm_};
    const auto woken = base::sleep_until_mail(boxes, waiter_, waiter_.count(), until, &how);
    if (woken == base::wait_result::ready)
        read_leased();
    return woken;
}

void socket::flush() noexcept
{
    if (pipes_.numbers() > tuning::turn::max_flushed_pipes)
        return; // the I/O threads look after them before long
    pipes_.for_each([](pipe_end& pipe) { pipe.flush_before_sleep(); });
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
    if (!receives_.asks_to_read() || !reading_.empty() || box_->watched() ||
        pipes_.size() > tuning::direct_reading::max_connections)
        return;
    pipes_.for_each([](pipe_end& pipe) { pipe.ask_to_read(); });
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

// Who had to wait for room is in the middle of sending.
void socket::note_wait_for_room() noexcept
{
    flush_list::expect_more_of_this_thread();
    link_->fan_out->waited_for_room(flush_list::clock::now());
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
    const auto after_wait = [&] {
        if (!dont_wait)
            note_wait_for_room();
        return operation();
    };
    const int result = wait_until(after_wait, dont_wait ? 0 : options_->send_timeout_ms, false);
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
    const auto send = [&] { return pattern_->send_to_group(group, part); };
    const int result = after_operation(send());
    if (result != EAGAIN)
        return result;
    const auto after_wait = [&] {
        if (!dont_wait)
            note_wait_for_room();
        return send();
    };
    return wait_until(after_wait, dont_wait ? 0 : options_->send_timeout_ms, false);
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
    // With one peer only: otherwise it is likely that another one's message comes first.
    if (!dont_wait && reading_.connections().size() == 1 && pattern_->passes_bodies_on())
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
