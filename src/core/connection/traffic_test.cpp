// SPDX-License-Identifier: Apache-2.0
// Messages through pipe, writer, an imagined connection that moves bytes in random portions,
// inbound, and out of the pipe of the other side.
#include "base/sync/asymmetric_fence.hpp"
#include "base/tuning.hpp"
#include "core/connection/traffic_for_tests.hpp"
#include "core/connection/writer.hpp"
#include "core/pipe/pipe.hpp"
#include "engine/commands/traffic_commands.hpp"
#include "engine/traffic/inbound.hpp"
#include "engine/traffic/raw_inbound.hpp"
#include "engine/wire/wires_for_tests.hpp"
#include "support/memory_stream.hpp"
#include "support/scarce_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace zlink::core {
namespace {

using message = std::vector<std::string>;
using test::any_message;
using test::counted_commands;
using test::make_decoder;
using test::memory_stream;
using test::wire_kind;

constexpr engine::traffic_command ping{engine::traffic_command_kind::ping, {}, 0};

/// The way out of a link that lets a large message pass by the idle queue.
class direct_outlet final : public outlet {
public:
    explicit direct_outlet(writer& out) : out_(out) {}

    direct_write write_direct(const iovec (&message)[2],
                              base::certain_memory& for_rest) noexcept override
    {
        const std::size_t bytes = out_.write_through(message, for_rest).bytes;
        if (bytes != 0 && bytes < message[0].iov_len + message[1].iov_len && after_cut)
            std::exchange(after_cut, nullptr)();
        return {bytes, {}};
    }
    plan committed() noexcept override { return {}; }
    plan flush(flush_reason) noexcept override { return {}; }

    /// Called once, when a connection has taken a part of a message and the rest is not queued yet.
    std::function<void()> after_cut;

private:
    writer& out_;
};

/// Has the connection, or its wire, failed?
bool has_failed(const writer& out, plan rest)
{
    return rest.who == writer_is::io_thread && out.error() != 0;
}

/// A link and its session that do nothing without a cause: an I/O thread that was told to write,
/// waits until the connection takes more, or looks after a sending thread that writes its batches
/// itself.
class caused_outlet final : public outlet {
public:
    caused_outlet(writer& out, std::mt19937& random) : out_(out), random_(random) {}

    plan committed() noexcept override
    {
        if (random_() % 2 == 0 && out_.begin_batches()) {
            has_batches_ = true;
            return {.who = writer_is::batcher};
        }
        if (random_() % 4 == 0) {
            told_ = true;
            return {};
        }
        return write_now();
    }
    plan flush(flush_reason why) noexcept override
    {
        if (why == flush_reason::full)
            return write_now();
        return why == flush_reason::about_to_wait ? write_last() : plan{};
    }
    plan write_now() noexcept { return ask_for_rest(out_.write_queued()); }
    plan write_last() noexcept { return ask_for_rest(out_.end_batches()); }
    direct_write write_direct(const iovec (&message)[2],
                              base::certain_memory& for_rest) noexcept override
    {
        if (random_() % 4 == 0)
            return {};
        const auto written =
            out_.write_through(message, for_rest, writer::stalls::wait, random_() % 2 == 0);
        has_batches_ |= written.begins_batches;
        return {written.bytes, ask_for_rest(written.next)};
    }

    /// The I/O thread has a new connection.
    void attach(memory_stream& to, wire_kind kind = wire_kind::zmtp3)
    {
        told_ = waits_ = has_batches_ = false;
        out_.attach(to, {}, test::make_wire(kind), {}, to.facts.packet_bytes);
        handle(out_.drain());
    }
    /// Runs the I/O thread once; false if it has no cause to run.
    bool run_once(bool takes_more)
    {
        if (told_ && random_() % 2 == 0) {
            told_ = false;
            handle(out_.drain());
        } else if (waits_ && takes_more && random_() % 2 == 0) {
            waits_ = false;
            handle(out_.drain());
        } else if (has_batches_ && random_() % 8 == 0) {
            // The sending thread has ended its burst, or has handed it over.
            has_batches_ = false;
            if (!out_.stop_batches())
                return told_ || waits_;
            base::heavy_fence();
            if (random_() % 2 == 0)
                handle(out_.drain());
            else
                out_.write_last([this](plan rest) { handle(rest); });
        } else if (has_batches_) {
            const plan rest = out_.write_for_batcher();
            has_batches_ = rest.who == writer_is::batcher;
            handle(rest);
        }
        return told_ || waits_ || has_batches_;
    }

private:
    plan ask_for_rest(plan written) noexcept
    {
        told_ |= written.who == writer_is::io_thread || written.who == writer_is::blocked;
        return written;
    }
    void handle(plan rest)
    {
        waits_ |= rest.who == writer_is::blocked;
        told_ |= rest.who == writer_is::io_thread && out_.error() == 0;
    }

