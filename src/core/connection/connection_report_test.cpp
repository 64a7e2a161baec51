// SPDX-License-Identifier: Apache-2.0
#include "core/connection/connection_report.hpp"

#include "support/memory_stream.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>
#include <zmq.h>

namespace zlink::core {
namespace {

using engine::failure_event;

class ConnectionReport : public ::testing::Test, public event_listener {
protected:
    ConnectionReport()
    {
        sink_.start(std::shared_ptr<event_listener>(this, [](auto*) {}), all_);
    }
    ~ConnectionReport() override { sink_.stop(); }

    void on_event(const monitor_event& event) override
    {
        told_.push_back(std::to_string(event.id) + " " + std::to_string(event.value.at[0]) +
                        (event.own == monitor_event::side::bound ? " bound " : " connected ") +
                        std::string(event.local) + " " + std::string(event.remote));
    }
    void end() noexcept override {}

    void connect(int descriptor)
    {
        auto made = std::make_unique<test::memory_stream>();
        made->facts.descriptor = descriptor;
        made->facts.local_endpoint = "here";
        made->facts.remote_endpoint = "there";
        stream_ = std::move(made);
    }
    void change_remote(const char* endpoint)
    {
        static_cast<test::memory_stream&>(*stream_).facts.remote_endpoint = endpoint;
    }
    std::string disconnected(const std::string& rest)
    {
        return std::to_string(ZMQ_EVENT_DISCONNECTED) + " " + rest;
    }

    const std::uint64_t all_ = ZMQ_EVENT_ALL;
    event_sink sink_;
    std::unique_ptr<transport::stream> stream_;
    std::vector<std::string> told_;
    connection_report accepted_{sink_, stream_, true, shared_text("bound")};
    connection_report connected_{sink_, stream_, false, shared_text("peer")};
};

TEST_F(ConnectionReport, names_both_ends_each_as_its_side_knows_them)
{
    connect(7);
    accepted_.tell(ZMQ_EVENT_DISCONNECTED, 7);
    connected_.tell(ZMQ_EVENT_DISCONNECTED, 7);
    EXPECT_EQ(
        (std::vector{disconnected("7 bound bound there"), disconnected("7 connected here peer")}),
        told_);
}

TEST_F(ConnectionReport, tells_what_happens_without_a_connection)
{
    connected_.tell(ZMQ_EVENT_DISCONNECTED, 1);
    EXPECT_EQ(std::vector{disconnected("1 connected  peer")}, told_);
}

TEST_F(ConnectionReport, keeps_what_it_knows_until_it_may_forget_it)
{
    connect(7);
    EXPECT_EQ("there", accepted_.facts().remote_endpoint);
    change_remote("elsewhere");
    accepted_.forget_unless_monitored();
    EXPECT_EQ("there", accepted_.facts().remote_endpoint) << "a monitor may want it";
    accepted_.forget_facts();
    EXPECT_EQ("elsewhere", accepted_.facts().remote_endpoint);
    sink_.stop();
    change_remote("nowhere");
    accepted_.forget_unless_monitored();
    EXPECT_EQ("nowhere", accepted_.facts().remote_endpoint);
}

TEST_F(ConnectionReport, knows_the_descriptor_beyond_the_end_of_the_connection)
{
    EXPECT_EQ(-1, connected_.descriptor());
    connect(7);
    connected_.note_descriptor();
    connected_.forget_facts();
    stream_.reset();
    EXPECT_EQ(7, connected_.descriptor());
}

TEST_F(ConnectionReport, tells_why_a_handshake_has_failed)
{
    using kind = failure_event::kind;
    for (const auto what : {kind::none, kind::no_detail, kind::protocol, kind::denied})
        accepted_.tell_failure({what, 9});
    const std::string rest = " 9 bound bound ";
    EXPECT_EQ((std::vector{std::to_string(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) + rest,
                           std::to_string(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) + rest,
                           std::to_string(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) + rest}),
              told_);
}

TEST_F(ConnectionReport, tells_nothing_once_it_is_stopped)
{
    connect(7);
    accepted_.stop();
    accepted_.tell(ZMQ_EVENT_DISCONNECTED, 7);
    accepted_.forget_unless_monitored();
    EXPECT_TRUE(told_.empty());
}

} // namespace
} // namespace zlink::core
