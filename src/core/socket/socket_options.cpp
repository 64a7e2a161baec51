// SPDX-License-Identifier: Apache-2.0
// The options of a socket, of which endpoints keep what held when they were made.
#include "core/options/shared_options.hpp"
#include "core/pace/flush_list.hpp"
#include "core/socket/socket.hpp"

#include <cerrno>
#include <memory>
#include <utility>
#include <zmq.h>

namespace zlink::core {
namespace {

// Is it a part of the certificate that bound endpoints show? They have the one that was set last,
// so that it can be replaced before it expires.
bool is_of_certificate(int id) noexcept
{
    switch (id) {
    case ZMQ_TLS_CERT:
    case ZMQ_TLS_KEY:
    case ZMQ_TLS_PASSWORD:
    case ZMQ_WSS_CERT_PEM:
    case ZMQ_WSS_KEY_PEM:
        return true;
    default:
        return false;
    }
}

// Diagnosis for those who work on the library: see docs/internals.md. Not part of the API: the
// number and the text may change.
enum : int { traffic_counts_option = 0x5a4c'0001 };

} // namespace

traffic_counts socket::counts()
{
    traffic_counts all;
    pipes_.for_each([&](pipe_end& pipe) { all += pipe.out.counts(); });
    for (const base::adaptive_spin* const spin :
         {&receiving_spin_, &sending_spin_, &polling_spin_}) {
        all.good_spins += spin->counters().good_spins.value();
        all.failed_spins += spin->counters().failed_spins.value();
        all.sleeps += spin->counters().sleeps.value();
    }
    if (const flush_list* const thread = flush_list::of_this_thread()) {
        const flush_list::flush_counters& batches = thread->counters();
        all.due_flushes = batches.due.value();
        all.ended_batches = batches.ended.value();
        all.guard_rounds = batches.by_guard.value();
        all.hand_overs = batches.handed_over.value();
    }
    return all;
}

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

int socket::set_option(int id, const void* value, std::size_t bytes)
{
    if (const int error = begin_call())
        return error;
    int error = pattern_->set_option(id, value, bytes);
    if (error == EINVAL)
        error = core::set_option(change_options(), id, value, bytes);
    else
        return after_operation(error);
    if (error == 0) {
        options_ = share_options(std::move(options_));
        if (id == ZMQ_SNDHWM || id == ZMQ_RCVHWM) {
            pipes_.for_each([this](pipe_end& pipe) {
                pipe.set_limits(options_->send_hwm, options_->receive_hwm);
                pattern_->writable(pipe);
            });
        } else if (is_of_certificate(id)) {
            for (const bound_endpoint& endpoint : endpoints_.bound()) {
                if (endpoint.listening)
                    endpoint.listening->set_certificate(options_->transport);
            }
        }
    }
    return after_operation(error);
}

int socket::get_option(int id, void* value, std::size_t* bytes)
{
    if (box_->is_shut_down())
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
    case traffic_counts_option:
        return write_text(describe(counts()), value, bytes);
    default:
        break;
    }
    if (box_->has_mail())
        process_mail();
    const int error = pattern_->get_option(id, value, bytes);
    return error == EINVAL ? core::get_option(*options_, id, value, bytes) : error;
}

} // namespace zlink::core
