// SPDX-License-Identifier: Apache-2.0
#include "core/connection/opening.hpp"

#include "core/connection/opening_for_tests.hpp"
#include "engine/handshake/socket_types.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zlink::core {
namespace {

namespace types = engine::socket_types;
using kind = opening::end_kind;
using test::connect;
using side = test::opening_side;

class Opening : public ::testing::Test {
protected:
    boost::asio::io_context io_;
};

TEST_F(Opening, tells_both_sides_who_the_other_is)
{
    side req(io_, types::req);
    side rep(io_, types::rep);
    req.start();
    rep.start();
    connect(req, rep);
    for (const side* each : {&req, &rep}) {
        ASSERT_EQ(each->ends, 1);
        EXPECT_EQ(each->ending.kind, kind::succeeded);
        EXPECT_EQ(each->ending.remote.major, 3);
        EXPECT_EQ(each->rest, "");
    }
    EXPECT_EQ(req.ending.remote.socket_type, types::rep);
    EXPECT_EQ(rep.ending.remote.socket_type, types::req);
}

TEST_F(Opening, leaves_what_belongs_to_the_traffic)
{
    side push(io_, types::push);
    side pull(io_, types::pull);
    push.start();
    pull.start();
    std::string sent = connect(push, pull);
    ASSERT_EQ(push.ending.kind, kind::succeeded);
    sent += push.unsent + "traffic";

    side other_pull(io_, types::pull);
    other_pull.stream.portion = sent.size();
    other_pull.stream.input = sent;
    other_pull.start();
    while (other_pull.stream.call_waiting()) {
    }
    ASSERT_EQ(other_pull.ends, 1);
    EXPECT_EQ(other_pull.ending.kind, kind::succeeded);
    EXPECT_EQ(other_pull.rest, "traffic");
}

TEST_F(Opening, is_refused_by_both_sides_that_do_not_fit)
{
    side one(io_, types::req);
    side other(io_, types::pub);
    one.start();
    other.start();
    connect(one, other);
    EXPECT_EQ(one.ends, 1);
    EXPECT_EQ(one.ending.kind, kind::refused);
    EXPECT_EQ(one.ending.refusal, engine::handshake_error::incompatible_socket_type);
}

// The peer may have said why it has closed the connection. It is not answered where a write has
// failed: what a stream has taken of that is not known, nor how it goes on.
TEST_F(Opening, writes_nothing_after_a_write_has_failed)
{
    side pub(io_, types::pub);
    side fits(io_, types::sub);
    pub.start();
    fits.start();
    const std::string sent = connect(pub, fits) + pub.unsent;

    side req(io_, types::req);
    req.stream.portion = sent.size();
    req.stream.input = sent;
    req.stream.fail_at = 0;
    req.stream.fails_once = true;
    req.start();
    EXPECT_EQ(req.ends, 1);
    EXPECT_EQ(req.ending.kind, kind::refused);
    EXPECT_EQ(req.ending.refusal, engine::handshake_error::incompatible_socket_type);
    EXPECT_EQ(req.stream.attempts, 1u);
    EXPECT_EQ(req.stream.written, "");
}

TEST_F(Opening, is_broken_by_the_end_of_the_connection)
{
    side only(io_, types::pair);
    only.stream.ended = true;
    only.start();
    only.stream.call_waiting();
    EXPECT_EQ(only.ends, 1);
    EXPECT_EQ(only.ending.kind, kind::broken);
    EXPECT_EQ(only.ending.error, EPIPE);
}

TEST_F(Opening, is_broken_by_an_error_of_waiting)
{
    side only(io_, types::pair);
    only.start();
    only.stream.call_waiting({ECONNRESET, boost::system::generic_category()});
    EXPECT_EQ(only.ends, 1);
    EXPECT_EQ(only.ending.kind, kind::broken);
    EXPECT_EQ(only.ending.error, ECONNRESET);
}

TEST_F(Opening, is_broken_when_the_time_is_over)
{
    side only(io_, types::pair);
    only.start(1);
    io_.run();
    EXPECT_EQ(only.ends, 1);
    EXPECT_EQ(only.ending.kind, kind::broken);
    EXPECT_EQ(only.ending.error, EAGAIN);
}

TEST_F(Opening, has_no_limit_once_that_is_lifted)
{
    side only(io_, types::pair);
    only.start(1);
    only.opens->lift_time_limit();
    io_.run();
    EXPECT_EQ(only.ends, 0);
}

TEST_F(Opening, tells_nothing_once_it_is_stopped)
{
    side only(io_, types::pair);
    only.start(1);
    only.opens->stop();
    only.stream.call_waiting({ECANCELED, boost::system::generic_category()});
    io_.run();
    EXPECT_EQ(only.ends, 0);
}

/// Xors what passes; made by an upgrade.
class masked_stream final : public test::memory_stream {
public:
    explicit masked_stream(std::unique_ptr<stream> below) : below_(std::move(below)) {}
    transport::io_result read_some(const iovec* buffers, int count) noexcept override
    {
        const auto result = below_->read_some(buffers, count);
        mask(static_cast<char*>(buffers->iov_base), result.bytes);
        return result;
    }
    transport::io_result write_some(const iovec* buffers, int) noexcept override
    {
        std::string bytes(static_cast<const char*>(buffers->iov_base), buffers->iov_len);
        mask(bytes.data(), bytes.size());
        const iovec masked{bytes.data(), bytes.size()};
        return below_->write_some(&masked, 1);
    }
    void async_wait(transport::direction which, wait_handler handler) override
    {
        below_->async_wait(which, std::move(handler));
    }

private:
    static void mask(char* bytes, std::size_t count) noexcept
    {
        for (std::size_t i = 0; i < count; ++i)
            bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
    }
    std::unique_ptr<stream> below_;
};

/// Says its word and waits for that of the other side; then the stream is masked.
class word_upgrade final : public transport::upgrade {
public:
    struct kind_of {
        std::string own = "hello";
        std::string expected = "hello";
        bool reaches = false;
        bool waits = false; ///< at the end, for resume()
        std::chrono::milliseconds limit{};
    };
    explicit word_upgrade(kind_of how) : how_(std::move(how)) {}
    void start() override { output_ = how_.own; }
    std::span<const std::byte> output() const noexcept override
    {
        return std::as_bytes(std::span(output_));
    }
    void consume_output(std::size_t bytes) noexcept override { output_.erase(0, bytes); }
    std::size_t feed(std::span<const std::byte> bytes) override
    {
        const std::size_t taken = std::min(bytes.size(), how_.expected.size() - input_.size());
        input_.append(reinterpret_cast<const char*>(bytes.data()), taken);
        return taken;
    }
    state current_state() const noexcept override
    {
        if (!how_.expected.starts_with(input_))
            return state::failed;
        if (input_.size() < how_.expected.size())
            return state::running;
        return how_.waits ? state::waiting : state::done;
    }
    void on_resumed(std::function<void()> resumed) override { resumed_ = std::move(resumed); }
    void resume()
    {
        how_.waits = false;
        resumed_();
    }
    bool reaches_peer() const noexcept override { return how_.reaches; }
    std::chrono::milliseconds limit() const noexcept override { return how_.limit; }
    int error() const noexcept override { return ENOTCONN; }
    std::unique_ptr<transport::stream> wrap(std::unique_ptr<transport::stream>&& below,
                                            boost::asio::io_context&) override
    {
        return std::make_unique<masked_stream>(std::move(below));
    }

private:
    kind_of how_;
    std::string output_;
    std::string input_;
    std::function<void()> resumed_;
};

transport::upgrades words(std::initializer_list<word_upgrade::kind_of> kinds)
{
    transport::upgrades list;
    for (const auto& kind : kinds)
        list.push_back(std::make_unique<word_upgrade>(kind));
    return list;
}

TEST_F(Opening, goes_through_any_number_of_upgrades_before_the_handshake)
{
    for (const std::size_t most : {1u, 7u, 1000u}) {
        side one(io_, types::push, words({{}, {"a", "b"}}));
        side other(io_, types::pull, words({{}, {"b", "a"}}));
        for (side* each : {&one, &other})
            each->stream.portion = most;
        one.start();
        other.start();
        connect(one, other);
        for (const side* each : {&one, &other}) {
            ASSERT_EQ(each->ends, 1);
            EXPECT_EQ(each->ending.kind, kind::succeeded);
            EXPECT_EQ(each->ending.remote.major, 3);
            EXPECT_EQ(each->reached, 1);
        }
    }
}

TEST_F(Opening, needs_no_handshake)
{
    side one(io_, -1, words({{}}));
    side other(io_, -1, words({{}}));
    one.start();
    other.start();
    connect(one, other);
    for (const side* each : {&one, &other}) {
        EXPECT_EQ(each->ends, 1);
        EXPECT_EQ(each->ending.kind, kind::succeeded);
    }
}

TEST_F(Opening, hands_on_what_came_behind_an_upgrade)
{
    side one(io_, -1, words({{"", "x"}}));
    one.stream.input = "xrest";
    one.start();
    one.stream.call_waiting();
    EXPECT_EQ(one.ending.kind, kind::succeeded);
    EXPECT_EQ(one.rest, "rest");
}

TEST_F(Opening, reaches_the_peer_by_an_upgrade)
{
    side only(io_, -1, words({{.expected = "ok", .reaches = true}, {"", "."}}));
    only.start();
    EXPECT_EQ(only.reached, 0);
    EXPECT_TRUE(only.opens->is_reaching());
    only.stream.input = "o";
    while (only.stream.call_waiting()) {
    }
    EXPECT_EQ(only.reached, 0);
    only.stream.input = "k";
    while (only.stream.call_waiting()) {
    }
    EXPECT_EQ(only.reached, 1);
    EXPECT_FALSE(only.opens->is_reaching());
    EXPECT_EQ(only.ends, 0);
}

TEST_F(Opening, tells_of_a_peer_that_was_not_reached)
{
    for (const std::string input : {"no", ""}) {
        side only(io_, types::pair, words({{.expected = "ok", .reaches = true}}));
        only.start();
        only.stream.input = input;
        only.stream.ended = input.empty();
        while (!only.ends && only.stream.call_waiting()) {
        }
        EXPECT_EQ(only.ends, 1);
        EXPECT_EQ(only.ending.kind, kind::unreached);
        EXPECT_EQ(only.ending.error, input.empty() ? ECONNRESET : ENOTCONN);
        EXPECT_EQ(only.reached, 0);
    }
}

TEST_F(Opening, gives_up_an_upgrade_that_hangs)
{
    side peer(io_, types::pair, words({{}}));
    peer.start(1);
    side proxy(io_, types::pair, words({{.reaches = true, .limit = std::chrono::milliseconds(1)}}));
    proxy.start(0);
    io_.run();
    EXPECT_EQ(peer.ending.kind, kind::broken);
    EXPECT_EQ(peer.ending.error, EAGAIN);
    EXPECT_EQ(proxy.ending.kind, kind::unreached);
    EXPECT_EQ(proxy.ending.error, ETIMEDOUT);
}

/// Says each byte again, for ever.
class echo_upgrade final : public transport::upgrade {
public:
    void start() override {}
    std::span<const std::byte> output() const noexcept override { return output_; }
    void consume_output(std::size_t bytes) noexcept override
    {
        output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(bytes));
    }
    std::size_t feed(std::span<const std::byte> bytes) override
    {
        output_.insert(output_.end(), bytes.begin(), bytes.end());
        return bytes.size();
    }
    state current_state() const noexcept override { return state::running; }
    int error() const noexcept override { return 0; }

private:
    std::vector<std::byte> output_;
};

