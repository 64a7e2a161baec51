// SPDX-License-Identifier: Apache-2.0
#include "core/connection/connection_life.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::core {
namespace {

using life = connection_life;
using action = life::action;
using event = life::event;
using phase = life::phase;
using wish = life::wish;
using next = life::after_loss::next;

constexpr std::string_view phase_names[] = {"idle",    "connecting", "reaching", "opening",
                                            "traffic", "cut_off",    "lost",     "ended"};
constexpr std::string_view wish_names[] = {"connection", "output", "last_output", "delivery"};
constexpr std::string_view action_names[] = {
    "none",    "dial",           "open",        "read_rest",  "give_up",
    "deliver", "await_delivery", "refuse_peer", "leave_pipe", "finish"};
constexpr std::string_view event_names[] = {
    "begin", "connected",         "gave_up",    "reached", "opened", "output_failed",
    "retry", "stop_reconnecting", "end_output", "close",   "refuse", "drained",
    "end"};

template <class Value>
std::string_view name(std::span<const std::string_view> names, Value value)
{
    return names[static_cast<std::size_t>(value)];
}

template <class Value>
std::vector<Value> all(std::span<const std::string_view> names)
{
    std::vector<Value> values;
    for (std::size_t i = 0; i < names.size(); ++i)
        values.push_back(static_cast<Value>(i));
    return values;
}

/// One of the states that a session can be in.
struct state {
    bool connects;
    phase at;
    wish wanted;
    bool may_reconnect;

