// SPDX-License-Identifier: Apache-2.0
#include "core/connection/incoming.hpp"

#include "core/options/conflation.hpp"
#include "core/pipe/notices.hpp"
#include "engine/traffic/conflate.hpp"
#include "engine/traffic/inbound.hpp"
#include "engine/traffic/message_rules.hpp"
#include "engine/traffic/raw_inbound.hpp"
#include "engine/traffic/wire_inbound.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace zlink::core {
void incoming::begin(const engine::wire& how, std::shared_ptr<pipe_end> to,
                     engine::command_handler& commands)
{
    if (conflates_receiving(*options_) && !unconflated_)
        unconflated_ = std::make_unique<base::channel>();
    decoder_ = make_decoder(how, unconflated_ ? *unconflated_ : to->channels()->b_to_a, commands);
    to_ = std::move(to);
    connected_ = true;
}

std::unique_ptr<engine::decoder> incoming::make_decoder(const engine::wire& how, base::channel& to,
                                                        engine::command_handler& commands) const
{
    if (how.is_plain_bytes)
        return std::make_unique<engine::raw_inbound>(
            to, static_cast<std::size_t>(options_->receive_batch_bytes));
    const socket_type_traits& type = *options_->traits;
    engine::message_rules rules(options_->max_message_bytes, type.keeps);
    if (options_->wire != wire_format::zmtp)
        rules.leave_out_empty();
    else if (type.receives == message_form::reply)
        rules.require_envelope();
    else if (type.receives == message_form::group)
        rules.require_group();
    const auto made = [&type](auto in) {
        if (type.receives == message_form::reply || type.receives == message_form::request)
            in->take_off_envelope();
        return in;
    };
    if (how.decodes_queue_format())
        return made(std::make_unique<engine::inbound>(to, rules, commands));
    return made(std::make_unique<engine::wire_inbound>(to, how, rules, commands));
}

engine::inbound_error incoming::feed(std::span<const std::byte> bytes)
{
    while (!bytes.empty() && connected_) {
        iovec space[engine::decoder::most_entries];
        const int count = decoder_->prepare(space);
        if (count == 0)
            return engine::inbound_error::out_of_memory;
        std::size_t moved = 0;
        for (int i = 0; i < count && !bytes.empty(); ++i) {
            const std::size_t some = std::min(space[i].iov_len, bytes.size());
            std::memcpy(space[i].iov_base, bytes.data(), some);
            bytes = bytes.subspan(some);
            moved += some;
        }
        const auto error = decoder_->received(moved);
        pass_on(); // what came before an error counts
        if (error != engine::inbound_error::none)
            return error;
    }
    return engine::inbound_error::none;
}

void incoming::pass_on()
{
    bool wake = decoder_->consumer_was_asleep();
    if (unconflated_ && to_) [[unlikely]] {
        auto newest = engine::take_newest(unconflated_->queue);
        if (newest.copy) {
            base::channel& channel = to_->channels()->b_to_a;
            channel.newest.put(std::move(newest.copy));
            wake = channel.queue.wake();
        }
    }
    if (wake && to_)
        to_->notify(pipe_end::readable);
}

void incoming::subscribe_to_all()
{
    constexpr std::byte subscribe{1}; // to an empty prefix
    if (decoder_->append(0, std::span(&subscribe, 1)))
        pass_on();
}

void incoming::tell(std::string_view notice)
{
    const frame message = notice_frame(options_->traits->marks_notices, notice);
    if (decoder_->append(message.flags, message.bytes()))
        pass_on();
}

bool incoming::tells_of_loss() const noexcept
{
    return notifies_disconnect(*options_) || !disconnect_message(*options_).empty();
}

void incoming::tell_of_loss(bool made_again)
{
    if (notifies_disconnect(*options_))
        tell({});
    if (const auto notice = disconnect_message(*options_); !notice.empty())
        tell(notice);
    if (const auto notice = hiccup_message(*options_); made_again && !notice.empty())
        tell(notice);
}

void incoming::reset() noexcept
{
    connected_ = false;
    if (decoder_)
        decoder_->reset();
}

} // namespace zlink::core
