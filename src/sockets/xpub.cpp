// SPDX-License-Identifier: Apache-2.0
#include "sockets/xpub.hpp"

#include "base/tuning.hpp"

#include "engine/commands/traffic_commands.hpp"
#include "sockets/patterns.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <zmq.h>

namespace zlink::sockets {

xpub::xpub(core::pattern_host& host) : host_(host) {}

// --- subscribers -------------------------------------------------------------------------------

void xpub::attach(core::pipe_end& pipe)
{
    if (pipes_.size() <= pipe.slot.number)
        pipes_.resize(pipe.slot.number + 1);
    pipes_[pipe.slot.number] = {&pipe, ++visits_};
    if (!welcome_.empty())
        pipe.out.write(core::frame_of(welcome_, false));
    readable(pipe);
}

void xpub::readable(core::pipe_end& pipe)
{
    if (read_share(pipe) && pipe.other_closed())
        host_.drop(pipe);
}

// True if nothing is left; else a later look at the mail goes on.
bool xpub::read_share(core::pipe_end& pipe)
{
    core::frame part;
    for (std::size_t remaining = share_.of_a_pipe(); knows(pipe) && pipe.in.peek(part);) {
        if (!share_.allows(remaining)) {
            share_.note_unfinished();
            pipe.notify(core::pipe_end::readable);
            return false;
        }
        remaining -= std::min(remaining, reading_share::cost_of(part));
        read_part(pipe, part);
    }
    return true;
}

// And moves past it.
void xpub::read_part(core::pipe_end& pipe, const core::frame& part)
{
    part.await_body();
    const int kind = part.size ? std::to_integer<int>(part.data[0]) : -1;
    if (part.command()) {
        const auto command = engine::parse_traffic_command(part.bytes());
        subscription(pipe, command.kind == engine::traffic_command_kind::subscribe,
                     command.argument);
    } else if ((kind == 0 || kind == 1) && !begun_.contains(pipe.slot.number)) {
        // Others may follow in the same message, or something else.
        subscription(pipe, kind == 1, part.bytes().subspan(1));
    } else {
        // Later parts of a message that began otherwise belong to it.
        pass_up_part(pipe, part);
    }
    pipe.in.pop();
}

xpub::visitor xpub::visitor_of(const core::pipe_end& pipe) const noexcept
{
    return {pipe.slot.number, pipes_[pipe.slot.number].visit};
}

bool xpub::present(const visitor& who) const noexcept
{
    return who.visit != 0 && pipes_[who.number].visit == who.visit;
}

void xpub::pass_up(const core::pipe_end& from, bool subscribe, std::span<const std::byte> topic)
{
    if (!passes_upstream())
        return;
    std::string text(1, subscribe ? '\1' : '\0');
    text.append(reinterpret_cast<const char*>(topic.data()), topic.size());
    upstream_.push_back({std::move(text), false,
                         subscribe ? kind::subscription : kind::cancellation, visitor_of(from),
                         from.slot.properties.get()});
}

void xpub::pass_up_part(const core::pipe_end& from, const core::frame& part)
{
    upstream_part copy;
    if (passes_upstream())
        copy = {
            std::string(part.text()), part.more(), kind::message, {}, from.slot.properties.get()};
    if (part.more()) {
        auto& parts = begun_[from.slot.number];
        if (passes_upstream())
            parts.push_back(std::move(copy));
        return;
    }
    const auto begun = begun_.find(from.slot.number);
    if (begun == begun_.end()) {
        if (passes_upstream())
            upstream_.push_back(std::move(copy));
        return;
    }
    // Commands and other peers' messages may have come between the parts, which stay together.
    if (passes_upstream()) {
        auto& parts = begun->second;
        parts.push_back(std::move(copy));
        try {
            upstream_.insert(upstream_.end(), std::make_move_iterator(parts.begin()),
                             std::make_move_iterator(parts.end()));
        } catch (...) {
            parts.pop_back(); // it will be read again
            throw;
        }
    }
    begun_.erase(begun);
}

void xpub::subscription(core::pipe_end& pipe, bool subscribe, std::span<const std::byte> topic)
{
    if (manual_) {
        if (subscribe)
            requested_.add(topic, pipe.slot.number);
        else
            requested_.remove(topic, pipe.slot.number);
        pass_up(pipe, subscribe, topic);
        return;
    }
    if (subscribe) {
        const auto added = index_.add(topic, pipe.slot.number);
        if (added == subscriber_index::addition::first_for_topic || verbose_)
            pass_up(pipe, true, topic);
        return;
    }
    // With VERBOSER also those of topics that the peer does not hold: who counts what an XSUB with
    // VERBOSE_UNSUBSCRIBE says has to see all of it.
    const auto removed = index_.remove(topic, pipe.slot.number);
    if (verboser_ || removed == subscriber_index::removal::last_for_topic)
        pass_up(pipe, false, topic);
}

void xpub::forget(core::pipe_end& pipe)
{
    if (!knows(pipe))
        return;
    const auto tell = [&](std::span<const std::byte> topic, bool last) {
        if (last || verboser_)
            pass_up(pipe, false, topic);
    };
    const auto ignore = [](std::span<const std::byte>, bool) {};
    if (manual_) {
        index_.remove_all(pipe.slot.number, ignore);
        requested_.remove_all(pipe.slot.number, [&](std::span<const std::byte> topic, bool) {
            pass_up(pipe, false, topic);
        });
    } else {
        requested_.remove_all(pipe.slot.number, ignore);
        index_.remove_all(pipe.slot.number, tell);
    }
    pipes_[pipe.slot.number] = {};
    begun_.erase(pipe.slot.number);
    std::erase(chosen_, &pipe); // of a message that was begun
}

void xpub::peer_closed(core::pipe_end& pipe)
{
    if (passes_upstream()) { // what it has said by now, and no more
        core::frame part;
        for (auto remaining = pipe.in.unread_messages() + 1;
             remaining != 0 && knows(pipe) && pipe.in.peek(part);) {
            remaining -= !part.more();
            read_part(pipe, part);
        }
    }
    forget(pipe);
}

void xpub::detach(core::pipe_end& pipe)
{
    forget(pipe);
}

// --- messages ----------------------------------------------------------------------------------

template <class Choose>
void xpub::for_each_addressee(const core::frame& part, Choose choose)
{
    if (send_to_last_) [[unlikely]] {
        if (present(last_))
            index_.match(part.bytes(), [&](std::uint32_t number) {
                if (number == last_.number)
                    choose(number);
            });
    } else if (host_.options().invert_matching) [[unlikely]] {
        matched_.assign(pipes_.size(), false);
        index_.match(part.bytes(), [&](std::uint32_t number) { matched_[number] = true; });
        for (std::uint32_t number = 0; number < pipes_.size(); ++number)
            if (pipes_[number].pipe && !matched_[number])
                choose(number);
    } else {
        index_.match(part.bytes(), choose);
    }
}

int xpub::choose_subscribers(const core::frame& part)
{
    chosen_.clear();
    bool full = false;
    for_each_addressee(part, [&](std::uint32_t number) {
        if (full && no_drop_)
            return; // it must wait: for one after the other
        core::pipe_end* const pipe = pipes_[number].pipe;
        if (no_drop_ ? pipe->out.can_write() : pipe->out.has_room())
            chosen_.push_back(pipe);
        else
            full |= !pipe->other_closed();
    });
    if (full && no_drop_) {
        chosen_.clear();
        return EAGAIN;
    }
    send_to_last_ = false;
    return 0;
}

// A small message is written once; false if that does not pay or cannot be.
bool xpub::write_by_log(const core::frame& part)
{
    if (chosen_.size() < tuning::fan_out::min_peers)
        return false;
    const auto message = log_.add({{part.flags, part.bytes()}});
    if (!message.chunk)
        return false;
    for (core::pipe_end* pipe : chosen_) {
        if (pipe->out.replaces_messages()) [[unlikely]]
            pipe->out.write(part);
        else
            pipe->out.write_logged(message);
    }
    return true;
}

// A large body is copied once, not for each subscriber.
void xpub::write_to_chosen(const core::frame& part)
{
    core::frame shared = part;
    base::buffer_ref copy;
    if (!part.owner && part.size >= tuning::body::min_shared_bytes && chosen_.size() > 1) {
        copy.reset(base::allocate_buffer(part.size));
        if (copy) {
            std::memcpy(copy->data, part.data, part.size);
            shared.data = copy->data;
            shared.owner = copy.get();
        }
    }
    // Without memory for a part its message is dropped, as a whole, for that subscriber.
    std::erase_if(chosen_, [&](core::pipe_end* pipe) {
        const bool written = pipe->out.write(shared);
        if (!written)
            pipe->out.give_up_message();
        return !written;
    });
}

int xpub::send(const core::frame& part)
{
    if (!in_send_) {
        if (const int error = choose_subscribers(part))
            return error;
    }
    const bool whole = !in_send_ && !part.more();
    in_send_ = part.more();
    host_.begin_message_to_many(chosen_.size());
    if (!whole || !write_by_log(part))
        write_to_chosen(part);
    host_.end_message_to_many();
    if (!in_send_)
        chosen_.clear();
    return 0;
}

// To the only subscriber there is.
bool xpub::put(const std::byte* data, std::size_t size, bool more) noexcept
{
    if (pipes_.size() != 1 || send_to_last_ || host_.options().invert_matching)
        return false;
    core::pipe_end* wanting = nullptr;
    if (in_send_) {
        if (chosen_.size() > 1)
            return false;
        wanting = chosen_.empty() ? nullptr : chosen_.front();
    } else {
        if (more && chosen_.capacity() == 0)
            return false; // no memory to remember whom it goes to
        wanting = only_addressee({data, size});
        if (wanting && !wanting->out.has_room_at_hand())
            return false;
    }
    if (wanting && !wanting->out.put_part(data, size, more))
        return false;
    if (more && !in_send_ && wanting)
        chosen_.push_back(wanting);
    if (!more)
        chosen_.clear();
    in_send_ = more;
    return true;
}

// Of the only subscriber: does it want the message?
core::pipe_end* xpub::only_addressee(std::span<const std::byte> message) noexcept
{
    core::pipe_end* wanting = nullptr;
    index_.match(message, [&](std::uint32_t number) { wanting = pipes_[number].pipe; });
    return wanting;
}

// Asked after put(): there is one, and who wants an empty message wants all.
core::pipe_end* xpub::only_target() noexcept
{
    return only_addressee({});
}

int xpub::receive(core::frame& part)
{
    if (upstream_.empty())
        return EAGAIN;
    const upstream_part& next = upstream_.front();
    part = core::frame_of(next.data, next.more);
    return 0;
}

const core::metadata* xpub::share_source_metadata() const noexcept
{
    const core::metadata* const properties =
        upstream_.empty() ? nullptr : upstream_.front().properties.get();
    if (properties)
        properties->add_references(1);
    return properties;
}

void xpub::received()
{
    if (upstream_.empty())
        return;
    if (const upstream_part& read = upstream_.front(); manual_ && read.what != kind::message) {
        last_ = read.from;
        send_to_last_ = last_value_ && read.what == kind::subscription;
    }
    upstream_.pop_front();
}

// --- options -----------------------------------------------------------------------------------

int xpub::apply_manually(bool subscribe, std::span<const std::byte> topic)
{
    if (!manual_)
        return EINVAL;
    if (!present(last_))
        return 0; // whoever asked is gone, and nobody else is meant
    if (subscribe)
        index_.add(topic, last_.number);
    else
        index_.remove(topic, last_.number);
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
        if (core::read_flag(value, bytes, flag))
            return EINVAL;
        verbose_ = flag;
        verboser_ = false;
        return 0;
    case ZMQ_XPUB_VERBOSER:
        if (core::read_flag(value, bytes, flag))
            return EINVAL;
        verbose_ = verboser_ = flag;
        return 0;
    case ZMQ_XPUB_NODROP:
        return core::read_flag(value, bytes, no_drop_);
    case ZMQ_XPUB_MANUAL:
        return core::read_flag(value, bytes, manual_);
    case ZMQ_XPUB_MANUAL_LAST_VALUE:
        if (core::read_flag(value, bytes, flag))
            return EINVAL;
        manual_ = last_value_ = flag;
        return 0;
    case ZMQ_ONLY_FIRST_SUBSCRIBE:
        return core::read_flag(value, bytes, flag); // always so
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