    friend std::ostream& operator<<(std::ostream& out, const state& of)
    {
        return out << (of.connects ? "connects, " : "accepted, ") << name(phase_names, of.at)
                   << ", " << name(wish_names, of.wanted)
                   << (of.may_reconnect ? "" : ", not again");
    }
};

std::vector<state> all_states()
{
    std::vector<state> states;
    for (const bool connects : {false, true})
        for (const phase at : all<phase>(phase_names))
            for (const wish wanted : all<wish>(wish_names))
                for (const bool may_reconnect : {false, true})
                    if (connects || (at != phase::connecting && at != phase::reaching))
                        states.push_back({connects, at, wanted, may_reconnect});
    return states;
}

/// Brought there by what happens to sessions.
life life_in(const state& where)
{
    life made(where.connects);
    if (where.wanted == wish::output || where.wanted == wish::last_output)
        made.resume(event::end_output);
    if (where.wanted == wish::last_output || where.wanted == wish::delivery)
        made.resume(event::close);
    if (!where.may_reconnect)
        made.resume(event::stop_reconnecting);
    for (const event each : {event::begin, event::connected, event::reached, event::opened,
                             event::output_failed, event::end}) {
        if (made.at() == where.at)
            break;
        if (made.at() == phase::cut_off && where.at == phase::lost)
            made.lose({});
        else
            made.resume(each);
    }
    EXPECT_EQ(name(phase_names, where.at), name(phase_names, made.at())) << where;
    EXPECT_EQ(name(wish_names, where.wanted), name(wish_names, made.wanted())) << where;
    return made;
}

/// An action, and where it leads if that is elsewhere: "dial>connecting".
std::string answer(life& to, event what)
{
    const phase before = to.at();
    const wish wanted = to.wanted();
    std::string text(name(action_names, to.resume(what)));
    if (to.at() != before)
        (text += '>') += name(phase_names, to.at());
    if (to.wanted() != wanted)
        (text += '>') += name(wish_names, to.wanted());
    return text;
}

// What each event leads to in each phase.
struct by_phase {
    event what;
    bool connects;
    std::string_view in[8]; ///< in the order of the phases, "" means none
};

constexpr by_phase phase_table[] = {
    // idle, connecting, reaching, opening, traffic, cut_off, lost, ended
    {event::begin, true, {"dial>connecting"}},
    {event::begin, false, {"open>opening"}},
    {event::connected, true, {"", "open>reaching"}},
    {event::connected, false, {}},
    {event::gave_up, true, {"", "give_up"}},
    {event::gave_up, false, {}},
    {event::reached, true, {"", "", "none>opening"}},
    {event::reached, false, {}},
    {event::opened, true, {"", "", "", "none>traffic"}},
    {event::opened, false, {"", "", "", "none>traffic"}},
    {event::output_failed, true, {"", "", "", "", "read_rest>cut_off"}},
    {event::output_failed, false, {"", "", "", "", "read_rest>cut_off"}},
    {event::retry, true, {"", "", "none>connecting", "", "", "", "none>connecting"}},
    {event::retry, false, {}},
    {event::stop_reconnecting, true, {"give_up", "give_up", "give_up"}},
    {event::stop_reconnecting, false, {}},
    {event::end,
     true,
     {"finish>ended", "finish>ended", "finish>ended", "finish>ended", "finish>ended",
      "finish>ended", "finish>ended"}},
    {event::end,
     false,
     {"finish>ended", "", "", "finish>ended", "finish>ended", "finish>ended", "finish>ended"}},
};

// What each event leads to with each wish of the socket, until the end.
struct by_wish {
    event what;
    std::string_view with_traffic[4]; ///< in the order of the wishes, "" means none
    std::string_view without_traffic[4];
};

constexpr by_wish wish_table[] = {
    // connection, output, last_output, delivery
    {event::end_output, {"deliver>output"}, {"deliver>output"}},
    {event::close,
     {"deliver>delivery", "deliver>last_output"},
     {"deliver>delivery", "deliver>last_output"}},
    {event::refuse,
     {"refuse_peer", "finish", "finish", "finish"},
     {"leave_pipe", "finish", "finish", "finish"}},
    {event::drained,
     {"", "await_delivery", "await_delivery", "await_delivery"},
     {"", "finish", "finish", "finish"}},
};

std::string expected_answer(const state& in, event what)
{
    std::string_view found;
    int rows = 0;
    for (const by_phase& row : phase_table)
        if (row.what == what && row.connects == in.connects) {
            found = row.in[static_cast<int>(in.at)];
            ++rows;
        }
    const bool has_traffic = in.at == phase::traffic || in.at == phase::cut_off;
    for (const by_wish& row : wish_table)
        if (row.what == what) {
            found =
                (has_traffic ? row.with_traffic : row.without_traffic)[static_cast<int>(in.wanted)];
            if (in.at == phase::ended)
                found = "";
            ++rows;
        }
    EXPECT_EQ(1, rows) << "each event has one row for each side";
    return std::string(found.empty() ? "none" : found);
}

TEST(ConnectionLife, answers_each_event_in_each_state_as_the_tables_say)
{
    for (const state& in : all_states())
        for (const event what : all<event>(event_names)) {
            life tried = life_in(in);
            EXPECT_EQ(expected_answer(in, what), answer(tried, what))
                << in << ": " << name(event_names, what);
        }
}

// The first row that fits says what follows a loss: n, y or any (-) of
// 1 this side connects, 2 another try is not forbidden by zmq_disconnect, 3 the options want one,
// 4 the peer has broken the protocol, 5 the socket has the pipe, 6 ZMQ_IMMEDIATE.
struct loss_row {
    std::string_view facts;
    std::string_view wishes; ///< first letters of those it counts for: c, o, l, d
    next then;
};

constexpr loss_row loss_table[] = {
    {"n-----", "cold", next::finish}, {"-n----", "cold", next::finish},
    {"--n---", "cold", next::finish}, {"---y--", "cold", next::finish},
    {"------", "ol", next::finish},   {"----n-", "d", next::finish},
    {"----yy", "d", next::finish},    {"----yy", "c", next::retry_with_new_pipe},
    {"------", "cd", next::retry},
};

next expected_next(const state& in, const life::loss& how)
{
    const bool facts[] = {in.connects,         in.may_reconnect, how.may_retry,
                          how.breaks_protocol, how.has_pipe,     how.new_pipe_each};
    for (const loss_row& row : loss_table) {
        const auto fits = [](char wanted, bool is) {
            return wanted == '-' || (wanted == 'y') == is;
        };
        if (std::equal(row.facts.begin(), row.facts.end(), facts, fits) &&
            row.wishes.find(name(wish_names, in.wanted)[0]) != std::string_view::npos)
            return row.then;
    }
    ADD_FAILURE() << "no row for " << in;
    return next::finish;
}

TEST(ConnectionLife, goes_on_after_each_loss_as_the_table_says)
{
    for (const state& in : all_states()) {
        if (!life_in(in).has_connection())
            continue;
        for (unsigned facts = 0; facts < 16; ++facts) {
            const life::loss how{(facts & 1) != 0, (facts & 2) != 0, (facts & 4) != 0,
                                 (facts & 8) != 0};
            life tried = life_in(in);
            const auto after = tried.lose(how);
            EXPECT_EQ(expected_next(in, how), after.then) << in << " " << facts;
            EXPECT_EQ(phase::lost, tried.at());
            const bool is_wanted = in.wanted == wish::connection;
            const bool had_traffic = in.at == phase::traffic || in.at == phase::cut_off;
            EXPECT_EQ(is_wanted, after.tells_monitor) << in;
            EXPECT_EQ(is_wanted && had_traffic, after.tells_application) << in;
            EXPECT_EQ(is_wanted && in.connects && after.then == next::finish, after.gives_up) << in;
        }
    }
}

TEST(ConnectionLife, says_in_each_state_what_there_is)
{
    for (const state& in : all_states()) {
        const life made = life_in(in);
        SCOPED_TRACE(::testing::PrintToString(in));
        const auto at = in.at;
        EXPECT_EQ(at == phase::ended, made.has_ended());
        EXPECT_EQ(at == phase::traffic || at == phase::cut_off, made.has_traffic());
        EXPECT_EQ(at == phase::reaching || at == phase::opening || at == phase::traffic ||
                      at == phase::cut_off || at == phase::lost,
                  made.has_connection());
        EXPECT_EQ(in.wanted == wish::connection, made.is_wanted());
        EXPECT_EQ(in.wanted == wish::output || in.wanted == wish::last_output,
                  made.ends_with_output());
    }
}

TEST(ConnectionLife, takes_back_a_wish_that_could_not_be_followed)
{
    for (const bool ends_output_before : {false, true}) {
        life tried(true);
        if (ends_output_before)
            tried.resume(event::end_output);
        const wish before = tried.wanted();
        EXPECT_EQ(action::deliver, tried.resume(event::close));
        tried.restore(before);
        EXPECT_EQ(before, tried.wanted());
        EXPECT_EQ(action::deliver, tried.resume(event::close)) << "it is told again";
    }
}

} // namespace
} // namespace zlink::core