TEST_F(Opening, does_not_listen_to_a_peer_that_reads_no_answers)
{
    constexpr std::size_t sent = 1'000'000;
    transport::upgrades list;
    list.push_back(std::make_unique<echo_upgrade>());
    side one(io_, -1, std::move(list));
    one.stream.portion = 1000;
    one.stream.room = 0;
    one.stream.input.assign(sent, 'x');
    one.start();
    for (int i = 0; i < 10'000; ++i)
        one.stream.call_waiting();
    EXPECT_GT(one.stream.input.size(), sent - 100'000);
    EXPECT_FALSE(one.stream.reader);
    one.stream.room = SIZE_MAX;
    while (one.stream.call_waiting()) {
    }
    EXPECT_EQ(one.stream.written, std::string(sent, 'x'));
    EXPECT_EQ(one.ends, 0);
}

TEST_F(Opening, waits_for_an_upgrade_that_waits_for_something_else)
{
    auto list = words({{.waits = true}});
    auto& waiting = static_cast<word_upgrade&>(*list.front());
    side one(io_, -1, std::move(list));
    one.stream.input = "hello and more";
    one.stream.portion = 100;
    one.start();
    while (one.stream.call_waiting()) {
    }
    EXPECT_EQ(one.ends, 0);
    EXPECT_FALSE(one.stream.reader) << "nothing is read meanwhile";
    waiting.resume();
    EXPECT_EQ(one.ends, 1);
    EXPECT_EQ(one.ending.kind, kind::succeeded);
    EXPECT_EQ(one.rest, " and more");
}

/// NULL, but for somebody who has to agree first.
class asking_mechanism final : public engine::mechanism {
public:
    std::string_view name() const noexcept override { return "NULL"; }
    bool as_server() const noexcept override { return false; }
    bool next_command(engine::negotiation& state, std::vector<std::byte>& body) override
    {
        return answered && null_.next_command(state, body);
    }
    engine::handshake_error process_command(engine::negotiation& state,
                                            std::span<const std::byte> body) override
    {
        asked = true;
        return null_.process_command(state, body);
    }
    engine::mechanism_status status() const noexcept override
    {
        return asked && !answered ? engine::mechanism_status::waiting : null_.status();
    }
    void on_resumed(std::function<void()> resumed) override { resumed_ = std::move(resumed); }
    engine::handshake_error error() const noexcept override { return answer; }
    void give(engine::handshake_error with)
    {
        answered = true;
        answer = with;
        resumed_();
    }

    bool asked = false;
    bool answered = false;
    engine::handshake_error answer = engine::handshake_error::none;

private:
    engine::null_mechanism null_;
    std::function<void()> resumed_;
};

TEST_F(Opening, waits_for_a_mechanism_that_has_to_ask_somebody)
{
    for (const auto answer :
         {engine::handshake_error::none, engine::handshake_error::refused_by_peer}) {
        auto security = std::make_unique<asking_mechanism>();
        asking_mechanism& asks = *security;
        side server(io_, types::pull, {}, std::move(security));
        side client(io_, types::push);
        server.start();
        client.start();
        connect(server, client);
        EXPECT_TRUE(asks.asked);
        EXPECT_EQ(server.ends, 0);
        asks.give(answer);
        if (answer == engine::handshake_error::none) {
            server.stream.written += server.unsent;
            connect(server, client);
            EXPECT_EQ(client.ending.kind, kind::succeeded);
            EXPECT_EQ(server.ending.kind, kind::succeeded);
        } else {
            EXPECT_EQ(server.ending.kind, kind::refused);
            EXPECT_EQ(server.ending.refusal, answer);
        }
    }
}

} // namespace
} // namespace zlink::core
