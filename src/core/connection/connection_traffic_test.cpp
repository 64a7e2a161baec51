// SPDX-License-Identifier: Apache-2.0
#include "core/connection/connection_traffic.hpp"

#include "engine/commands/traffic_commands.hpp"
#include "support/memory_stream.hpp"

#include <gtest/gtest.h>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zlink::core {
namespace {

using event = connection_life::event;
using texts = std::vector<std::string>;

std::string text(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A message of one part as it lies on the wire of ZMTP 3.
std::string framed(const std::string& body)
{
    return std::string{'\0', static_cast<char>(body.size())} + body;
}

/// The session is the test, whose I/O thread makes single steps.
class ConnectionTraffic : public ::testing::Test, public traffic_owner {
protected:
    ConnectionTraffic()
    {
        EXPECT_EQ(0, thread_.start(0, {.cpus = {}, .name_prefix = {}, .stepped = true}));
        pipe_->set_connection(*link_, *link_);
        pipe_->set_limits(1000, 1000);
        for (const event each : {event::begin, event::connected, event::reached})
            life_.resume(each);
    }
    ~ConnectionTraffic() override
    {
        if (!traffic_)
            return;
        traffic_->stop();
        traffic_->stop_waiting();
        traffic_->leave_link();
    }

    void connection_lost(bool broke_protocol) override
    {
        if (throws_)
            throw std::bad_alloc();
        told_.push_back(broke_protocol ? "violated" : "lost");
        life_.lose({});
    }
    void output_failed() override
    {
        told_.push_back("cut off");
        life_.resume(event::output_failed);
    }
    void output_written() override { ++writes_; }
    void tell_socket(std::uint32_t) noexcept override {}
    void out_of_memory() noexcept override { told_.push_back("no memory"); }
    std::shared_ptr<void> hold() override { return owner_; }

    void begin(std::string rest = {})
    {
        auto made = std::make_unique<test::memory_stream>();
        made->room = room_;
        stream_ = made.get();
        made_ = std::move(made);
        report_.emplace(events_, made_, true, shared_text("endpoint"));
        traffic_.emplace(thread_.context(), std::make_shared<const socket_options>(options_), life_,
                         *report_, *this);
        traffic_->use(link_);
        opening::ending how{.kind = opening::end_kind::succeeded};
        how.remote.major = 3;
        how.remote.minor = 1;
        how.rest = std::as_bytes(std::span(rest));
        traffic_->begin({how, *stream_, pipe_, false, 0, nullptr}, [this] {
            EXPECT_EQ("", stream_->written) << "the socket is told first";
            life_.resume(event::opened);
            told_.push_back("announced");
        });
        traffic_->run(how);
    }
    void send(const std::string& body) { ASSERT_TRUE(pipe_->out.write(frame_of(body, false))); }
    texts received()
    {
        texts all;
        for (frame part; pipe_->in.peek(part); pipe_->in.pop())
            all.emplace_back(part.text());
        return all;
    }
    /// The I/O thread does what the link is asked for.
    void serve(link::request what)
    {
        link_->ask(what);
        while (thread_.step()) {
        }
    }
    /// More comes, and who waits for it is called.
    void receive(const std::string& bytes)
    {
        stream_->input += bytes;
        stream_->call_waiting();
    }

    runtime::io_thread thread_;
    socket_options options_;
    event_sink events_;
    connection_life life_{true};
    std::shared_ptr<int> owner_ = std::make_shared<int>();
    std::shared_ptr<link> link_ =
        std::make_shared<link>(thread_, std::make_shared<fan_out_writes>(), false);
    std::shared_ptr<pipe_end> pipe_ = std::make_shared<pipe_end>(link_->channels(), true, nullptr);
    std::unique_ptr<transport::stream> made_;
    test::memory_stream* stream_ = nullptr;
    std::size_t room_ = SIZE_MAX;
    std::optional<connection_report> report_;
    std::optional<connection_traffic> traffic_;
    texts told_;
    int writes_ = 0;
    bool throws_ = false;
};

TEST_F(ConnectionTraffic, begins_with_hello_and_ping_ahead_of_what_is_queued)
{
    static constexpr socket_type_traits greeting{.says_hello = true};
    options_.traits = &greeting;
    options_.hello_message = "hello";
    options_.heartbeat = {.interval_ms = 10'000, .timeout_ms = 10'000, .ttl_ms = 700};
    send("message");
    begin();
    std::vector<std::byte> ping;
    engine::append_traffic_command(ping, {engine::traffic_command_kind::ping, {}, 700});
    EXPECT_EQ(framed("hello") + text(ping) + framed("message"), stream_->written);
    EXPECT_EQ(texts{"announced"}, told_);
    EXPECT_TRUE(traffic_->drained());
    EXPECT_TRUE(traffic_->judges_peer());
}

TEST_F(ConnectionTraffic, passes_on_what_came_behind_the_handshake_and_what_comes_later)
{
    begin(framed("early"));
    EXPECT_EQ(texts{"early"}, received());
    receive(framed("later"));
    EXPECT_EQ(texts{"later"}, received());
    EXPECT_EQ(texts{"announced"}, told_);
}

TEST_F(ConnectionTraffic, goes_on_with_a_write_when_the_connection_takes_more)
{
    room_ = 4;
    send("message");
    begin();
    EXPECT_EQ(framed("message").substr(0, 4), stream_->written);
    EXPECT_FALSE(traffic_->drained());
    stream_->room = SIZE_MAX;
    const int before = writes_;
    stream_->call_waiting();
    EXPECT_EQ(framed("message"), stream_->written);
    EXPECT_TRUE(traffic_->drained());
    EXPECT_EQ(before + 1, writes_);
}

TEST_F(ConnectionTraffic, does_what_the_link_is_asked_for)
{
    begin();
    stream_->room = 0;
    send("message");
    EXPECT_EQ("", stream_->written);
    stream_->room = SIZE_MAX;
    serve(link::request::drain);
    EXPECT_EQ(framed("message"), stream_->written);
}

TEST_F(ConnectionTraffic, waits_for_nothing_any_more_once_it_is_told_so)
{
    begin();
    traffic_->stop();
    traffic_->stop_waiting();
    stream_->input = framed("late");
    stream_->call_waiting();
    EXPECT_EQ(texts{}, received());
    EXPECT_EQ(texts{"announced"}, told_);
}

TEST_F(ConnectionTraffic, answers_a_ping)
{
    begin();
    std::vector<std::byte> ping;
    engine::append_traffic_command(ping, {engine::traffic_command_kind::ping, {}, 0});
    std::vector<std::byte> pong;
    engine::append_traffic_command(pong, {engine::traffic_command_kind::pong, {}, 0});
    receive(text(ping));
    EXPECT_EQ(text(pong), stream_->written);
}

TEST_F(ConnectionTraffic, tells_the_end_of_the_connection)
{
    begin();
    stream_->ended = true;
    stream_->call_waiting();
    EXPECT_EQ((texts{"announced", "lost"}), told_);
}

TEST_F(ConnectionTraffic, tells_that_the_peer_breaks_the_protocol)
{
    begin();
    receive("\2" + std::string(8, '\xff')); // longer than any frame
    EXPECT_EQ((texts{"announced", "violated"}), told_);
}

TEST_F(ConnectionTraffic, reads_what_was_sent_before_a_connection_broke)
{
    begin();
    stream_->fail_at = stream_->operations;
    stream_->fails_once = true;
    send("message");
    serve(link::request::drain);
    EXPECT_EQ((texts{"announced", "cut off"}), told_);
    stream_->input = framed("rest");
    traffic_->read_rest();
    EXPECT_EQ(texts{"rest"}, received());
    EXPECT_EQ((texts{"announced", "cut off", "lost"}), told_);
    traffic_->read_rest();
    EXPECT_EQ(3U, told_.size()) << "once";
}

TEST_F(ConnectionTraffic, does_not_read_once_nobody_wants_what_comes)
{
    begin();
    life_.resume(event::close);
    traffic_->input_means_nothing();
    receive(framed("message"));
    EXPECT_EQ(framed("message"), stream_->input);
}

TEST_F(ConnectionTraffic, listens_to_the_peer_it_sends_pings_to_though_nobody_wants_what_comes)
{
    options_.heartbeat = {.interval_ms = 10'000, .timeout_ms = 10'000};
    begin();
    life_.resume(event::close);
    traffic_->input_means_nothing();
    receive(framed("message"));
    EXPECT_EQ("", stream_->input);
    EXPECT_EQ(texts{}, received());
}

TEST_F(ConnectionTraffic, reads_for_the_last_time_what_has_come)
{
    begin();
    stream_->input = framed("last");
    traffic_->read_last();
    EXPECT_EQ(texts{"last"}, received());
    life_.resume(event::close);
    stream_->input = framed("unwanted");
    traffic_->read_last();
    EXPECT_EQ(texts{}, received());
}

// The decoder uses the channel to its end.
TEST_F(ConnectionTraffic, may_be_the_last_to_use_a_link)
{
    begin();
    receive(framed("message").substr(0, 4));
    traffic_->stop();
    traffic_->stop_waiting();
    traffic_->leave_link();
    pipe_.reset();
    const std::weak_ptr<link> watched = std::exchange(link_, nullptr);
    EXPECT_FALSE(watched.expired());
    traffic_.reset();
    EXPECT_TRUE(watched.expired());
}

TEST_F(ConnectionTraffic, tells_that_a_handler_had_no_memory)
{
    begin();
    throws_ = true;
    stream_->ended = true;
    stream_->call_waiting();
    EXPECT_EQ((texts{"announced", "no memory"}), told_);
}

} // namespace
} // namespace zlink::core
