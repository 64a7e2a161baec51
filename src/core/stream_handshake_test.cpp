// SPDX-License-Identifier: Apache-2.0
#include "core/stream_handshake.hpp"

#include "engine/socket_types.hpp"
#include "transport/stream_for_tests.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace zlink::core {
namespace {

namespace types = engine::socket_types;
using kind = stream_handshake::end_kind;

/// One end of a connection in memory that takes and gives few bytes at a time.
class short_stream final : public transport::stream_for_tests {
public:
    transport::io_result read_some(const iovec* buffers, int) noexcept override
    {
        if (input.empty())
            return ended ? transport::io_result{} : transport::io_result{0, EAGAIN};
        const std::size_t bytes = std::min({buffers->iov_len, input.size(), most_bytes});
        std::copy_n(input.begin(), bytes, static_cast<char*>(buffers->iov_base));
        input.erase(0, bytes);
        return {bytes, 0};
    }
    transport::io_result write_some(const iovec* buffers, int) noexcept override
    {
        if (std::exchange(blocked, !blocked))
            return {0, EAGAIN};
        const std::size_t bytes = std::min(buffers->iov_len, most_bytes);
        output.append(static_cast<const char*>(buffers->iov_base), bytes);
        return {bytes, 0};
    }
    void async_wait(transport::direction which, wait_handler handler) override
    {
        wait_handler& waiting = which == transport::direction::read ? reader : writer;
        EXPECT_FALSE(waiting) << "it waits already";
        waiting = std::move(handler);
    }
    /// Calls who waits; false if nobody does.
    bool turn(const transport::error_code& error = {})
    {
        const wait_handler write = std::exchange(writer, nullptr);
        if (write)
            write(error);
        if (input.empty() && !ended && !error)
            return write != nullptr;
        const wait_handler read = std::exchange(reader, nullptr);
        if (read)
            read(error);
        return read || write;
    }

    std::size_t most_bytes = 7;
    bool blocked = false; ///< every other write is
    bool ended = false;
    std::string input;
    std::string output;
    wait_handler reader;
    wait_handler writer;
};

/// A handshake with its stream and what came out of it.
struct side {
    side(boost::asio::io_context& io, int type)
        : handshake(std::make_shared<stream_handshake>(
              io, stream,
              engine::local_peer{.socket_type = type, .routing_id = {}, .properties = {}}))
    {}
    void start(int limit_ms = 0)
    {
        handshake->start(limit_ms, [this](const stream_handshake::ending& how) {
            ++ends;
            ending = how;
            rest.assign(reinterpret_cast<const char*>(how.rest.data()), how.rest.size());
            unsent.assign(reinterpret_cast<const char*>(how.unsent.data()), how.unsent.size());
            handshake.reset();
        });
    }

    short_stream stream;
    std::shared_ptr<stream_handshake> handshake;
    int ends = 0;
    stream_handshake::ending ending{};
    std::string rest;
    std::string unsent;
};

/// Moves bytes until nobody waits for any; returns what `one` has sent.
std::string connect(side& one, side& other)
{
    std::string sent;
    for (bool busy = true; busy;) {
        sent += one.stream.output;
        other.stream.input += std::exchange(one.stream.output, {});
        one.stream.input += std::exchange(other.stream.output, {});
        busy = one.stream.turn();
        busy |= other.stream.turn();
        busy |= !one.stream.output.empty() || !other.stream.output.empty();
    }
    return sent;
}

class StreamHandshake : public ::testing::Test {
protected:
    boost::asio::io_context io_;
};

TEST_F(StreamHandshake, tells_both_sides_who_the_other_is)
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

TEST_F(StreamHandshake, leaves_what_belongs_to_the_traffic)
{
    side push(io_, types::push);
    side pull(io_, types::pull);
    push.start();
    pull.start();
    std::string sent = connect(push, pull);
    ASSERT_EQ(push.ending.kind, kind::succeeded);
    sent += push.unsent + "traffic";

    side other_pull(io_, types::pull);
    other_pull.stream.most_bytes = sent.size();
    other_pull.stream.input = sent;
    other_pull.start();
    while (other_pull.stream.turn()) {
    }
    ASSERT_EQ(other_pull.ends, 1);
    EXPECT_EQ(other_pull.ending.kind, kind::succeeded);
    EXPECT_EQ(other_pull.rest, "traffic");
}

TEST_F(StreamHandshake, is_refused_by_both_sides_that_do_not_fit)
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

TEST_F(StreamHandshake, is_broken_by_the_end_of_the_connection)
{
    side only(io_, types::pair);
    only.stream.ended = true;
    only.start();
    only.stream.turn();
    EXPECT_EQ(only.ends, 1);
    EXPECT_EQ(only.ending.kind, kind::broken);
    EXPECT_EQ(only.ending.error, EPIPE);
}

TEST_F(StreamHandshake, is_broken_by_an_error_of_waiting)
{
    side only(io_, types::pair);
    only.start();
    only.stream.turn({ECONNRESET, boost::system::generic_category()});
    EXPECT_EQ(only.ends, 1);
    EXPECT_EQ(only.ending.kind, kind::broken);
    EXPECT_EQ(only.ending.error, ECONNRESET);
}

TEST_F(StreamHandshake, is_broken_when_the_time_is_over)
{
    side only(io_, types::pair);
    only.start(1);
    io_.run();
    EXPECT_EQ(only.ends, 1);
    EXPECT_EQ(only.ending.kind, kind::broken);
    EXPECT_EQ(only.ending.error, EAGAIN);
}

TEST_F(StreamHandshake, has_no_limit_once_that_is_lifted)
{
    side only(io_, types::pair);
    only.start(1);
    only.handshake->lift_time_limit();
    io_.run();
    EXPECT_EQ(only.ends, 0);
}

TEST_F(StreamHandshake, tells_nothing_once_it_is_stopped)
{
    side only(io_, types::pair);
    only.start(1);
    only.handshake->stop();
    only.stream.turn({ECANCELED, boost::system::generic_category()});
    io_.run();
    EXPECT_EQ(only.ends, 0);
}

} // namespace
} // namespace zlink::core
