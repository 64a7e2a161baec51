// SPDX-License-Identifier: Apache-2.0
#include "core/connection/reader.hpp"

#include "core/connection/reading_inlet_for_tests.hpp"
#include "core/connection/traffic_for_tests.hpp"

#include "engine/commands/traffic_commands.hpp"
#include "engine/handshake/socket_types.hpp"
#include "engine/wire/wires_for_tests.hpp"
#include "engine/wire/write_batch.hpp"
#include "sockets/patterns.hpp"
#include "support/memory_stream.hpp"
#include "support/scarce_memory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace zlink::core {
namespace {

using namespace std::chrono_literals;
using engine::zmtp3::flag_command;
using engine::zmtp3::flag_more;
using status = reader::status;
using test::memory_stream;
using test::reading_inlet;
using test::wire_kind;
namespace types = engine::socket_types;

/// The parts of all messages, those that others of the same message follow with a '+'.
using texts = std::vector<std::string>;

constexpr int reads_per_call = 16;
constexpr std::size_t large_bytes = 100'000;

std::string large_body(std::size_t bytes = large_bytes)
{
    std::string body(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i)
        body[i] = static_cast<char>(i * 7 / 5);
    return body;
}

std::string ping_body()
{
    std::vector<std::byte> frame;
    engine::append_traffic_command(frame, {engine::traffic_command_kind::ping, {}, 0});
    return {reinterpret_cast<const char*>(frame.data()) + 2, frame.size() - 2};
}

/// The peer's end of a wire.
class sender {
public:
    explicit sender(wire_kind kind) : wire_(test::make_wire(kind)) {}

    std::string frame(const std::string& body, std::uint8_t flags = 0)
    {
        engine::write_batch batch;
        engine::frame_encoder(wire_, batch)
            .put_frame(flags, std::as_bytes(std::span(body)), nullptr);
        return test::bytes_of(batch);
    }
    std::string ping() { return frame(ping_body(), flag_command); }
    /// Of parts; those that more follow end with a '+', as in `texts`.
    std::string frames(const texts& parts)
    {
        std::string bytes;
        for (const std::string& part : parts) {
            const bool more = part.ends_with('+');
            bytes += frame(part.substr(0, part.size() - more), more ? flag_more : std::uint8_t{0});
        }
        return bytes;
    }

private:
    engine::wire wire_;
};

/// Refuses each frame for the same reason.
class refusing_cipher final : public engine::frame_cipher {
public:
    explicit refusing_cipher(engine::cipher_fault fault) : fault_(fault) {}
    std::size_t sealed_bytes(std::size_t plain_bytes) const noexcept override
    {
        return plain_bytes;
    }
    std::uint8_t outer_flags(std::uint8_t flags) const noexcept override { return flags; }
    bool seal(std::uint8_t, std::span<const std::byte>, std::span<std::byte>) noexcept override
    {
        return false;
    }
    opened open(std::uint8_t, std::span<std::byte>) noexcept override { return {fault_}; }

private:
    const engine::cipher_fault fault_;
};

class Reader : public ::testing::Test, public engine::command_handler {
protected:
    Reader()
    {
        stream_.facts.descriptor = 77;
        heartbeat_.begin();
    }
    ~Reader() override { end(); }