    writer& out_;
    std::mt19937& random_;
    bool told_ = false;
    bool waits_ = false;
    bool has_batches_ = false;
};

/// When a connection breaks that has taken the beginning of a message past the queue.
enum class break_time {
    rest_is_queued,
    rest_is_not_queued,
    rest_is_not_queued_and_the_next_connection_is_there_first,
};

message random_message(std::mt19937& random, std::size_t largest)
{
    message parts(1 + (random() % 4 == 0 ? random() % 5 : 0));
    for (std::string& part : parts) {
        const std::size_t kind = random() % 8;
        const std::size_t size = kind == 0   ? 0
                                 : kind < 5  ? random() % 300
                                 : kind == 5 ? random() % 9000
                                             : random() % largest;
        for (std::size_t i = 0; i < std::min<std::size_t>(size, 256); ++i)
            part += static_cast<char>(i * 31 + size);
        while (part.size() < size) // goes on in the same way: 256 * 31 is no change to a char
            part.append(part, 0, size - part.size());
    }
    return parts;
}

/// Gives the decoder what the connection has now.
void read_into(engine::decoder& in, transport::stream& from)
{
    iovec space[engine::decoder::most_entries];
    const int count = in.prepare(space);
    ASSERT_GT(count, 0);
    if (const auto result = from.read_some(space, count); result.bytes) {
        ASSERT_EQ(engine::inbound_error::none, in.received(result.bytes));
    }
}

/// A connection has brought all that it took: of the messages from `next` on nothing is missing,
/// cut or repeated.
void expect_next(pipe_end& receiver, const std::vector<message>& sent, std::size_t& next)
{
    for (frame part; receiver.in.peek(part); ++next) {
        ASSERT_LT(next, sent.size());
        for (const std::string& expected : sent[next]) {
            ASSERT_TRUE(receiver.in.peek(part));
            ASSERT_TRUE(expected == part.text()) << next;
            receiver.in.pop();
        }
    }
}

/// Messages that wait for connections, which bring them one after the other.
class waiting_messages {
public:
    explicit waiting_messages(std::mt19937& random)
    {
        test::connect(sender_);
        for (int i = 0; i < 12; ++i) {
            sent_.push_back(random_message(random, 30'000));
            const message& parts = sent_.back();
            for (std::size_t part = 0; part < parts.size(); ++part)
                EXPECT_TRUE(sender_.out.write(frame_of(parts[part], part + 1 < parts.size())));
        }
    }
    /// False if the connection has ended before it has brought all. Only the writing side lacks
    /// memory, if any does. What the connection has taken arrives.
    bool bring_over(memory_stream& stream, wire_kind kind)
    {
        auto own = std::make_optional<test::memory_of_test>();
        auto receiving = std::make_shared<channel_pair>();
        pipe_end receiver(receiving, false, nullptr);
        const auto in = make_decoder(test::make_wire(kind), receiving->a_to_b, commands_);
        engine::wire how = test::make_wire(kind);
        bool goes_on = true;
        own.reset();
        try {
            out_.attach(stream, {}, std::move(how));
            if (test::has_commands(kind))
                out_.send_command(ping);
        } catch (const std::bad_alloc&) {
            goes_on = false; // a session ends such a connection
        }
        for (int call = 0; call < 10'000 && goes_on && !(out_.drained() && stream.written.empty());
             ++call) {
            goes_on = !has_failed(out_, out_.drain());
            own.emplace();
            if (goes_on)
                read_into(*in, stream);
            else if (stream.fail_at != memory_stream::never) // rather than the memory
                expect_no_more_writes(stream);
            own.reset();
        }
        own.emplace();
        out_.detach();
        stream.fail_at = memory_stream::never;
        while (!stream.written.empty() && !::testing::Test::HasFailure())
            read_into(*in, stream);
        expect_next(receiver, sent_, next_);
        return goes_on;
    }
    /// Each has come, and counts as taken, once.
    void expect_all_brought()
    {
        EXPECT_EQ(sent_.size(), next_);
        EXPECT_TRUE(out_.drained());
        EXPECT_EQ(channels_->a_to_b.credit.sent(), channels_->a_to_b.credit.taken());
    }

private:
    void expect_no_more_writes(memory_stream& stream)
    {
        const unsigned attempts = stream.attempts;
        EXPECT_TRUE(has_failed(out_, out_.drain()));
        EXPECT_TRUE(has_failed(out_, out_.send_command(ping)));
        out_.say_farewell(engine::farewell::done);
        EXPECT_EQ(attempts, stream.attempts);
    }

    const std::shared_ptr<channel_pair> channels_ = std::make_shared<channel_pair>();
    pipe_end sender_{channels_, true, nullptr};
    writer out_{channels_->a_to_b};
    counted_commands commands_;
    std::vector<message> sent_;
    std::size_t next_ = 0; ///< behind what has come
};

class Traffic : public ::testing::TestWithParam<unsigned> {
protected:
    void send(const message& parts)
    {
        if (parts.size() == 1 && random_() % 2 == 0) { // as a message to many
            if (random_() % 3 == 0)                    // after one to others only
                log_.add({{0, frame_of("others", false).bytes()}});
            const frame part = frame_of(parts.front(), false);
            const auto entry = log_.add({{part.flags, part.bytes()}});
            ASSERT_EQ(part.size < tuning::fan_out::max_logged_part_bytes, entry.chunk != nullptr);
            if (entry.chunk) {
                ASSERT_TRUE(sender_.out.write_logged(entry));
                return;
            }
        }
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const frame part = frame_of(parts[i], i + 1 < parts.size());
            const bool short_way = random_() % 2 == 0 && !part.more() &&
                                   (i ? sender_.out.put_part(part.data, part.size, false)
                                      : sender_.out.put(part.data, part.size));
            if (!short_way) {
                ASSERT_TRUE(sender_.out.write(part));
            }
        }
    }

    // A thread that has no memory leaves the rest to the next call.
    plan drain()
    {
#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
        if (memory_runs_out_) {
            // Later on much of what it needs is there already.
            const test::memory_but_once some(
                times_without_memory_ == 0 ? 0 : static_cast<long>(random_() % 8));
            const plan done = writer_.drain();
            times_without_memory_ += some.was_refused();
            return done;
        }
#endif
        return writer_.drain();
    }

    bool transfer()
    {
        const bool moved = !has_failed(writer_, drain());
        read_into(decoder_ ? *decoder_ : inbound_, stream_);
        return moved;
    }

    bool receive(message& parts)
    {
        frame part;
        parts.clear();
        bool more = false;
        do {
            if (random_() % 3 == 0)
                receiver_.in.peek(part); // somebody has looked before
            constexpr std::size_t limits[] = {0, 33, 1000, SIZE_MAX};
            const std::size_t most = limits[random_() % std::size(limits)];
            const taken_part taken = random_() % 2 == 0 ? receiver_.in.take(most) : taken_part{};
            EXPECT_LE(taken.size(), most);
            if (taken) {
                parts.emplace_back(text_of(taken.data(), taken.size()));
                more = taken.more();
            } else if (receiver_.in.peek(part)) {
                parts.emplace_back(part.text());
                more = part.more();
                receiver_.in.pop();
            } else {
                break;
            }
            if (!more)
                return true;
        } while (true);
        EXPECT_TRUE(parts.empty()) << "a message ended without its last part";
        return false;
    }

    // Messages, at times taken back before they are complete, through a connection.
    void exchange(bool with_pings)
    {
        test::connect(sender_);
        std::deque<message> expected;
        message got;
        for (int round = 0; round < 400; ++round) {
            if (expected.size() < 50) {
                expected.push_back(random_message(random_, round % 10 == 0 ? 200'000 : 20'000));
                send(expected.back());
            }
            if (random_() % 7 == 0) {
                const message cut_off = random_message(random_, 20'000);
                for (const std::string& part : cut_off)
                    ASSERT_TRUE(sender_.out.write(frame_of(part, true)));
                sender_.out.give_up_message();
            }
            if (with_pings && random_() % 5 == 0) {
                writer_.send_command(ping);
            }
            for (unsigned i = random_() % 8; i > 0; --i)
                transfer();
            while (random_() % 4 != 0 && receive(got)) {
                ASSERT_FALSE(expected.empty());
                ASSERT_EQ(expected.front(), got);
                expected.pop_front();
            }
        }
        for (int quiet = 0; !expected.empty() && quiet < 100'000; ++quiet) {
            transfer();
            if (receive(got)) {
                ASSERT_EQ(expected.front(), got);
                expected.pop_front();
                quiet = 0;
            }
        }
        EXPECT_TRUE(expected.empty());
        for (int call = 0; !writer_.drained() && call < 100; ++call)
            transfer(); // a PING may have come last
        EXPECT_TRUE(writer_.drained());
    }

    // Messages over connections that break; `choose` gives the wire of each.
    void exchange_over_broken(const std::function<wire_kind()>& choose)
    {
        test::connect(sender_);
        std::vector<message> sent;
        for (int i = 0; i < 60; ++i) {
            sent.push_back(random_message(random_, 30'000));
            sent.back().front() = std::to_string(i);
            send(sent.back());
        }
        std::size_t next = 0;
        for (int connection = 0; connection < 2'000 && next < sent.size(); ++connection) {
            memory_stream stream(random_, 1 + random_() % 60'000);
            auto channels = std::make_shared<channel_pair>();
            pipe_end receiver(channels, false, nullptr);
            const wire_kind kind = choose();
            const auto inbound = make_decoder(test::make_wire(kind), channels->a_to_b, commands_);
            writer_.attach(stream, {}, test::make_wire(kind));
            for (unsigned i = 1 + random_() % 6; i > 0; --i) {
                if (test::has_commands(kind) && random_() % 4 == 0)
                    writer_.send_command(ping);
                writer_.drain();
                ASSERT_NO_FATAL_FAILURE(read_into(*inbound, stream));
            }
            writer_.detach();
            while (!stream.written.empty())
                ASSERT_NO_FATAL_FAILURE(read_into(*inbound, stream));
            ASSERT_NO_FATAL_FAILURE(expect_next(receiver, sent, next));
        }
        EXPECT_EQ(sent.size(), next);
        EXPECT_TRUE(writer_.drained());
        // Every message counts as taken once, however often a connection broke.
        EXPECT_EQ(out_channels_->a_to_b.credit.sent(), sent.size());
        EXPECT_EQ(out_channels_->a_to_b.credit.taken(), sent.size());
    }

    std::mt19937 random_{GetParam()};
    engine::fan_out_log log_;
    std::shared_ptr<channel_pair> out_channels_ = std::make_shared<channel_pair>();
    std::shared_ptr<channel_pair> in_channels_ = std::make_shared<channel_pair>();
    pipe_end sender_{out_channels_, true, nullptr};
    pipe_end receiver_{in_channels_, false, nullptr};
    memory_stream stream_{random_, 1 + random_() % 100'000};
    writer writer_{out_channels_->a_to_b};
    counted_commands commands_;
    engine::inbound inbound_{in_channels_->a_to_b, any_message, commands_};
    std::unique_ptr<engine::decoder> decoder_; ///< in place of inbound_
    bool memory_runs_out_ = false;
    int times_without_memory_ = 0;
};

TEST_P(Traffic, arrives_whole_and_in_order_however_it_is_cut)
{
    writer_.attach(stream_, {});
    exchange(true);
}

TEST_P(Traffic, arrives_whole_and_in_order_over_every_wire)
{
    const wire_kind kind = test::all_wires[GetParam() % std::size(test::all_wires)];
    writer_.attach(stream_, {}, test::make_wire(kind));
    decoder_ = make_decoder(test::make_wire(kind), in_channels_->a_to_b, commands_);
    exchange(test::has_commands(kind));
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
TEST_P(Traffic, arrives_whole_and_in_order_when_memory_runs_out_at_times)
{
    const wire_kind kind = test::all_wires[GetParam() % std::size(test::all_wires)];
    memory_runs_out_ = true;
    writer_.attach(stream_, {}, test::make_wire(kind));
    decoder_ = make_decoder(test::make_wire(kind), in_channels_->a_to_b, commands_);
    exchange(test::has_commands(kind));
    EXPECT_TRUE(times_without_memory_ > 0 || test::make_wire(kind).encodes_queue_format());
}
#endif

TEST_P(Traffic, goes_on_with_the_first_message_that_a_broken_connection_did_not_take)
{
    exchange_over_broken([] { return wire_kind::zmtp3; });
}

TEST_P(Traffic, goes_on_with_that_message_over_every_wire)
{
    const wire_kind kind = test::all_wires[GetParam() % std::size(test::all_wires)];
    exchange_over_broken([kind] { return kind; });
}

TEST_P(Traffic, goes_on_with_that_message_when_the_next_connection_has_another_wire)
{
    exchange_over_broken(
        [this] { return test::all_wires[random_() % std::size(test::all_wires)]; });
}

// Over every wire, and with subscriptions: the connection fails at its first operation, at its
// second, and so on, for good or only once; the next one brings what it did not take, once.
TEST_P(Traffic, loses_nothing_whichever_operation_fails)
{
    const wire_kind kind = test::all_wires[GetParam() % std::size(test::all_wires)];
    bool reached = true;
    for (int run_number = 0, fail_at = 0; reached; ++run_number) {
        SCOPED_TRACE(fail_at);
        waiting_messages messages(random_);
        memory_stream first(random_, 20'000);
        first.fail_at = fail_at;
        first.fails_once = run_number % 2 != 0;
        first.error = fail_at % 2 == 0 ? EPIPE : ECONNRESET;
        messages.bring_over(first, kind);
        memory_stream second(random_, 1'000'000);
        EXPECT_TRUE(messages.bring_over(second, kind));
        messages.expect_all_brought();
        ASSERT_FALSE(HasFailure());
        reached = first.operations > fail_at;
        if (run_number % 2 != 0)
            fail_at += fail_at > 60 ? 11 : 1;
    }
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
// The same with each allocation of the writing side: the connection goes on, or ends and the next
// one brings what it did not take, once.
TEST_P(Traffic, loses_nothing_whichever_allocation_fails)
{
    const wire_kind kind = test::all_wires[GetParam() % std::size(test::all_wires)];
    bool refused = true;
    for (long allocations = 0; refused; allocations += allocations > 60 ? 11 : 1) {
        SCOPED_TRACE(allocations);
        waiting_messages messages(random_);
        memory_stream first(random_, 20'000);
        bool first_has_all = false;
        {
            const test::memory_but_once memory(allocations);
            first_has_all = messages.bring_over(first, kind);
            refused = memory.was_refused();
        }
        EXPECT_TRUE(refused || first_has_all);
        if (first_has_all)
            messages.expect_all_brought();
        memory_stream second(random_, 1'000'000);
        EXPECT_TRUE(messages.bring_over(second, kind));
        messages.expect_all_brought();
        ASSERT_FALSE(HasFailure());
    }
}
#endif

TEST_P(Traffic, ends_with_an_error_when_the_key_is_used_up_and_loses_nothing)
{
    test::connect(sender_);
    memory_stream first(random_, 1'000'000);
    engine::wire how;
    how.cipher = std::make_shared<test::toy_cipher>(3);
    writer_.attach(first, {}, how);
    const std::vector<message> sent{{"a"}, {"b"}, {"c", "d"}, {"e"}};
    for (const message& each : sent)
        send(each);
    ASSERT_TRUE(has_failed(writer_, writer_.drain()));
    EXPECT_EQ(EPROTO, writer_.error());
    writer_.detach();
    writer_.attach(stream_, {});
    message got;
    for (const message& expected : sent) {
        for (int quiet = 0; !receive(got) && quiet < 100'000; ++quiet)
            transfer();
        EXPECT_EQ(expected, got);
    }
    EXPECT_TRUE(writer_.drained());
}

// A large message written past the queue, over every wire, to a connection that fails only once:
// nothing goes there after the failure, and what it did not take comes with the next one.
TEST_P(Traffic, begins_the_next_connection_after_a_direct_write_has_failed_once)
{
    const wire_kind kind = test::all_wires[GetParam() % std::size(test::all_wires)];
    bool reached = true;
    for (int fail_at = 0; reached; ++fail_at) {
        auto channels = std::make_shared<channel_pair>();
        pipe_end sender(channels, true, nullptr);
        writer out(channels->a_to_b);
        direct_outlet way_out(out);
        test::connect(sender, way_out);
        memory_stream first(random_, 1'000'000);
        first.random = nullptr;
        first.portion = 15'000; // so that some fail in the middle of a message
        out.attach(first, {}, test::make_wire(kind));
        out.drain();
        first.operations = 0;
        first.fail_at = fail_at;
        first.fails_once = true;
        std::vector<message> sent;
        for (int i = 0; i < 6; ++i) {
            sent.push_back({std::string(40'000, static_cast<char>('a' + i))});
            ASSERT_TRUE(sender.out.write(frame_of(sent.back()[0], false)));
        }
        const bool failed = has_failed(out, out.drain());
        reached = first.operations > fail_at;
        EXPECT_EQ(reached, failed);
        if (reached) {
            EXPECT_EQ(fail_at + 1, first.operations); // nobody has tried again
        }
        out.detach();
        memory_stream second(random_, 1'000'000);
        out.attach(second, {}, test::make_wire(kind));
        std::size_t next = 0;
        for (memory_stream* const stream : {&first, &second}) {
            auto receiving = std::make_shared<channel_pair>();
            pipe_end receiver(receiving, false, nullptr);
            const auto in = make_decoder(test::make_wire(kind), receiving->a_to_b, commands_);
            stream->fail_at = memory_stream::never;
            for (int call = 0; call < 100'000 && !(out.drained() && stream->written.empty());
                 ++call) {
                if (stream == &second)
                    out.drain();
                else if (stream->written.empty())
                    break;
                ASSERT_NO_FATAL_FAILURE(read_into(*in, *stream));
            }
            ASSERT_NO_FATAL_FAILURE(expect_next(receiver, sent, next));
        }
        EXPECT_EQ(sent.size(), next);
        out.detach();
    }
}

TEST_P(Traffic, begins_a_connection_with_a_whole_message_after_one_broke_in_a_direct_write)
{
    direct_outlet way_out(writer_);
    test::connect(sender_, way_out);
    for (int round = 0; round < 30; ++round) {
        memory_stream broken(random_, 1 + random_() % 9'000);
        memory_stream next(random_, 1'000'000);
        const auto time = static_cast<break_time>(round % 3);
        bool cut = false;
        way_out.after_cut = [&] {
            cut = true;
            if (time == break_time::rest_is_queued)
                return;
            writer_.detach();
            if (time == break_time::rest_is_not_queued)
                return;
            writer_.attach(next, {});
            writer_.drain();
        };
        writer_.attach(broken, {});
        writer_.drain();
        message half(random_() % 3, std::string(random_() % 3 * 7, 'e')); // an envelope
        half.emplace_back(10'000 + random_() % 40'000, 'x');
        send(half);
        writer_.detach();
        if (!cut) { // what goes first lies in two chunks
            ASSERT_LT(1u, half.size());
            writer_.discard();
            continue;
        }

        const message expected{std::string(1 + random_() % 20'000, 'y'), "", "last"};
        const bool waits = random_() % 2 == 0;
        if (waits)
            send(expected);
        writer_.attach(next, {});
        writer_.drain();
        if (!waits)
            send(expected);
        auto channels = std::make_shared<channel_pair>();
        pipe_end receiver(channels, false, nullptr);
        engine::inbound inbound(channels->a_to_b, any_message, commands_);
        frame part;
        for (int quiet = 0; !receiver.in.peek(part) && quiet < 100'000; ++quiet) {
            writer_.drain();
            ASSERT_NO_FATAL_FAILURE(read_into(inbound, next));
        }
        for (const std::string& text : expected) {
            ASSERT_TRUE(receiver.in.peek(part));
            ASSERT_EQ(text, part.text());
            receiver.in.pop();
        }
        EXPECT_TRUE(writer_.drained());
        writer_.detach();
    }
}

// Nobody looks at an idle connection again: all that it took has to be known when the mark is
// lowered.
TEST_P(Traffic, that_passed_by_the_queue_leaves_room_for_the_next_message_at_a_lower_mark)
{
    direct_outlet way_out(writer_);
    test::connect(sender_, way_out);
    memory_stream wide(random_, 10'000'000);
    wide.random = nullptr;
    writer_.attach(wide, {});
    writer_.drain();
    sender_.set_limits(10, 10);
    for (unsigned sent = 0; sent < 1 + GetParam(); ++sent) {
        ASSERT_TRUE(sender_.out.can_write());
        ASSERT_TRUE(sender_.out.write(frame_of(std::string(9'000, 'x'), false)));
    }
    ASSERT_TRUE(writer_.drained());
    sender_.set_limits(1, 10);
    EXPECT_TRUE(sender_.out.can_write());
    writer_.detach();
}

// The last part of a message is written from where it lies, and what comes before it along with it.
TEST_P(Traffic, carries_a_large_part_behind_an_envelope)
{
    const wire_kind kind = test::all_wires[GetParam() % std::size(test::all_wires)];
    direct_outlet way_out(writer_);
    test::connect(sender_, way_out);
    decoder_ = make_decoder(test::make_wire(kind), in_channels_->a_to_b, commands_);
    memory_stream wide(random_, 1'000'000);
    writer_.attach(wide, {}, test::make_wire(kind));
    writer_.drain();
    for (int round = 0; round < 20; ++round) {
        message parts(1 + random_() % 3, std::string(random_() % 3 * 7, 'e'));
        parts.emplace_back(10'000 + random_() % 40'000, static_cast<char>('a' + round));
        const auto sent = out_channels_->a_to_b.credit.sent();
        send(parts);
        EXPECT_EQ(sent + 1, out_channels_->a_to_b.credit.sent());
        message got;
        const auto transferred = [&] {
            read_into(*decoder_, wide);
            writer_.drain(); // what the stream did not take at once
            return receive(got);
        };
        for (int quiet = 0; !transferred() && quiet < 100'000; ++quiet) {
        }
        ASSERT_TRUE(parts == got);
        EXPECT_TRUE(writer_.drained());
    }
    writer_.detach();
}

// A PING or PONG that comes while the connection has a part of a message and the queue not yet the
// rest must not get between the two.
TEST_P(Traffic, a_command_waits_for_the_end_of_a_message_that_was_cut)
{
    direct_outlet way_out(writer_);
    test::connect(sender_, way_out);
    for (int round = 0; round < 30; ++round) {
        memory_stream stream(random_, 1 + random_() % 9'000);
        bool cut = false;
        way_out.after_cut = [&] {
            cut = true;
            writer_.send_command(ping);
        };
        writer_.attach(stream, {});
        writer_.drain();
        const std::string body(10'000 + random_() % 40'000, 'x');
        send({body});
        ASSERT_TRUE(cut);
        auto channels = std::make_shared<channel_pair>();
        pipe_end receiver(channels, false, nullptr);
        engine::inbound inbound(channels->a_to_b, any_message, commands_);
        frame part;
        const int commands_before = commands_.count;
        for (int quiet = 0; commands_.count == commands_before && quiet < 100'000; ++quiet) {
            writer_.drain();
            ASSERT_NO_FATAL_FAILURE(read_into(inbound, stream));
        }
        ASSERT_EQ(commands_before + 1, commands_.count);
        ASSERT_TRUE(receiver.in.peek(part));
        ASSERT_TRUE(body == part.text());
        receiver.in.pop();
        writer_.detach();
    }
}

// All of them, though nothing but room for them comes after the connection has taken the first.
TEST_P(Traffic, commands_that_found_no_room_follow_when_there_is_some)
{
    memory_stream stream(random_, 1'000);
    writer_.attach(stream, {});
    constexpr int sent = 1'000;
    auto who = writer_is::nobody;
    for (int i = 0; i < sent; ++i)
        who = writer_.send_command(ping).who;
    ASSERT_EQ(writer_is::blocked, who);
    auto channels = std::make_shared<channel_pair>();
    engine::inbound inbound(channels->a_to_b, any_message, commands_);
    while (who == writer_is::blocked) {
        ASSERT_NO_FATAL_FAILURE(read_into(inbound, stream));
        who = writer_.drain().who;
    }
    for (int reads = 0; commands_.count < sent && reads < 100'000; ++reads)
        read_into(inbound, stream);
    EXPECT_EQ(sent, commands_.count);
    writer_.detach();
}

TEST_P(Traffic, commands_follow_an_encoded_message_that_found_no_room)
{
    const wire_kind kind = GetParam() % 2 == 0 ? wire_kind::toy_codec : wire_kind::toy_cipher;
    memory_stream stream(random_, 1'000);
    writer_.attach(stream, {}, test::make_wire(kind));
    send({std::string(5'000, 'x')});
    auto who = writer_.drain().who;
    ASSERT_EQ(writer_is::blocked, who);
    writer_.send_command(ping);
    auto channels = std::make_shared<channel_pair>();
    const auto inbound = make_decoder(test::make_wire(kind), channels->a_to_b, commands_);
    while (who == writer_is::blocked) {
        ASSERT_NO_FATAL_FAILURE(read_into(*inbound, stream));
        who = writer_.drain().who;
    }
    for (int reads = 0; commands_.count == 0 && reads < 100'000; ++reads)
        read_into(*inbound, stream);
    EXPECT_EQ(1, commands_.count);
    writer_.detach();
}

// A peer that asks and asks and never reads must not cost memory without end.
TEST_P(Traffic, commands_wait_for_room_up_to_a_limit)
{
    memory_stream stream(random_, 1'000);
    writer_.attach(stream, {});
    const auto most = static_cast<int>(engine::outgoing::most_control_bytes /
                                       engine::traffic_command_frame_bytes(ping));
    for (int i = 0; i < 3 * most; ++i)
        writer_.send_command(ping);
    auto channels = std::make_shared<channel_pair>();
    engine::inbound inbound(channels->a_to_b, any_message, commands_);
    for (auto who = writer_is::blocked; who == writer_is::blocked; who = writer_.drain().who)
        ASSERT_NO_FATAL_FAILURE(read_into(inbound, stream));
    const auto read_all = [&] {
        for (int quiet = 0, seen = commands_.count; quiet < 1'000; ++quiet) {
            read_into(inbound, stream);
            if (std::exchange(seen, commands_.count) != commands_.count)
                quiet = 0;
        }
    };
    read_all();
    EXPECT_LE(most, commands_.count);
    EXPECT_GE(2 * most + 100, commands_.count); // those that the stream took, too
    const int before = commands_.count;
    for (auto who = writer_.send_command(ping).who; who == writer_is::blocked;
         who = writer_.drain().who)
        ASSERT_NO_FATAL_FAILURE(read_into(inbound, stream));
    read_all();
    EXPECT_EQ(before + 1, commands_.count);
    writer_.detach();
}

// While messages are queued without end, the next border between two of them is soon enough.
TEST_P(Traffic, a_command_goes_behind_the_message_that_is_being_written)
{
    memory_stream stream(random_, 4'000);
    writer_.attach(stream, {});
    for (int i = 0; i < 3; ++i)
        send({std::string(10'000 + random_() % 40'000, static_cast<char>('a' + i))});
    ASSERT_EQ(writer_is::blocked, writer_.drain().who);
    writer_.send_command(ping);
    auto channels = std::make_shared<channel_pair>();
    pipe_end receiver(channels, false, nullptr);
    engine::inbound inbound(channels->a_to_b, any_message, commands_);
    for (int quiet = 0; commands_.count == 0 && quiet < 100'000; ++quiet) {
        writer_.drain();
        ASSERT_NO_FATAL_FAILURE(read_into(inbound, stream));
    }
    ASSERT_EQ(1, commands_.count);
    frame part;
    ASSERT_TRUE(receiver.in.peek(part));
    EXPECT_EQ('a', part.text().front());
    receiver.in.pop();
    EXPECT_FALSE(receiver.in.peek(part));
    writer_.detach();
}

// Whoever writes, and whatever comes late: while something is left to be written, somebody has
// cause to write it.
TEST_P(Traffic, leaves_nothing_behind_when_sending_and_io_thread_take_turns)
{
    caused_outlet way_out(writer_, random_);
    test::connect(sender_, way_out);
    stream_.facts.packet_bytes = random_() % 2 * (8'000 + random_() % 20'000);
    const wire_kind kind = test::all_wires[GetParam() % std::size(test::all_wires)];
    way_out.attach(stream_, kind);
    decoder_ = make_decoder(test::make_wire(kind), in_channels_->a_to_b, commands_);
    message got;
    const auto read = [&] { read_into(*decoder_, stream_); };
    std::deque<message> under_way;
    for (int round = 0; round < 100; ++round) {
        for (unsigned burst = random_() % 60; burst > 0; --burst) {
            const std::size_t most = random_() % 8 == 0 ? 60'000 : 4'000;
            const auto letter = static_cast<char>('a' + random_() % 26);
            under_way.push_back({std::to_string(random_()), std::string(random_() % most, letter)});
            send(under_way.back());
            if (random_() % 8 == 0)
                sender_.out.flush_before_sleep();
            if (random_() % 4 == 0)
                way_out.run_once(stream_.takes_more());
            if (random_() % 4 == 0)
                read();
        }
        int runs = 0;
        for (int quiet = 0; !under_way.empty() && quiet < 1'000 && runs < 1'000'000; ++runs) {
            quiet = way_out.run_once(stream_.takes_more()) ? 0 : quiet + 1;
            read(); // what lies in the connection needs no cause
            for (; receive(got); under_way.pop_front())
                ASSERT_TRUE(!under_way.empty() && got == under_way.front());
        }
        ASSERT_TRUE(under_way.empty()) << "nobody saw to the rest";
    }
    EXPECT_TRUE(writer_.drained());
}

// Of what a stream has left of a message to the next one, a broken connection leaves nothing.
TEST_P(Traffic, stays_whole_over_connections_that_break_in_a_stream)
{
    caused_outlet way_out(writer_, random_);
    test::connect(sender_, way_out);
    std::vector<message> sent;
    std::size_t next = 0;
    bool breaks = true;
    for (int connection = 0; connection < 20 || breaks; ++connection) {
        breaks = connection < 20;
        memory_stream stream(random_, 1'000 + random_() % 60'000);
        stream.facts.packet_bytes = 8'000 + random_() % 20'000;
        auto channels = std::make_shared<channel_pair>();
        pipe_end receiver(channels, false, nullptr);
        const wire_kind kind = test::all_wires[random_() % std::size(test::all_wires)];
        const auto inbound = make_decoder(test::make_wire(kind), channels->a_to_b, commands_);
        const auto read_all = [&] {
            frame part;
            while (receiver.in.peek(part)) {
                const auto number = static_cast<std::size_t>(std::stoi(std::string(part.text())));
                ASSERT_LE(next, number);
                ASSERT_LT(number, sent.size());
                for (const std::string& expected : sent[number]) {
                    ASSERT_TRUE(receiver.in.peek(part));
                    ASSERT_TRUE(expected == part.text());
                    receiver.in.pop();
                }
                next = number + 1;
            }
        };
        way_out.attach(stream, kind);
        for (unsigned burst = 1 + random_() % 20; burst > 0; --burst) {
            sent.push_back({std::to_string(sent.size()), std::string(random_() % 60'000, 'x')});
            send(sent.back());
            if (random_() % 8 == 0)
                sender_.out.flush_before_sleep();
            if (random_() % 3 == 0)
                way_out.run_once(stream.takes_more());
            if (random_() % 2 == 0)
                read_into(*inbound, stream);
        }
        for (int quiet = 0; !breaks && next < sent.size() && quiet < 100'000; ++quiet) {
            way_out.run_once(stream.takes_more());
            read_into(*inbound, stream);
            ASSERT_NO_FATAL_FAILURE(read_all());
        }
        writer_.detach();
        ASSERT_NO_FATAL_FAILURE(read_all());
    }
    EXPECT_EQ(sent.size(), next) << "the last connection did not break";
    EXPECT_EQ(out_channels_->a_to_b.credit.sent(), sent.size());
    EXPECT_EQ(out_channels_->a_to_b.credit.taken(), sent.size());
}

/// Finds the connection broken when it answers a command.
class giving_up final : public engine::command_handler {
public:
    void on_command(std::span<const std::byte>) override
    {
        given_up = true;
        in->reset();
        EXPECT_TRUE(in->append(0, frame_of("notice", false).bytes()));
    }
    engine::inbound* in = nullptr;
    bool given_up = false;
};

std::string frame_bytes(std::uint8_t flags, const std::string& body)
{
    std::byte header[engine::zmtp3::long_header_bytes];
    const std::size_t bytes = engine::zmtp3::encode_header(header, flags, body.size());
    return std::string(reinterpret_cast<const char*>(header), bytes) + body;
}

TEST(GivenUp, by_a_command_a_connection_leaves_whole_messages_and_room_for_the_next)
{
    using engine::zmtp3::flag_command;
    using engine::zmtp3::flag_more;
    for (const std::size_t size : {10u, 5'000u, 9'000u, 70'000u}) {
        const auto channels = std::make_shared<channel_pair>();
        pipe_end receiver(channels, false, nullptr);
        const std::string half = frame_bytes(flag_more, std::string(size, 'h'));
        giving_up broken;
        {
            engine::inbound in(channels->a_to_b, any_message, broken);
            broken.in = &in;
            const std::string bytes = frame_bytes(0, "whole") + half + half +
                                      frame_bytes(flag_command, "\4PING") + frame_bytes(0, "never");
            EXPECT_EQ(engine::inbound_error::none, test::feed(in, bytes, broken.given_up));
            ASSERT_TRUE(broken.given_up);
        }
        counted_commands fine;
        engine::inbound next(channels->a_to_b, any_message, fine);
        EXPECT_EQ(engine::inbound_error::none, test::feed(next, half + frame_bytes(0, "last")));
        frame part;
        for (const std::string& expected : {std::string("whole"), std::string("notice"),
                                            std::string(size, 'h'), std::string("last")}) {
            ASSERT_TRUE(receiver.in.peek(part));
            ASSERT_EQ(expected, part.text());
            receiver.in.pop();
        }
        EXPECT_FALSE(receiver.in.peek(part));
    }
}

// Plain bytes: the borders between messages are lost, nothing else.
TEST_P(Traffic, passes_plain_bytes_in_order_however_they_are_cut)
{
    direct_outlet way_out(writer_);
    test::connect(sender_, way_out);
    const std::size_t chunk_bytes = 1 + random_() % 10'000;
    engine::raw_inbound inbound(in_channels_->a_to_b, chunk_bytes);
    sender_.out.write_chunks(false);
    writer_.attach(stream_, {}, {.is_plain_bytes = true});
    std::string expected;
    std::string got;
    for (int round = 0; round < 3000 && (round < 300 || got.size() < expected.size()); ++round) {
        if (round < 300)
            for (std::string& part : random_message(random_, 100'000)) {
                expected += part;
                ASSERT_TRUE(sender_.out.write(frame_of(part, false)));
            }
        for (unsigned i = random_() % 8; i > 0; --i) {
            writer_.drain();
            ASSERT_NO_FATAL_FAILURE(read_into(inbound, stream_));
        }
        for (frame part; receiver_.in.peek(part); receiver_.in.pop()) {
            EXPECT_LE(part.size, chunk_bytes);
            EXPECT_GT(part.size, 0u);
            got += part.text();
        }
    }
    while (!writer_.drained())
        writer_.drain(); // empty messages may be left
    EXPECT_TRUE(got == expected) << got.size() << " of " << expected.size();
    EXPECT_TRUE(writer_.drained());
    EXPECT_EQ(out_channels_->a_to_b.credit.taken(), out_channels_->a_to_b.credit.sent());
    ASSERT_TRUE(inbound.append(0, {}));
    frame part;
    ASSERT_TRUE(receiver_.in.peek(part));
    EXPECT_EQ(part.size, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Traffic, ::testing::Range(1u, 41u));

} // namespace
} // namespace zlink::core
