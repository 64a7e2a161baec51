// SPDX-License-Identifier: Apache-2.0
#include "sockets/xsub.hpp"

#include "base/tuning.hpp"

#include "sockets/patterns.hpp"

#include <algorithm>
#include <cerrno>
#include <zmq.h>

namespace zlink::sockets {

xsub::xsub(core::pattern_host& host, bool filters)
    : host_(host), set_(std::make_shared<subscription_set>()), in_(host), filters_(filters)
{}

void xsub::attach(core::pipe_end& pipe)
{
    in_.add(pipe);
    pipe.slot.out_index = out_.size();
    out_.push_back(&pipe);
    set_->add(pipe);
}

void xsub::peer_closed(core::pipe_end& pipe)
{
    set_->remove(pipe);
    if (pipe.slot.out_index >= out_.size() || out_[pipe.slot.out_index] != &pipe)
        return;
    out_.back()->slot.out_index = pipe.slot.out_index;
    std::swap(out_[pipe.slot.out_index], out_.back());
    out_.pop_back();
    std::erase(sending_, &pipe);
}

void xsub::detach(core::pipe_end& pipe)
{
    peer_closed(pipe);
    if (in_.last() == &pipe)
        in_receive_ = false;
    in_.remove(pipe);
}

void xsub::subscribe(std::span<const std::byte> topic)
{
    if (topic.size() > tuning::inproc::copied_at_once_bytes)
        long_topics_ = true;
    set_->subscribe(topic);
}

void xsub::unsubscribe(std::span<const std::byte> topic)
{
    set_->unsubscribe(topic, verbose_unsubscribe_);
}

int xsub::send(const core::frame& part)
{
    const bool first = !in_send_;
    in_send_ = part.more();
    const auto kind = part.size ? std::to_integer<int>(part.data[0]) : -1;
    if (first && (kind == 0 || kind == 1)) {
        in_send_ = false; // what follows is a message of its own
        const auto topic = part.bytes().subspan(1);
        if (kind == 1)
            subscribe(topic);
        else
            unsubscribe(topic);
        return 0;
    }
    if (first || sending_.empty()) {
        sending_.clear();
        if (first)
            for (core::pipe_end* pipe : out_)
                if (pipe->out.has_room())
                    sending_.push_back(pipe);
    }
    // Without memory for a part its message is dropped, as a whole, for that publisher.
    std::erase_if(sending_, [&](core::pipe_end* pipe) {
        const bool written = pipe->out.write(part);
        if (!written)
            pipe->out.give_up_message();
        return !written;
    });
    if (!part.more())
        sending_.clear();
    return 0;
}

bool xsub::matches(std::span<const std::byte> first) const noexcept
{
    return !filters_ || set_->topics().matches(first) != host_.options().invert_matching;
}

// Is there nothing that would not match? (What begins with nothing is everything.)
bool xsub::matches_all() const noexcept
{
    return !filters_ || (!host_.options().invert_matching && set_->topics().matches({}));
}

bool xsub::find_match(core::frame& part)
{
    discard_bound bound;
    while (in_.peek(part)) {
        if (long_topics_) [[unlikely]]
            part.await_body();
        if (in_receive_ || matches(part.bytes()))
            return true;
        if (!in_.skip_message(bound))
            return false;
    }
    return false;
}

int xsub::receive(core::frame& part)
{
    return find_match(part) ? 0 : EAGAIN;
}

core::taken_part xsub::take(std::size_t most) noexcept
{
    discard_bound bound;
    for (;;) {
        const core::taken_part part = in_.take(most);
        if (!part)
            return part;
        if (in_receive_ || matches(part.bytes())) {
            in_receive_ = part.more();
            return part;
        }
        const bool go_on = in_.count_discarded(bound);
        if (part.more() ? !in_.skip_message(bound) : !go_on)
            return {};
    }
}

core::pipe_end* xsub::only_source() noexcept
{
    return !in_receive_ && matches_all() ? in_.only() : nullptr;
}

void xsub::received()
{
    in_receive_ = in_.more();
    in_.pop();
}

bool xsub::can_receive()
{
    core::frame part;
    return find_match(part);
}

int xsub::set_option(int id, const void* value, std::size_t bytes)
{
    bool always = false; // only the first part of a message is ever taken for a subscription
    switch (id) {
    case ZMQ_ONLY_FIRST_SUBSCRIBE:
        return core::read_flag(value, bytes, always);
    case ZMQ_XSUB_VERBOSE_UNSUBSCRIBE:
        return core::read_flag(value, bytes, verbose_unsubscribe_);
    default:
        return EINVAL;
    }
}

int xsub::get_option(int id, void* value, std::size_t* bytes)
{
    if (id != ZMQ_TOPICS_COUNT)
        return EINVAL;
    return core::write_int(static_cast<int>(set_->topics().unique_count()), value, bytes);
}

std::unique_ptr<core::pattern> make_xsub(core::pattern_host& host)
{
    return std::make_unique<xsub>(host);
}

} // namespace zlink::sockets