    void on_command(std::span<const std::byte> body) override
    {
        for (const auto end = std::chrono::steady_clock::now() + command_takes_;
             std::chrono::steady_clock::now() < end;) {
        }
        if (!lease_->keep_for_later(body))
            commands_.emplace_back(reinterpret_cast<const char*>(body.data()), body.size());
    }
    void begin(wire_kind kind = wire_kind::zmtp3, int type = types::pull)
    {
        begin(test::make_wire(kind), type);
    }
    void begin(const engine::wire& how, int type = types::pull)
    {
        end();
        options_.type = type;
        options_.traits = &sockets::traits_of(type);
        channels_ = std::make_shared<channel_pair>();
        pipe_ = std::make_shared<pipe_end>(channels_, true, nullptr);
        pipe_->set_conflation(false, options_.conflate);
        lease_ = std::make_shared<reading_lease>(io_);
        reader_.emplace(std::make_shared<const socket_options>(options_), *this, limits_);
        in_ = std::make_unique<reading_inlet>(*lease_);
        test::connect(*pipe_, *in_);
        reader_->begin(how, pipe_, lease_);
    }
    void end()
    {
        if (lease_)
            lease_->stop();
        heartbeat_.stop();
    }
    status read() { return reader_->read(stream_, pulse_); }
    /// Reads as long as there is something to do; the status that ended it.
    status read_on()
    {
        status last = status::dry;
        do
            last = read();
        while (last == status::limit_reached ||
               (last == status::dry && !(stream_.pieces.empty() && stream_.input.empty())));
        return last;
    }
    /// What the socket can read now.
    texts received()
    {
        texts all;
        for (frame part; pipe_->in.peek(part); pipe_->in.pop())
            all.push_back(std::string(part.text()) + (part.more() ? "+" : ""));
        return all;
    }
    void limit_queue(int messages) { channels_->b_to_a.credit.set_producer_limit(messages); }
    void start_heartbeat()
    {
        heartbeat_.start({.interval_ms = 10'000, .timeout_ms = 10'000}, owner_);
    }

    boost::asio::io_context io_;
    std::shared_ptr<int> owner_ = std::make_shared<int>();
    heartbeat_timer heartbeat_{io_, [](heartbeat_timer::action) {}};
    const reader::pulse pulse_{heartbeat_, [this] { return owner_; }};
    socket_options options_;
    std::shared_ptr<channel_pair> channels_;
    std::shared_ptr<pipe_end> pipe_;
    std::shared_ptr<reading_lease> lease_;
    std::unique_ptr<reading_inlet> in_;
    memory_stream stream_;
    std::optional<reader> reader_;
    texts commands_;
    std::chrono::microseconds command_takes_{0};
    // Time does not end a call by chance while other processes use the processor.
    reader::call_limits limits_{.reads = reads_per_call, .time = 1h};
};

class ReaderOnWire : public Reader, public ::testing::WithParamInterface<wire_kind> {
protected:
    /// Messages of some forms, and a command among them where the wire has such.
    std::string traffic()
    {
        sender peer(GetParam());
        std::string bytes = peer.frames({"small", "first+", "+", "last"});
        if (test::has_commands(GetParam()))
            bytes += peer.ping();
        return bytes += peer.frames({std::string(300, 'm'), ""});
    }
    const texts messages{"small", "first+", "+", "last", std::string(300, 'm'), ""};
};
INSTANTIATE_TEST_SUITE_P(All, ReaderOnWire, ::testing::ValuesIn(test::all_wires),
                         [](const auto& tested) {
                             std::ostringstream name;
                             name << tested.param;
                             return name.str();
                         });

TEST_P(ReaderOnWire, takes_pieces_of_every_size)
{
    const std::string bytes = traffic();
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        begin(GetParam());
        commands_.clear();
        stream_.input = bytes;
        stream_.portion = piece;
        ASSERT_EQ(read_on(), status::dry) << piece;
        ASSERT_EQ(received(), messages) << piece;
        ASSERT_EQ(commands_.size(), test::has_commands(GetParam()) ? 1u : 0u) << piece;
    }
}

TEST_P(ReaderOnWire, takes_bytes_that_others_have_read)
{
    const std::string bytes = traffic();
    for (std::size_t first = 0; first <= bytes.size(); ++first) {
        begin(GetParam());
        const auto fed = std::as_bytes(std::span(bytes)).first(first);
        ASSERT_EQ(reader_->feed(fed), status::dry) << first;
        stream_.input = bytes.substr(first);
        ASSERT_EQ(read_on(), status::dry) << first;
        ASSERT_EQ(received(), messages) << first;
    }
}

