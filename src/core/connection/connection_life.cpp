// SPDX-License-Identifier: Apache-2.0
#include "core/connection/connection_life.hpp"

#include <optional>

namespace zlink::core {
namespace {

using phase = connection_life::phase;
using wish = connection_life::wish;

/// Some values of an enumeration.
template <class Value, class... Values>
constexpr unsigned any_of(Value first, Values... others) noexcept
{
    return ((1U << static_cast<unsigned>(first)) | ... | (1U << static_cast<unsigned>(others)));
}

template <class Value>
constexpr bool contains(unsigned values, Value value) noexcept
{
    return (values & any_of(value)) != 0;
}

enum sides : unsigned {
    connects = 1U << true,
    accepted = 1U << false,
    either = connects | accepted,
};

enum phases : unsigned {
    with_traffic = any_of(phase::traffic, phase::cut_off),
    without_traffic =
        any_of(phase::idle, phase::connecting, phase::reaching, phase::opening, phase::lost),
    any_phase = with_traffic | without_traffic, // but `ended`
};

enum wishes : unsigned {
    unwanted = any_of(wish::output, wish::last_output, wish::delivery),
    any_wish = unwanted | any_of(wish::connection),
};

} // namespace

/// What an event leads to in one of some phases, with one of some wishes.
struct connection_life::transition {
    event what;
    unsigned side;
    unsigned phases;
    unsigned wishes;
    action then;
    std::optional<phase> next_phase{};
    std::optional<wish> next_wish{};
};

connection_life::action connection_life::resume(event what) noexcept
{
    using enum event;
    using enum action;
    static constexpr transition transitions[] = {
        {begin, connects, any_of(phase::idle), any_wish, dial, phase::connecting},
        {begin, accepted, any_of(phase::idle), any_wish, open, phase::opening},
        {connected, connects, any_of(phase::connecting), any_wish, open, phase::reaching},
        {gave_up, connects, any_of(phase::connecting), any_wish, give_up},
        {reached, connects, any_of(phase::reaching), any_wish, none, phase::opening},
        {opened, either, any_of(phase::opening), any_wish, none, phase::traffic},
        {output_failed, either, any_of(phase::traffic), any_wish, read_rest, phase::cut_off},
        {retry, connects, any_of(phase::reaching, phase::lost), any_wish, none, phase::connecting},
        {stop_reconnecting, connects, any_of(phase::idle, phase::connecting, phase::reaching),
         any_wish, give_up},
        {end_output, either, any_phase, any_of(wish::connection), deliver, {}, wish::output},
        {close, either, any_phase, any_of(wish::connection), deliver, {}, wish::delivery},
        {close, either, any_phase, any_of(wish::output), deliver, {}, wish::last_output},
        {refuse, either, any_phase, unwanted, finish},
        {refuse, either, with_traffic, any_of(wish::connection), refuse_peer},
        {refuse, either, without_traffic, any_of(wish::connection), leave_pipe},
        {drained, either, with_traffic, unwanted, await_delivery},
        {drained, either, without_traffic, unwanted, finish},
        {event::end, either, any_phase, any_wish, finish, phase::ended},
    };
    if (what == stop_reconnecting)
        may_reconnect_ = false;
    for (const transition& each : transitions)
        if (each.what == what && contains(each.side, makes_connections_) &&
            contains(each.phases, phase_) && contains(each.wishes, wish_)) {
            phase_ = each.next_phase.value_or(phase_);
            wish_ = each.next_wish.value_or(wish_);
            return each.then;
        }
    return none;
}

connection_life::after_loss connection_life::lose(const loss& how) noexcept
{
    after_loss after;
    after.then = next_after(how);
    after.tells_application = has_traffic() && is_wanted();
    after.tells_monitor = is_wanted();
    after.gives_up = makes_connections_ && is_wanted() && !after.retries();
    phase_ = phase::lost;
    return after;
}

connection_life::after_loss::next connection_life::next_after(const loss& how) const noexcept
{
    using enum after_loss::next;
    // What waits in a pipe that the socket does not know is its own no more.
    const bool is_needed = is_wanted() || (wish_ == wish::delivery && how.has_pipe);
    if (!makes_connections_ || !may_reconnect_ || !is_needed)
        return finish;
    if (how.breaks_protocol || !how.may_retry)
        return finish;
    if (!how.has_pipe || !how.new_pipe_each)
        return retry;
    // What was to be delivered goes with the pipe.
    return is_wanted() ? retry_with_new_pipe : finish;
}

} // namespace zlink::core
