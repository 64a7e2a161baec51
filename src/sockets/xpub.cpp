// SPDX-License-Identifier: Apache-2.0
#include "sockets/xpub.hpp"

#include "engine/traffic_commands.hpp"
#include "sockets/patterns.hpp"

#include <algorithm>
#include <cerrno>
#include <zmq.h>

namespace zlink::sockets {

xpub::xpub(core::pattern_host& host) : host_(host) {}

// --- subscribers -------------------------------------------------------------------------------

void xpub::attach(core::pipe_end& pipe)
{
    if (pipes_.size() <= pipe.number)
        pipes_.resize(pipe.number + 1);
    pipes_[pipe.number] = &pipe;
    if (!welcome_.empty())
        pipe.write(core::frame_of(welcome_, false));
    readable(pipe);
}

void xpub::readable(core::pipe_end& pipe)
{
    read_all(pipe);
    if (pipe.other_closed())
        host_.drop(pipe);
}

void xpub::read_all(core::pipe_end& pipe)
{
    core::frame part;
    bool first = true;
    while (pipe.peek(part)) {
        const int kind = part.size ? std::to_integer<int>(part.data[0]) : -1;
        if (part.command()) {
            const auto command = engine::parse_traffic_command(part.bytes());
            subscription(pipe, command.kind == engine::traffic_command_kind::subscribe,
                         command.argument);
            pipe.pop();
            continue;
        }
        const bool more = part.more();
        if (first && (kind == 0 || kind == 1)) {
            subscription(pipe, kind == 1, part.bytes().subspan(1));
        } else if (passes_upstream()) {
            upstream_.push_back({std::string(part.text()), more, no_pipe});
        }
        // Later parts of a message that began otherwise belong to it.
        first = !more;
        pipe.pop();
    }
}

void xpub::pass_up(bool subscribe, std::span<const std::byte> topic, std::uint32_t number)
{
    if (!passes_upstream())
        return;
    std::string text(1, subscribe ? '\1' : '\0');
    text.append(reinterpret_cast<const char*>(topic.data()), topic.size());
    upstream_.push_back({std::move(text), false, number});
}

void xpub::subscription(core::pipe_end& pipe, bool subscribe, std::span<const std::byte> topic)
{
    if (manual_) {
        if (subscribe)
            requested_.add(topic, pipe.number);
        else
            requested_.remove(topic, pipe.number);
        pass_up(subscribe, topic, pipe.number);
        return;
    }
    if (subscribe) {
        const auto added = index_.add(topic, pipe.number);
        if (added == subscriber_index::addition::first_for_topic || verbose_)
            pass_up(true, topic, pipe.number);
        return;
    }
    const auto removed = index_.remove(topic, pipe.number);
    if (removed == subscriber_index::removal::last_for_topic ||
        (verboser_ && removed != subscriber_index::removal::unknown))
        pass_up(false, topic, pipe.number);
}

void xpub::forget(core::pipe_end& pipe)
{
    if (pipe.number >= pipes_.size() || pipes_[pipe.number] != &pipe)
        return;
    const auto tell = [&](std::span<const std::byte> topic, bool last) {
        if (last || verboser_)
            pass_up(false, topic, no_pipe);
    };
    if (manual_) {
        index_.remove_all(pipe.number, [](std::span<const std::byte>, bool) {});
        requested_.remove_all(pipe.number, [&](std::span<const std::byte> topic, bool) {
            pass_up(false, topic, no_pipe);
        });
    } else {
        index_.remove_all(pipe.number, tell);
    }
    if (last_number_ == pipe.number)
        last_number_ = no_pipe;
    for (upstream_part& part : upstream_)
        if (part.number == pipe.number)
            part.number = no_pipe; // the number will be another's
    pipes_[pipe.number] = nullptr;
    std::erase(chosen_, &pipe);
}

void xpub::peer_closed(core::pipe_end& pipe)
{
    read_all(pipe);
    forget(pipe);
}

void xpub::detach(core::pipe_end& pipe)
{
    forget(pipe);
}

// --- messages ----------------------------------------------------------------------------------

int xpub::choose_subscribers(const core::frame& part)
{
    chosen_.clear();
    bool full = false;
    const auto choose = [&](std::uint32_t number) {
        core::pipe_end* const pipe = pipes_[number];
        if (no_drop_ ? pipe->can_write() : pipe->has_room())
            chosen_.push_back(pipe);
        else
            full = true;
    };
    if (send_to_last_) {
        index_.match(part.bytes(), [&](std::uint32_t number) {
            if (number == last_number_)
                choose(number);
        });
    } else if (host_.options().invert_matching) {
        std::vector<bool> matched(pipes_.size());
        index_.match(part.bytes(), [&](std::uint32_t number) { matched[number] = true; });
        for (std::uint32_t number = 0; number < pipes_.size(); ++number)
            if (pipes_[number] && !matched[number])
                choose(number);
    } else {
        index_.match(part.bytes(), choose);
    }
    if (full && no_drop_) {
        chosen_.clear();
        return EAGAIN;
    }
    send_to_last_ = false;
    return 0;
}

int xpub::send(const core::frame& part)
{
    if (!in_send_) {
        if (const int error = choose_subscribers(part))
            return error;
    }
    in_send_ = part.more();
    for (core::pipe_end* pipe : chosen_)
        pipe->write(part);
    return 0;
}

int xpub::receive(core::frame& part)
{
    if (upstream_.empty())
        return EAGAIN;
    const upstream_part& next = upstream_.front();
    part = core::frame_of(next.data, next.more);
    return 0;
}

void xpub::received()
{
    if (upstream_.empty())
        return;
    if (manual_) { // no_pipe: whoever asked is gone, and nobody else is meant
        last_number_ = upstream_.front().number;
        send_to_last_ = last_value_ && !upstream_.front().data.empty() &&
                        upstream_.front().data.front() == '\1';
    }
    upstream_.pop_front();
}

// --- options -----------------------------------------------------------------------------------

int xpub::apply_manually(bool subscribe, std::span<const std::byte> topic)
{
    if (!manual_)
        return EINVAL;
    if (last_number_ == no_pipe || last_number_ >= pipes_.size() || !pipes_[last_number_])
        return 0;
    if (subscribe)
        index_.add(topic, last_number_);
    else
        index_.remove(topic, last_number_);
    return 0;
}

int xpub::set_option(int id, const void* value, std::size_t bytes)
{
    const std::span<const std::byte> blob(static_cast<const std::byte*>(value), value ? bytes : 0);
    bool flag = false;
    switch (id) {
    case ZMQ_SUBSCRIBE:
    case ZMQ_UNSUBSCRIBE:
        return apply_manually(id == ZMQ_SUBSCRIBE, blob);
    case ZMQ_XPUB_VERBOSE:
        if (read_flag(value, bytes, flag))
            return EINVAL;
        verbose_ = flag;
        verboser_ = false;
        return 0;
    case ZMQ_XPUB_VERBOSER:
        if (read_flag(value, bytes, flag))
            return EINVAL;
        verbose_ = verboser_ = flag;
        return 0;
    case ZMQ_XPUB_NODROP:
        return read_flag(value, bytes, no_drop_);
    case ZMQ_XPUB_MANUAL:
        if (read_flag(value, bytes, flag))
            return EINVAL;
        manual_ = flag;
        last_value_ = false;
        return 0;
    case ZMQ_XPUB_MANUAL_LAST_VALUE:
        if (read_flag(value, bytes, flag))
            return EINVAL;
        manual_ = last_value_ = flag;
        return 0;
    case ZMQ_ONLY_FIRST_SUBSCRIBE:
        return read_flag(value, bytes, flag); // always so
    case ZMQ_XPUB_WELCOME_MSG:
        welcome_.assign(reinterpret_cast<const char*>(blob.data()), blob.size());
        return 0;
    default:
        return EINVAL;
    }
}

int xpub::get_option(int id, void* value, std::size_t* bytes)
{
    if (id != ZMQ_TOPICS_COUNT)
        return EINVAL;
    return core::write_int(static_cast<int>(index_.unique_topics()), value, bytes);
}

std::unique_ptr<core::pattern> make_xpub(core::pattern_host& host)
{
    return std::make_unique<xpub>(host);
}

} // namespace zlink::sockets
