// SPDX-License-Identifier: Apache-2.0
#include "core/pipe/pipe.hpp"

#include "core/pace/flush_list.hpp"
#include "core/pipe/notices.hpp"

namespace zlink::core {

pipe_end::pipe_end(std::shared_ptr<channel_pair> channels, bool side_a,
                   std::shared_ptr<base::mailbox> box)
    : channels_(std::move(channels)),
      box_(std::move(box)),
      out(side_a ? channels_->a_to_b : channels_->b_to_a, *this),
      in(side_a ? channels_->b_to_a : channels_->a_to_b)
{}

pipe_end::~pipe_end()
{
    delete peer_.load(std::memory_order_acquire);
}

void pipe_end::set_other_end(std::shared_ptr<pipe_peer> other) noexcept
{
    other_ = std::move(other);
    out.set_reader(other_.get());
    in.set_writer(other_.get());
}

void pipe_end::set_inproc() noexcept
{
    origin.is_inproc = true;
    out.set_inproc();
    in.set_inproc();
}

void pipe_end::set_limits(int out_messages, int in_messages) noexcept
{
    out.set_limit(out_messages);
    in.set_limit(in_messages);
    if (origin.is_inproc)
        for (base::channel* const channel : {&channels_->a_to_b, &channels_->b_to_a})
            channel->queue.rotate_chunks(channel->credit.limit());
}

bool pipe_end::notify(std::uint32_t events) noexcept
{
    return box_ && box_->post(*this, events, shared_from_this());
}

void pipe_end::set_peer(std::unique_ptr<peer_info> info) noexcept
{
    delete peer_.exchange(info.release(), std::memory_order_acq_rel);
}

std::unique_ptr<peer_info> pipe_end::take_peer() noexcept
{
    std::unique_ptr<peer_info> taken(peer_.exchange(nullptr, std::memory_order_acq_rel));
    if (!taken)
        return nullptr;
    if (taken->wants_newest && !out.replaces_messages()) {
        out.set_conflation(true);
        out.set_limit(0);
    }
    disconnect_message_ = taken->disconnect_message;
    marks_notices_ = taken->marks_notices;
    return taken;
}

void pipe_end::on_readable() noexcept
{
    if (!flush_list::hold(*this))
        notify(readable);
}

void pipe_end::on_ended(pipe_ending how, int) noexcept
{
    if (how == pipe_ending::output_ended || how == pipe_ending::left)
        return; // what was written can still be read, and the end follows
    if (how == pipe_ending::refused)
        taken_back_.store(true, std::memory_order_release);
    notify(closed);
}

void pipe_end::write_disconnect_message() noexcept
{
    if (!disconnect_message_.empty())
        out.write(notice_frame(marks_notices_, disconnect_message_));
}

void pipe_end::end_output(pipe_ending how) noexcept
{
    if (other_)
        other_->on_ended(how, 0);
}

bool pipe_end::leave() noexcept
{
    out.give_up_message();
    if (!other_ || other_gone_)
        return false;
    write_disconnect_message();
    end_output(pipe_ending::left);
    out.close();
    return true;
}

void pipe_end::hang_up(int linger_ms) noexcept
{
    out.give_up_message();
    if (other_ && !other_gone_) {
        if (!is_refused())
            write_disconnect_message();
        other_->on_ended(is_refused() ? pipe_ending::refused : pipe_ending::closed, linger_ms);
    }
    set_other_end(nullptr);
    out.set_outlet(nullptr);
    in.set_inlet(nullptr);
    mark_other_gone();
}

bool pipe_end::close(int linger_ms) noexcept
{
    if (closed_)
        return false;
    closed_ = true;
    hang_up(linger_ms);
    return true;
}

} // namespace zlink::core