TEST_P(ReaderOnWire, takes_large_bodies_in_pieces_of_any_size)
{
    constexpr int rounds = 10;
    std::mt19937 chance(7);
    stream_.random = &chance;
    for (const std::size_t size : {5'000, 24 * 1024 - 1, 24 * 1024, 65'536, 1'000'000}) {
        const std::string body = large_body(size);
        for (int round = 0; round < rounds; ++round) {
            begin(GetParam());
            sender peer(GetParam());
            const texts sent{"before+", body, "next", body + "+", "after"};
            stream_.input = peer.frames(sent);
            stream_.tells_of_more = round % 2 == 0;
            ASSERT_EQ(read_on(), status::dry) << size;
            ASSERT_TRUE(received() == sent) << size;
        }
    }
}

// The messages that were complete by then can be received, and the next connection begins anew.
TEST_P(ReaderOnWire, is_lost_if_any_read_fails)
{
    const std::string bytes = traffic();
    constexpr std::size_t portion = 7;
    const auto operations = static_cast<int>((bytes.size() + portion - 1) / portion);
    for (stream_.fail_at = 0; stream_.fail_at <= operations; ++stream_.fail_at) {
        begin(GetParam());
        stream_.input = bytes;
        stream_.portion = portion;
        stream_.operations = 0;
        ASSERT_EQ(read_on(), stream_.fail_at < operations ? status::lost : status::dry);
        const texts all = received();
        ASSERT_LE(all.size(), messages.size());
        ASSERT_TRUE(std::equal(all.begin(), all.end(), messages.begin())) << stream_.fail_at;
        ASSERT_TRUE(all.empty() || !all.back().ends_with('+')) << "only whole messages";

        reader_->incoming().reset();
        reader_->begin(test::make_wire(GetParam()), pipe_, lease_);
        memory_stream next;
        next.input = bytes;
        ASSERT_EQ(reader_->read(next, pulse_), status::dry);
        ASSERT_EQ(received(), messages) << stream_.fail_at;
    }
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
TEST_P(ReaderOnWire, is_lost_if_there_is_no_memory)
{
    bool refused = true;
    for (long allocations = 0; refused; ++allocations) {
        ASSERT_LT(allocations, 1000);
        begin(GetParam());
        sender peer(GetParam());
        const std::string body = large_body();
        const texts sent{"one", body, "two"};
        stream_.input = peer.frames(sent);
        status last = status::dry;
        {
            const test::memory_but_once memory(allocations);
            try {
                last = read_on();
            } catch (const std::bad_alloc&) {
                last = status::lost; // a session ends such a connection
            }
            refused = memory.was_refused();
        }
        ASSERT_TRUE(last == status::dry || last == status::lost);
        ASSERT_TRUE(refused || last == status::dry);
        const texts all = received();
        ASSERT_LE(all.size(), sent.size());
        ASSERT_TRUE(std::equal(all.begin(), all.end(), sent.begin())) << allocations;
        ASSERT_TRUE(last == status::lost || all.size() == sent.size());
        stream_.input.clear();
    }
}
#endif

TEST_F(Reader, reads_once_if_less_comes_than_there_is_room_for)
{
    begin();
    stream_.pieces = {sender(wire_kind::zmtp3).frame("a"), sender(wire_kind::zmtp3).frame("b")};
    EXPECT_EQ(read(), status::dry);
    EXPECT_EQ(stream_.operations, 1);
    EXPECT_EQ(received(), texts{"a"});
    EXPECT_EQ(read(), status::dry);
    EXPECT_EQ(received(), texts{"b"});
    EXPECT_EQ(read(), status::dry);
    EXPECT_EQ(stream_.operations, 3);
}

TEST_F(Reader, goes_on_after_a_short_read_if_there_is_more)
{
    begin();
    stream_.tells_of_more = true;
    stream_.pieces = {sender(wire_kind::zmtp3).frame("a"), sender(wire_kind::zmtp3).frame("b")};
    EXPECT_EQ(read(), status::dry);
    EXPECT_EQ(stream_.operations, 2);
    EXPECT_EQ(received(), (texts{"a", "b"}));
}

TEST_F(Reader, lets_other_connections_in_after_a_turn)
{
    begin();
    stream_.tells_of_more = true;
    for (int i = 0; i < 2 * reads_per_call; ++i)
        stream_.pieces.push_back(sender(wire_kind::zmtp3).frame("a"));
    EXPECT_EQ(read(), status::limit_reached);
    EXPECT_EQ(stream_.operations, reads_per_call);
    EXPECT_EQ(received().size(), static_cast<std::size_t>(reads_per_call));
    EXPECT_EQ(read(), status::dry) << "the last read leaves nothing";
    EXPECT_EQ(received().size(), static_cast<std::size_t>(reads_per_call));
}

TEST_F(Reader, lets_other_connections_in_when_what_it_reads_takes_long)
{
    limits_.time = 200us;
    begin();
    stream_.tells_of_more = true;
    for (int i = 0; i < reads_per_call; ++i)
        stream_.pieces.push_back(sender(wire_kind::zmtp3).ping());
    command_takes_ = 1ms;
    EXPECT_EQ(read(), status::limit_reached);
    EXPECT_EQ(stream_.operations, 2);
    EXPECT_EQ(read(), status::limit_reached);
    EXPECT_EQ(stream_.operations, 4);
    command_takes_ = 0us;
    read_on();
    EXPECT_EQ(commands_.size(), static_cast<std::size_t>(reads_per_call)) << "none is left out";
}

TEST_F(Reader, is_lost_at_the_end_of_the_stream_after_what_has_come)
{
    begin();
    stream_.input = sender(wire_kind::zmtp3).frames({"last", "half a message+"});
    stream_.ended = true;
    EXPECT_EQ(read(), status::dry);
    EXPECT_EQ(read(), status::lost);
    EXPECT_EQ(received(), texts{"last"});
}

TEST_F(Reader, has_a_status_for_what_the_peer_does_wrong)
{
    sender peer(wire_kind::toy_codec);
    begin(wire_kind::toy_codec);
    stream_.input = peer.frame("right") + std::string("\x7f wrong", 7);
    EXPECT_EQ(read(), status::violated) << "no frame";
    EXPECT_EQ(received(), texts{"right"});
    stream_.input.clear();

    begin(wire_kind::zmtp3, types::req);
    stream_.input = sender(wire_kind::zmtp3).frame("no reply");
    EXPECT_EQ(read(), status::violated);
    EXPECT_EQ(received(), texts{});

    options_.max_message_bytes = 5;
    begin();
    stream_.input = sender(wire_kind::zmtp3).frames({"right", "too long"});
    EXPECT_EQ(read(), status::lost) << "the next message may do better";
    EXPECT_EQ(received(), texts{"right"});
    EXPECT_EQ(reader_->fault(), engine::handshake_error::none);
}

TEST_F(Reader, tells_why_a_frame_cannot_be_opened)
{
    const std::pair<engine::cipher_fault, engine::handshake_error> faults[] = {
        {engine::cipher_fault::not_encrypted, engine::handshake_error::unexpected_command},
        {engine::cipher_fault::too_short, engine::handshake_error::malformed_message},
        {engine::cipher_fault::out_of_sequence, engine::handshake_error::invalid_sequence},
        {engine::cipher_fault::not_authentic, engine::handshake_error::not_authentic},
    };
    for (const auto& [fault, told] : faults) {
        engine::wire how;
        how.cipher = std::make_shared<refusing_cipher>(fault);
        begin(how);
        stream_.input = sender(wire_kind::zmtp3).frame("a");
        EXPECT_EQ(reader_->fault(), engine::handshake_error::none);
        EXPECT_EQ(read(), status::damaged);
        EXPECT_EQ(reader_->fault(), told);
        EXPECT_EQ(received(), texts{});
    }
}

// The sum of the toy cipher is of 32 bits, so that no change of one bit escapes it.
TEST_F(Reader, finds_damage_at_every_place_of_a_sealed_body)
{
    sender peer(wire_kind::toy_cipher);
    const std::string first = peer.frame("first");
    const std::string second = peer.frame("second body");
    for (std::size_t at = 2; at < second.size(); ++at) {
        begin(wire_kind::toy_cipher);
        stream_.input = first + second;
        stream_.input[first.size() + at] ^= 1;
        ASSERT_EQ(read(), status::damaged) << at;
        ASSERT_EQ(reader_->fault(), engine::handshake_error::not_authentic);
        ASSERT_EQ(received(), texts{"first"}) << at;
        stream_.input.clear();
    }
}

TEST_F(Reader, stops_while_the_queue_is_full)
{
    begin();
    limit_queue(2);
    start_heartbeat(); // judges, so the reading is not offered
    stream_.tells_of_more = true;
    for (const char* const body : {"1", "2", "3", "4", "5"})
        stream_.pieces.push_back(sender(wire_kind::zmtp3).frame(body));
    EXPECT_EQ(read(), status::full);
    EXPECT_EQ(stream_.operations, 2);
    EXPECT_TRUE(heartbeat_.paused());
    EXPECT_EQ(read(), status::full) << "nothing has changed";
    EXPECT_EQ(stream_.operations, 2);
    EXPECT_EQ(received(), (texts{"1", "2"}));
    EXPECT_GT(in_->told_of_room, 0);
    EXPECT_TRUE(in_->asked);
    EXPECT_EQ(read(), status::full);
    EXPECT_FALSE(stream_.pieces.empty());
    EXPECT_TRUE(heartbeat_.paused());
    EXPECT_EQ(received(), (texts{"3", "4"}));
    EXPECT_EQ(read(), status::dry);
    EXPECT_FALSE(heartbeat_.paused());
    EXPECT_EQ(received(), texts{"5"});
}

TEST_F(Reader, offers_the_reading_of_a_full_queue_to_the_thread_that_makes_room)
{
    begin();
    limit_queue(2);
    for (const char* const body : {"1", "2", "3"})
        stream_.pieces.push_back(sender(wire_kind::zmtp3).frame(body));
    EXPECT_EQ(read(), status::dry);
    EXPECT_EQ(read(), status::dry);
    EXPECT_EQ(read(), status::full);
    EXPECT_EQ(received(), (texts{"1", "2", "3"}));
    EXPECT_GT(in_->told_of_room, 0);
}

// They have to be answered, and what follows them is read after that.
TEST_F(Reader, takes_back_commands_that_the_sockets_thread_has_met)
{
    begin();
    sender peer(wire_kind::zmtp3);
    ASSERT_EQ(received(), texts{}); // from now on the socket waits
    ASSERT_TRUE(reader_->grant_lease(stream_, heartbeat_));
    EXPECT_TRUE(stream_.is_released);
    stream_.pieces = {peer.frame("a"), peer.frame("b")};
    stream_.pieces.front() += peer.ping();
    EXPECT_TRUE(lease_->read_leased({}).ended);
    EXPECT_EQ(received(), texts{"a"});
    EXPECT_EQ(commands_, texts{});
    EXPECT_EQ(read(), status::dry);
    EXPECT_FALSE(stream_.is_released);
    EXPECT_EQ(commands_, texts{ping_body()});
    EXPECT_EQ(received(), texts{"b"});
}

TEST_F(Reader, takes_back_an_error_that_the_sockets_thread_has_met)
{
    begin(wire_kind::toy_cipher);
    ASSERT_TRUE(reader_->grant_lease(stream_, heartbeat_));
    sender peer(wire_kind::toy_cipher);
    peer.frame("lost on the way");
    stream_.input = peer.frame("out of order");
    EXPECT_TRUE(lease_->read_leased({}).ended);
    EXPECT_EQ(read(), status::damaged);
    EXPECT_EQ(reader_->fault(), engine::handshake_error::not_authentic);
    EXPECT_EQ(stream_.operations, 1) << "it is not read again";
}

TEST_F(Reader, drops_what_the_sockets_thread_has_met_when_the_connection_goes)
{
    begin();
    ASSERT_TRUE(reader_->grant_lease(stream_, heartbeat_));
    stream_.input = sender(wire_kind::zmtp3).ping();
    EXPECT_TRUE(lease_->read_leased({}).ended);
    reader_->stop_sharing();
    EXPECT_FALSE(stream_.is_released);
    EXPECT_EQ(read(), status::dry);
    EXPECT_EQ(commands_, texts{});
}

TEST_F(Reader, leases_nothing_that_it_must_see_itself)
{
    begin();
    start_heartbeat();
    EXPECT_FALSE(reader_->grant_lease(stream_, heartbeat_));
    options_.conflate = true;
    begin(); // stops the heartbeat
    EXPECT_FALSE(reader_->grant_lease(stream_, heartbeat_));
    options_.conflate = false;
    begin();
    EXPECT_TRUE(reader_->grant_lease(stream_, heartbeat_));
}

TEST_F(Reader, gives_the_newest_message_if_that_is_wanted)
{
    options_.conflate = true;
    begin();
    limit_queue(1);
    stream_.tells_of_more = true;
    stream_.pieces = {sender(wire_kind::zmtp3).frame("old"), sender(wire_kind::zmtp3).frame("new")};
    EXPECT_EQ(read(), status::dry) << "the queue is never full";
    EXPECT_EQ(received(), texts{"new"});
}

TEST_F(Reader, reads_all_that_has_come_beyond_a_full_queue)
{
    begin();
    limit_queue(2);
    for (int i = 0; i < 3 * reads_per_call; ++i)
        stream_.pieces.push_back(sender(wire_kind::zmtp3).frame("a"));
    stream_.ended = true;
    EXPECT_EQ(reader_->read_all(stream_), status::dry) << "also at the end";
    EXPECT_TRUE(stream_.pieces.empty());
    EXPECT_EQ(received().size(), 3u * reads_per_call);
}

TEST_F(Reader, tells_what_is_wrong_also_when_it_reads_all)
{
    begin(wire_kind::zmtp3, types::req);
    stream_.input = sender(wire_kind::zmtp3).frame("no reply");
    EXPECT_EQ(reader_->read_all(stream_), status::violated);
    begin();
    stream_.input.clear();
    stream_.fail_at = 0;
    EXPECT_EQ(reader_->read_all(stream_), status::dry) << "the connection goes anyway";
}

TEST_F(Reader, listens_without_understanding)
{
    begin();
    start_heartbeat();
    heartbeat_.pause(owner_);
    stream_.input = std::string(10, '\xff');
    EXPECT_EQ(reader::listen(stream_, pulse_), status::dry);
    EXPECT_FALSE(heartbeat_.paused());
    EXPECT_TRUE(stream_.input.empty());
    stream_.portion = 1;
    stream_.input = std::string(2 * reads_per_call, '\xff');
    EXPECT_EQ(reader::listen(stream_, pulse_), status::limit_reached);
    EXPECT_EQ(stream_.input.size(), static_cast<std::size_t>(reads_per_call));
    stream_.ended = true;
    EXPECT_EQ(reader::listen(stream_, pulse_), status::limit_reached);
    EXPECT_EQ(reader::listen(stream_, pulse_), status::lost);
    stream_.ended = false;
    stream_.fail_at = 0;
    EXPECT_EQ(reader::listen(stream_, pulse_), status::lost);
}

} // namespace
} // namespace zlink::core
