// SPDX-License-Identifier: Apache-2.0
#include "core/socket/socket.hpp"

#include "base/system/held_signals.hpp"
#include "base/wait/sleep.hpp"
#include "core/connection/session.hpp"
#include "core/pace/burst.hpp"
#include "core/pace/write_policy.hpp"
#include "core/socket/endpoint.hpp"
#include "core/socket/socket_services.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <poll.h>
#include <zmq.h>

namespace zlink::core {

static_assert(EAGAIN == 11);

// Of a socket that is interrupted.
int socket::term_error() const noexcept
{
    return left() ? ENOTSOCK : ETERM;
}

namespace {

// So many sleeps that follow one another within quick_sleep, and the thread reads by itself.
constexpr std::chrono::milliseconds quick_sleep{2};
constexpr unsigned quick_sleeps_until_reading = 8;
constexpr unsigned quick_sleeps_until_next_try = 64;
// With more pipes than this a look at each before a sleep would cost more than it brings.
constexpr std::size_t most_flushed = 64;

} // namespace

socket::socket(socket_services& owner, const pattern_row& row,
               std::shared_ptr<const socket_options> defaults, std::shared_ptr<void> context_hold)
    : context_(owner),
      options_(std::move(defaults)),
      box_(std::make_shared<base::mailbox>()),
      link_(std::make_shared<socket_link>()),
      pattern_(row.make(*this)),
      thread_safe_(row.traits.thread_safe)
{
    if (options_->type != row.traits.number) {
        socket_options& own = change_options();
        own.type = row.traits.number;
        own.traits = &row.traits;
        if (own.linger_ms == -1)
            own.linger_ms = pattern_->default_linger_ms();
        own.wire = pattern_->wire();
    }
    link_->box = box_;
    link_->mechanisms = context_.mechanisms();
    link_->inproc = &context_.inproc();
    link_->subscriptions = pattern_->subscriptions();
    link_->pace = std::make_shared<fan_out_budget>();
    link_->pace->fans_out = pattern_->fans_out();
    link_->context_hold = std::move(context_hold);
}

socket::~socket() = default;

// --- waiting -----------------------------------------------------------------------------------

// For who waits on the descriptor: must not be left readable, nor be cleared of news nobody has
// seen.
template <class Operation>
int socket::try_once_more(Operation operation)
{
    process_mail();
    return after_operation(operation());
}

template <class Operation>
int socket::wait_until(Operation operation, int timeout_ms, bool for_input)
{
    if (timeout_ms == 0) {
        if (!leaves_batches_)
            write_batches();
        return box_->watched() ? try_once_more(operation) : EAGAIN;
    }
    const base::deadline until = base::deadline_after_ms(timeout_ms);
    if (gate_)
        return sleep_until(operation, until, for_input);
    begin_wait();
    int result = ENOTSOCK;
    try {
        if (!left())
            result = sleep_until(operation, until, for_input);
    } catch (...) {
        end_wait();
        throw;
    }
    return end_wait() ? ENOTSOCK : result; // the caller closes it then
}

template <class Operation>
int socket::sleep_until(Operation operation, base::deadline until, bool for_input)
{
    std::optional<base::held_signals> held;
    for (;;) {
        if (box_->interrupted())
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

// Until there is mail or, with `for_input`, something to read from a lent connection. 0, EAGAIN,
// EINTR, or ENOTSOCK if another thread has closed the socket.
int socket::sleep(base::deadline until, bool for_input)
{
    write_batches();
    if (gate_) { // connections are never lent to one of many threads
        using purpose = socket_gate::purpose;
        const bool in_stream = take_received() > base::adaptive_spin::most_in_dialogue;
        const int error = gate_->sleep(*box_, mail_seen_, until,
                                       !for_input  ? purpose::room
                                       : in_stream ? purpose::message_of_stream
                                                   : purpose::message);
        return closed_ ? ENOTSOCK : error;
    }
    base::wait_result woken{};
    if (for_input) {
        consider_reading();
        const unsigned received = take_received();
        woken = receiving_spin_.wait(
            lent_.empty() ? received > base::adaptive_spin::most_in_dialogue : in_stream_, until,
            [&] {
                return box_->has_mail() ? base::glance::news
                       : lent_.empty()  ? base::glance::nothing
                                        : read_lent();
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
    if (!for_input || lent_.empty())
        return base::sleep_until_mail(boxes, waiter_, waiter_.count(), until);
    if (alarm_.open() != 0) { // no descriptor is left: the I/O threads can read without one
        leave_reading();
        return base::wait_result::signalled;
    }
    pollfd watched[1 + base::waiter::most_others]{};
    std::size_t used = 1;
    for (const lent_connection& connection : lent_)
        watched[used++] = {connection.descriptor, POLLIN, 0};
    const base::polling how{{watched, used}, &alarm_};
    const auto woken = base::sleep_until_mail(boxes, waiter_, waiter_.count(), until, &how);
    if (woken == base::wait_result::ready)
        read_lent();
    return woken;
}

base::alarm_reserve& socket::alarms() noexcept
{
    return context_.alarms();
}

void socket::flush() noexcept
{
    if (pipes_.size() > most_flushed)
        return; // the I/O threads look after them before long
    for (const auto& pipe : pipes_)
        if (pipe)
            pipe->flush_before_sleep();
}

// What this thread has left for batches, through whatever socket: the answer may be what it has
// found nothing of, or is going to wait for.
void socket::write_batches() noexcept
{
    flush(); // is cheaper for connections of this socket
    burst::end_of_this_thread();
}

// A thread that waits again and again is served best by reading its connections itself.
void socket::consider_reading()
{
    const auto now = base::steady_clock::now();
    quick_sleeps_ = now - last_sleep_ < quick_sleep ? quick_sleeps_ + 1 : 0;
    last_sleep_ = now;
    if (quick_sleeps_ % quick_sleeps_until_next_try != quick_sleeps_until_reading ||
        !lent_.empty() || box_->watched() ||
        pipes_.size() - free_numbers_.size() > base::waiter::most_others)
        return;
    for (const auto& pipe : pipes_)
        if (pipe)
            pipe->ask_to_read();
}

void socket::take_lent(pipe_end& pipe)
{
    if (std::ranges::find(lent_, &pipe, &lent_connection::pipe) != lent_.end())
        return;
    // More than one can wait for may come from several times of asking.
    if (lent_.size() == base::waiter::most_others)
        return pipe.stop_reading();
    forget_shortcuts();
    const auto read = pipe.read_connection(); // what has come meanwhile
    if (read.got)
        pattern_->readable(pipe);
    if (read.lent)
        lent_.push_back({&pipe, read.descriptor});
}

base::glance socket::read_lent()
{
    auto seen = base::glance::nothing;
    in_stream_ = false;
    for (std::size_t i = 0; i < lent_.size();) {
        pipe_end& pipe = *lent_[i].pipe;
        const bool memory_taken =
            body_there_.announced || (read_outside_ && read_outside_ != &pipe);
        const auto read = pipe.read_connection(memory_taken ? std::span<std::byte>{} : memory_);
        if (!memory_taken)
            read_outside_ = read.outside ? &pipe : nullptr;
        if (read.body.announced)
            body_there_ = read.body;
        if (read.moved)
            seen = std::max(seen, base::glance::progress);
        if (read.got) {
            seen = base::glance::news;
            ++mail_seen_; // it is no less news than mail
            forget_shortcuts();
            pattern_->readable(pipe);
        }
        in_stream_ |= read.in_stream;
        lent_[i].descriptor = read.descriptor;
        if (read.lent)
            ++i;
        else
            lent_.erase(lent_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return seen;
}

bool socket::prepare_to_poll(std::vector<int>& descriptors, std::size_t most)
{
    consider_reading();
    if (descriptors.size() + lent_.size() > most)
        return !leave_reading();
    for (const lent_connection& connection : lent_)
        descriptors.push_back(connection.descriptor);
    return true;
}

bool socket::leave_reading()
{
    if (lent_.empty())
        return false;
    read_lent();
    for (const lent_connection& connection : lent_)
        connection.pipe->stop_reading();
    lent_.clear();
    return true;
}

// Who had to wait for room is in the middle of sending.
void socket::note_wait_for_room() noexcept
{
    burst::expect_more_of_this_thread();
    link_->pace->waited_for_room(burst::clock::now());
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
    if (box_->interrupted())
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
    if (!lent_.empty() && read_lent() == base::glance::news)
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
    if (!dont_wait && lent_.size() == 1 && pattern_->passes_bodies_on())
        memory_ = memory;
    frame part;
    int result = 0;
    try {
        result = receive_lent(part, dont_wait);
    } catch (...) {
        reclaim_memory();
        throw;
    }
    const bool is_there =
        result == 0 && body_there_.announced && part.owner == body_there_.announced;
    if (is_there)
        std::exchange(body_there_, {}).announced->drop_reference(); // the part has another
    reclaim_memory();
    if (result != 0)
        return result;
    size = part.size;
    if (!is_there)
        copy_out(part, memory.data(), std::min(part.size, memory.size()));
    received();
    return 0;
}

// The caller's memory is its own again. What has come there and was not asked for stays in the
// queue.
void socket::reclaim_memory() noexcept
{
    if (read_outside_)
        std::exchange(read_outside_, nullptr)->take_memory_back();
    if (body_there_.announced) {
        std::memcpy(body_there_.announced->data, memory_.data(), body_there_.bytes);
        std::exchange(body_there_, {}).announced->drop_reference();
    }
    memory_ = {};
}

int socket::events(int& out)
{
    process_mail();
    leave_reading(); // whoever asks waits in another way than by receiving
    return ready_for(ZMQ_POLLIN | ZMQ_POLLOUT, out);
}

int socket::ready_for(int wanted, int& out)
{
    if (box_->interrupted())
        return term_error();
    out = ((wanted & ZMQ_POLLIN) && pattern_->can_receive() ? ZMQ_POLLIN : 0) |
          ((wanted & ZMQ_POLLOUT) && pattern_->can_send() ? ZMQ_POLLOUT : 0);
    after_operation(0);
    return 0;
}

int socket::peer_events(std::string_view routing_id, int& out)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    return pattern_->peer_events(routing_id, out);
}

int socket::poll_events(int wanted, int& out, std::uint32_t& mail)
{
    const auto look = [&] {
        const std::uint32_t before = mail_seen_;
        if (box_->has_mail() || box_->watched())
            process_mail();
        int error = ready_for(wanted, out);
        if (!error && (wanted & ~out & ZMQ_POLLIN) && read_lent() == base::glance::news)
            error = ready_for(wanted, out);
        mail += mail_seen_ - before;
        return error;
    };
    if (!gate_)
        return look();
    const socket_gate::turn mine(*gate_);
    if (closed_)
        return ENOTSOCK;
    if (const int error = look())
        return error;
    if (out & wanted)
        return 0;
    flush();
    if (!box_->prepare_sleep(*gate_))
        ++mail; // has come meanwhile: the caller, who knows how long it may wait, looks again
    return 0;
}

bool socket::expect_mail(std::uint32_t seen) noexcept
{
    if (mail_seen_ != seen)
        return false;
    flush();
    return box_->prepare_sleep(*gate_);
}

// --- pipes -------------------------------------------------------------------------------------

void socket::process_mail()
{
    forget_left_endpoints(); // before their last mail is collected
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
    std::unique_ptr<peer_info> peer;
    const auto done = [&events](std::uint32_t event) { events &= ~event; };
    try {
        // First: what is read while attaching shows whom it is from.
        if (events & pipe_end::identified) {
            peer = pipe.take_peer();
            if (peer) // else it came with news that were looked at before
                pipe.set_properties(peer->properties);
        }
        if (events & pipe_end::attached)
            adopt(std::static_pointer_cast<pipe_end>(owner));
        done(pipe_end::attached);
        if (peer && (events & pipe_end::identified)) {
            forget_shortcuts();
            pattern_->identified(pipe, *peer);
        }
        done(pipe_end::identified);
        if (events & pipe_end::leaving) {
            forget_shortcuts();
            pipe.mark_other_closed();
            pipe.last_words_follow = true;
            pattern_->peer_closed(pipe);
        }
        done(pipe_end::leaving);
        if (events & pipe_end::readable)
            pattern_->readable(pipe);
        done(pipe_end::readable);
        if (events & pipe_end::writable)
            pattern_->writable(pipe);
        done(pipe_end::writable);
        if (events & pipe_end::lent)
            take_lent(pipe);
        done(pipe_end::lent);
        if (events & pipe_end::closed) {
            pipe.mark_other_gone();
            pipe.last_words_follow = false;
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

void socket::adopt(std::shared_ptr<pipe_end> pipe)
{
    forget_shortcuts();
    // Giving a number back and dropping a pipe must not need memory.
    if (free_numbers_.capacity() <= pipes_.size())
        free_numbers_.reserve(2 * pipes_.size() + 1);
    if (dropped_.capacity() <= pipes_.size() + dropped_.size())
        dropped_.reserve(2 * (pipes_.size() + dropped_.size()) + 1);
    if (free_numbers_.empty()) {
        pipe->number = static_cast<std::uint32_t>(pipes_.size());
        pipes_.push_back(pipe);
    } else {
        pipe->number = free_numbers_.back();
        free_numbers_.pop_back();
        pipes_[pipe->number] = pipe;
    }
    pipe->set_limits(options_->send_hwm, options_->receive_hwm);
    count_connections();
    try {
        pattern_->attach(*pipe);
    } catch (...) {
        pattern_->detach(*pipe);
        free_numbers_.push_back(pipe->number);
        pipes_[pipe->number].reset();
        count_connections();
        throw;
    }
}

void socket::count_connections() noexcept
{
    const std::size_t count = pipes_.size() - free_numbers_.size();
    link_->pace->connections = count;
    if (count > 2)
        return;
    for (const auto& pipe : pipes_)
        if (pipe)
            pipe->waits_for_reader = pipe->is_inproc && count == 1;
}

// The peer is gone: nothing more is written; what can still be read keeps the pipe.
void socket::finish_pipe(pipe_end& pipe)
{
    forget_shortcuts();
    pipe.mark_other_closed();
    pattern_->peer_closed(pipe);
    frame unread;
    if (!pattern_->reads_from(pipe) || !pipe.peek(unread))
        drop(pipe);
}

// This thread reads nothing more of its connection. True if it did.
bool socket::end_own_reading(pipe_end& pipe)
{
    forget_shortcuts();
    if (read_outside_ == &pipe)
        reclaim_memory();
    return std::erase_if(lent_, [&](const lent_connection& lent) { return lent.pipe == &pipe; }) !=
           0;
}

void socket::ignore_arrivals(pipe_end& pipe)
{
    if (end_own_reading(pipe))
        pipe.stop_reading();
}

void socket::begin_message_to_many(std::size_t pipes)
{
    if (pipes > fan_out_budget::direct_writes)
        link_->pace->begin_message_to_many(pipes, burst::clock::now());
    else
        link_->pace->begin_message_to_few();
}

void socket::end_message_to_many()
{
    if (link_->pace->message == fan_out_budget::extent::many)
        link_->pace->end_message_to_many(burst::clock::now());
    link_->pace->message = fan_out_budget::extent::unknown;
}

void socket::drop_pipes()
{
    while (!dropped_.empty()) {
        const auto pipe = std::move(dropped_.back());
        dropped_.pop_back();
        if (!pipe->closed_here())
            close_pipe(*pipe, options_->linger_ms);
    }
}

void socket::close_pipe(pipe_end& pipe, int linger_ms)
{
    end_own_reading(pipe);
    pattern_->detach(pipe);
    if (pipe.is_inproc && pipe.connected_side)
        context_.inproc().close(pipe, linger_ms);
    else
        pipe.close(linger_ms);
    free_numbers_.push_back(pipe.number);
    pipes_[pipe.number].reset();
    count_connections();
}

void socket::close()
{
    closed_ = true;
    for (const auto& endpoint : bound_)
        if (!endpoint.listening)
            context_.inproc().unbind(inproc_name(endpoint.endpoint), *link_);
    box_->close([this](const std::shared_ptr<void>& owner, base::mail& item, std::uint32_t events) {
        handle_mail(owner, item, events);
    });
    for (std::size_t i = 0; i < pipes_.size(); ++i)
        if (const auto pipe = pipes_[i])
            close_pipe(*pipe, options_->linger_ms);
    for (const auto& endpoint : bound_)
        if (endpoint.listening)
            endpoint.listening->close();
    for (const auto& endpoint : datagrams_)
        endpoint.session->settle();
    for (const auto& endpoint : connected_)
        if (endpoint.connection)
            endpoint.connection->close(options_->linger_ms);
    bound_.clear();
    connected_.clear();
    datagrams_.clear();
    link_->events.stop();
    link_.reset();
}

// --- closing under a wait ----------------------------------------------------------------------

wait_mark::wait_mark(socket* waited_for) noexcept
    : socket_(waited_for && !waited_for->gate() ? waited_for : nullptr)
{
    if (socket_)
        socket_->begin_wait();
}

wait_mark::~wait_mark()
{
    if (socket_ && socket_->end_wait())
        socket_->close_if_left();
}

void socket::begin_wait() noexcept
{
    waits_.store(waits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    order_waiting();
}

bool socket::end_wait() noexcept
{
    const std::uint32_t outer = waits_.load(std::memory_order_relaxed) - 1;
    waits_.store(outer, std::memory_order_release);
    order_waiting();
    return outer == 0 && left();
}

// Either the thread that waits sees that the socket was left, or who leaves it sees that it waits.
void socket::order_waiting() noexcept
{
    if (fenced_) [[likely]]
        base::light_fence();
    else
        std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool socket::leave_to_waiting(const std::shared_ptr<void>& owner) noexcept
{
    owner_ = owner;
    left_.store(true, std::memory_order_release);
    if (fenced_)
        base::heavy_fence();
    else
        std::atomic_thread_fence(std::memory_order_seq_cst);
    if (waits_.load(std::memory_order_acquire) != 0) {
        interrupt();
        return true;
    }
    if (closing_.exchange(true, std::memory_order_acq_rel))
        return true;
    owner_.reset(); // the caller has it
    return false;
}

void socket::close_if_left() noexcept
{
    if (!left() || closing_.exchange(true, std::memory_order_acq_rel))
        return;
    const std::shared_ptr<void> owner = std::move(owner_);
    try {
        context_.close_socket(std::shared_ptr<socket>(owner, this));
    } catch (...) {
        // Memory ran out while closing: what could not be told to the I/O threads ends with them.
    }
}

int socket::report_pipes()
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    if (!link_->events.wants(ZMQ_EVENT_PIPES_STATS))
        return EINVAL;
    bool any = false;
    for (const auto& pipe : pipes_) {
        if (!pipe)
            continue;
        any = true;
        const monitor_event::values lengths{{pipe->outbound_messages(), pipe->inbound_messages()},
                                            2};
        if (pipe->connected_side)
            link_->events.emit({ZMQ_EVENT_PIPES_STATS,
                                lengths,
                                monitor_event::side::connected,
                                {},
                                pipe->endpoint});
        else
            link_->events.emit({ZMQ_EVENT_PIPES_STATS, lengths, monitor_event::side::bound,
                                pipe->endpoint, pipe->far_end});
    }
    return any ? 0 : EAGAIN;
}

// --- endpoints ---------------------------------------------------------------------------------

// Who has got a copy keeps it as it is.
socket_options& socket::change_options()
{
    auto copy = std::make_shared<socket_options>(*options_);
    socket_options& fresh = *copy;
    options_ = std::move(copy);
    return fresh;
}

// For a new endpoint.
void socket::snapshot_options()
{
    if (options_->wire != pattern_->wire())
        change_options().wire = pattern_->wire();
}

std::shared_ptr<const transport::options> socket::transport_options() const noexcept
{
    return {options_, &options_->transport};
}

int socket::bind_failed(std::string_view address, std::string_view endpoint, int error,
                        std::unique_ptr<transport::acceptor> opened)
{
    if (opened) {
        const int fd = opened->descriptor();
        opened.reset();
        link_->events.emit({ZMQ_EVENT_CLOSED,
                            monitor_event::number(fd),
                            monitor_event::side::bound,
                            endpoint,
                            {}});
    }
    link_->events.emit({ZMQ_EVENT_BIND_FAILED,
                        monitor_event::number(error),
                        monitor_event::side::bound,
                        address,
                        {}});
    return error;
}

int socket::bind(std::string_view text)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    endpoint_text endpoint;
    if (const int error = parse_endpoint(text, endpoint))
        return error;
    if (wants_other_transport(endpoint.scheme))
        return ENOCOMPATPROTO;
    if (const auto* const datagrams = context_.find_datagram_scheme(endpoint.scheme))
        return open_datagrams(*datagrams, endpoint_role::bound, text, endpoint.address);
    if (endpoint.scheme == "inproc") {
        shared_text last{std::string(text)};
        bound_.push_back({last, nullptr}); // before the name is known: memory may run out
        try {
            if (const int error = context_.inproc().bind(std::string(endpoint.address),
                                                         {link_, options_.get()})) {
                bound_.pop_back();
                return error;
            }
        } catch (...) {
            bound_.pop_back();
            throw;
        }
        last_endpoint_ = std::move(last);
        process_mail();
        return 0;
    }
    const transport_row* const row = context_.find_transport(endpoint.scheme);
    if (!row)
        return EPROTONOSUPPORT;
    if (!choose_mechanism(context_.mechanisms(), *options_))
        return ENOTSUP;
    runtime::io_thread* thread = context_.choose_thread(options_->affinity);
    if (!thread)
        return EMTHREAD;
    transport::error_code error;
    std::unique_ptr<transport::acceptor> acceptor;
    auto address = row->scheme->parse_bind(endpoint.address, transport_options(), error);
    if (!error)
        acceptor = address->listen(thread->context(), error);
    if (error)
        return bind_failed(endpoint.address, row->scheme->known_unbound ? text : std::string_view(),
                           error.value(), std::move(acceptor));
    snapshot_options();
    const int fd = acceptor->descriptor();
    auto listening = std::make_shared<listener>(context_.pool(), *thread, link_, options_, *row,
                                                std::move(address), std::move(acceptor));
    last_endpoint_ = listening->endpoint();
    bound_.push_back({last_endpoint_, listening});
    link_->events.emit({ZMQ_EVENT_LISTENING,
                        monitor_event::number(fd),
                        monitor_event::side::bound,
                        last_endpoint_,
                        {}});
    listening->start();
    return 0;
}

int socket::connect_inproc(std::string_view name, const shared_text& endpoint)
{
    auto pipe = context_.inproc().connect(std::string(name), {link_, options_.get()});
    connected_.push_back({endpoint, nullptr, pipe});
    pipe->made_by_call = true;
    adopt(pipe);
    if (const auto info = pipe->take_peer())
        pattern_->identified(*pipe, *info);
    return after_operation(0);
}

int socket::connect(std::string_view text)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    endpoint_text endpoint;
    if (const int error = parse_endpoint(text, endpoint))
        return error;
    if (wants_other_transport(endpoint.scheme))
        return ENOCOMPATPROTO;
    if (const auto* const datagrams = context_.find_datagram_scheme(endpoint.scheme))
        return open_datagrams(*datagrams, endpoint_role::connected, text, endpoint.address);
    const shared_text given{std::string(text)};
    if (const int error = pattern_->check_connect())
        return error;
    if (endpoint.scheme == "inproc") {
        last_endpoint_ = given;
        return connect_inproc(endpoint.address, given);
    }
    const transport_row* const row = context_.find_transport(endpoint.scheme);
    if (!row)
        return EPROTONOSUPPORT;
    if (!choose_mechanism(context_.mechanisms(), *options_))
        return ENOTSUP;
    transport::error_code error;
    auto address = row->scheme->parse_connect(endpoint.address, transport_options(), error);
    if (error)
        return error.value();
    if (pattern_->connects_once() &&
        std::ranges::any_of(connected_, [&](const connected_endpoint& made) {
            return made.endpoint == given && made.connection && made.connection->serves_socket();
        }))
        return 0;
    runtime::io_thread* thread = context_.choose_thread(options_->affinity);
    if (!thread)
        return EMTHREAD;
    snapshot_options();
    if (knows_ended_) // this one takes their place
        std::erase_if(connected_, [&](const connected_endpoint& made) {
            return made.endpoint == given && !made.connection;
        });
    auto connection =
        std::make_shared<session>(*thread, link_, options_, given, *row, std::move(address));
    connected_.push_back({given, connection, {}});
    if (!options_->immediate) {
        auto pipe = connection->make_pipe();
        connected_.back().pipe = pipe;
        pipe->made_by_call = true;
        adopt(pipe);
    }
    connection->start();
    last_endpoint_ = given;
    return after_operation(0);
}

int socket::connect_peer(std::string_view text, std::uint32_t& routing_id)
{
    if (box_->interrupted())
        return ETERM;
    if (!pattern_->names_peers())
        return ENOTSUP;
    if (options_->immediate)
        return EFAULT; // there is no peer before the connection
    if (const int error = connect(text))
        return error;
    routing_id = pattern_->newest_peer();
    return 0;
}

int socket::disconnect_peer(std::uint32_t routing_id)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    return after_operation(pattern_->drop_peer(routing_id));
}

int socket::join(std::string_view group)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    return after_operation(pattern_->join(group));
}

int socket::leave(std::string_view group)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    return after_operation(pattern_->leave(group));
}

int socket::unbind(std::string_view text)
{
    return end_endpoints(endpoint_role::bound, text);
}

int socket::disconnect(std::string_view text)
{
    return end_endpoints(endpoint_role::connected, text);
}

// Both calls end what they find under the name, of whatever role: `role` is only what they look for
// first, which matters where inproc has both.
int socket::end_endpoints(endpoint_role role, std::string_view text)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    endpoint_text endpoint;
    if (const int error = parse_endpoint(text, endpoint))
        return error;
    if (context_.find_datagram_scheme(endpoint.scheme))
        return end_datagrams(role, text);
    bool found;
    if (endpoint.scheme == "inproc") {
        found = role == endpoint_role::bound ? end_bound(text) || end_connected(text)
                                             : end_connected(text) || end_bound(text);
    } else {
        const transport_row* const row = context_.find_transport(endpoint.scheme);
        if (!row)
            return EPROTONOSUPPORT;
        found = end_bound(text);
        found = end_connected(text) || found;
        if (!found && !(bound_.empty() && connected_.empty())) {
            // Another way to write it; may have to resolve a name.
            const auto number = row->scheme->canonical(endpoint.address, options_->transport);
            found = end_bound(number);
            found = end_connected(number) || found;
        }
    }
    return found ? after_operation(0) : ENOENT;
}

bool socket::end_bound(std::string_view text)
{
    bool found = false;
    for (auto at = bound_.begin(); at != bound_.end();) {
        if (at->endpoint != text) {
            ++at;
            continue;
        }
        found = true;
        const bound_endpoint ended = *at;
        at = bound_.erase(at);
        if (!ended.listening) {
            context_.inproc().unbind(inproc_name(ended.endpoint), *link_);
            continue; // pipes that exist stay
        }
        ended.listening->close();
        process_mail();
        for (std::size_t i = 0; i < pipes_.size(); ++i)
            if (const auto pipe = pipes_[i];
                pipe && !pipe->connected_side && pipe->endpoint.get() == ended.endpoint)
                finish_pipe(*pipe);
    }
    return found;
}

bool socket::end_connected(std::string_view text)
{
    bool found = false;
    for (auto at = connected_.begin(); at != connected_.end();) {
        if (at->endpoint != text) {
            ++at;
            continue;
        }
        found = true;
        const connected_endpoint ended = *at;
        at = connected_.erase(at);
        if (ended.connection)
            ended.connection->stop_if_disconnected();
        const auto pipe = ended.pipe.lock();
        if (pipe && !pipe->closed_here()) {
            if (more_ && pattern_->source() == pipe.get()) {
                pipe->hang_up(options_->linger_ms); // the message that is being read goes on
                finish_pipe(*pipe);
            } else {
                close_pipe(*pipe, options_->linger_ms);
            }
        }
        if (!ended.connection)
            continue;
        if (pipe) { // no others, then
            ended.connection->close(options_->linger_ms);
            continue;
        }
        read_lent(); // what has come can be received at once, also if it is this thread that reads
        for (std::size_t i = 0; i < pipes_.size(); ++i) // IMMEDIATE=1: pipes of its connections
            if (const auto other = pipes_[i]; other && other->connected_side &&
                                              other->endpoint == ended.endpoint &&
                                              other->belongs_to(*ended.connection)) {
                if (other->leave()) {
                    end_own_reading(*other); // its I/O thread takes that back
                    pattern_->peer_closed(*other);
                } else {
                    finish_pipe(*other);
                }
            }
        ended.connection->close(options_->linger_ms);
    }
    return found;
}

// To which no other connection will be made: zmq_connect may begin anew. If there never was one of
// use, zmq_disconnect still finds them.
void socket::forget_left_endpoints() noexcept
{
    const auto left = link_->endpoints_left.load(std::memory_order_acquire);
    if (left == endpoints_left_) [[likely]]
        return;
    endpoints_left_ = left;
    std::erase_if(connected_, [this](connected_endpoint& made) {
        if (!made.connection || !made.connection->gave_up())
            return false;
        const bool lost = made.connection->was_lost();
        made.connection.reset();
        knows_ended_ |= !lost;
        return lost;
    });
}

// --- options -----------------------------------------------------------------------------------

int socket::set_option(int id, const void* value, std::size_t bytes)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    int error = pattern_->set_option(id, value, bytes);
    if (error == EINVAL)
        error = core::set_option(change_options(), id, value, bytes);
    else
        return after_operation(error);
    if (error == 0) {
        if (id == ZMQ_SNDHWM || id == ZMQ_RCVHWM) {
            for (const auto& pipe : pipes_) {
                if (!pipe)
                    continue;
                pipe->set_limits(options_->send_hwm, options_->receive_hwm);
                pattern_->writable(*pipe);
            }
        }
    }
    return after_operation(error);
}

int socket::get_option(int id, void* value, std::size_t* bytes)
{
    if (box_->interrupted())
        return ETERM;
    if (!value || !bytes)
        return EINVAL;
    switch (id) {
    case ZMQ_RCVMORE:
        return write_int(more_ ? 1 : 0, value, bytes);
    case ZMQ_FD: {
        if (thread_safe_)
            return EINVAL; // one descriptor cannot tell many threads
        leave_reading();
        const int fd = box_->descriptor();
        return fd < 0 ? errno : write_int(fd, value, bytes);
    }
    case ZMQ_EVENTS: {
        if (*bytes < sizeof(int))
            return EINVAL;
        int now = 0;
        const int error = events(now);
        if (!error && !(now & ZMQ_POLLIN))
            write_batches();
        return error ? error : write_int(now, value, bytes);
    }
    case ZMQ_LAST_ENDPOINT:
        return write_text(last_endpoint_, value, bytes);
    default:
        break;
    }
    if (box_->has_mail())
        process_mail();
    const int error = pattern_->get_option(id, value, bytes);
    return error == EINVAL ? core::get_option(*options_, id, value, bytes) : error;
}

} // namespace zlink::core
