// SPDX-License-Identifier: Apache-2.0
// What a thread asks of a socket that waits for several, or in a way of its own: whether it is
// ready, and when to look again.
#include "core/socket/socket.hpp"
#include "core/socket/socket_services.hpp"

#include <cerrno>
#include <utility>
#include <zmq.h>

namespace zlink::core {

int socket::events(int& out)
{
    process_mail();
    leave_reading(); // whoever asks waits in another way than by receiving
    return ready_for(ZMQ_POLLIN | ZMQ_POLLOUT, out);
}

int socket::ready_for(int wanted, int& out)
{
    if (box_->is_shut_down())
        return term_error();
    out = ((wanted & ZMQ_POLLIN) && pattern_->can_receive() ? ZMQ_POLLIN : 0) |
          ((wanted & ZMQ_POLLOUT) && pattern_->can_send() ? ZMQ_POLLOUT : 0);
    after_operation(0);
    return 0;
}

int socket::arm(base::one_shot_call::function& wake, void* argument, bool& is_armed)
{
    is_armed = false;
    box_->disarm();
    process_mail();
    leave_reading();
    if (box_->is_shut_down())
        return term_error();
    // Calls since the last time may have processed mail that concerns what failed before them.
    const bool has_changed = std::exchange(mail_told_, mail_seen_) != mail_seen_;
    const unsigned parts = receives_.parts();
    const bool has_received = std::exchange(parts_told_, parts) != parts;
    // Who has received may have left something. Where there is nothing, this puts the queues to
    // sleep: only then they tell of more.
    const bool can_receive = pattern_->can_receive();
    const bool is_new = has_changed || (has_received && can_receive);
    after_operation(0);
    is_armed = !is_new && box_->arm(wake, argument);
    return 0;
}

int socket::peer_events(std::string_view routing_id, int& out)
{
    if (const int error = begin_call())
        return error;
    name_rules* const names = pattern_->names();
    return names ? names->peer_events(routing_id, out) : ENOTSUP;
}

int socket::poll_events(int wanted, int& out, std::uint32_t& mail)
{
    const auto look = [&] {
        const std::uint32_t before = mail_seen_;
        if (box_->has_mail() || box_->has_descriptor())
            process_mail();
        int error = ready_for(wanted, out);
        if (!error && (wanted & ~out & ZMQ_POLLIN) && read_leased() == base::glance::news)
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

bool socket::prepare_to_poll(std::vector<int>& descriptors, std::size_t most)
{
    consider_reading();
    if (descriptors.size() + reading_.connections().size() > most)
        return !leave_reading();
    for (const auto& connection : reading_.connections())
        descriptors.push_back(connection.descriptor);
    return true;
}

base::alarm_reserve& socket::alarms() noexcept
{
    return context_.alarms();
}

} // namespace zlink::core
