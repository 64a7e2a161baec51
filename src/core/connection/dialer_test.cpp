// SPDX-License-Identifier: Apache-2.0
#include "core/connection/dialer.hpp"

#include "support/memory_stream.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>
#include <zmq.h>

namespace zlink::core {
namespace {

/// Closes one socket before it has a connection, as with a name that has two addresses.
class second_address final : public transport::connect_endpoint {
public:
    std::shared_ptr<transport::connect_attempt> connect(boost::asio::io_context&,
                                                        transport::connect_handler handler) override
    {
        handler.tell(transport::connect_handler::step::closed, 7);
        handler({}, std::make_unique<test::memory_stream>());
        return nullptr;
    }
};

/// Drops the handler of the first attempt, as a transport does that runs out of memory; the next
/// one makes a connection.
class forgetful final : public transport::connect_endpoint {
public:
    explicit forgetful(bool throws) noexcept : throws_(throws) {}
    std::shared_ptr<transport::connect_attempt> connect(boost::asio::io_context&,
                                                        transport::connect_handler handler) override
    {
        if (++attempts_ > 1)
            handler({}, std::make_unique<test::memory_stream>());
        else if (throws_)
            throw std::bad_alloc();
        return nullptr;
    }

private:
    const bool throws_;
    int attempts_ = 0;
};

class Dialer : public ::testing::Test, public dialing_owner {
protected:
    void start() { dialer_->start({std::shared_ptr<void>(), this}); }
    void connected(std::unique_ptr<transport::stream> stream) noexcept override
    {
        told_.emplace_back(stream ? "connected" : "given up");
    }
    void dialing(std::uint64_t event, int value) noexcept override
    {
        told_.push_back((event == ZMQ_EVENT_CLOSED ? "closed " : "other ") + std::to_string(value));
    }
    void dialing_is_stuck() noexcept override { told_.emplace_back("stuck"); }

    boost::asio::io_context io_;
    std::shared_ptr<socket_options> options_ = std::make_shared<socket_options>();
    std::shared_ptr<dialer> dialer_ =
        std::make_shared<dialer>(io_, std::make_shared<second_address>(), options_);
    std::vector<std::string> told_;
};

// Whoever reports events asks the connection for its ends, which that socket never had.
TEST_F(Dialer, tells_of_a_closed_socket_before_there_is_a_connection)
{
    start();
    EXPECT_EQ(told_, (std::vector<std::string>{"closed 7", "connected"}));
    dialer_->succeeded();
    EXPECT_EQ(2u, told_.size());
    dialer_->stop();
}

TEST_F(Dialer, gives_up_a_peer_that_was_not_reached_where_no_other_try_is_wanted)
{
    options_->reconnect_interval_ms = 0;
    start();
    dialer_->unreached(boost::asio::error::connection_refused, 8);
    EXPECT_EQ("given up", told_.back());
    dialer_->stop();
    EXPECT_EQ("closed 8", told_.back()) << "who hears it may connect again";
}

TEST_F(Dialer, tries_again_when_an_attempt_had_no_memory)
{
    for (const bool throws : {false, true}) {
        told_.clear();
        options_->reconnect_interval_ms = 1;
        dialer_ = std::make_shared<dialer>(io_, std::make_shared<forgetful>(throws), options_);
        start();
        EXPECT_EQ("stuck", told_.back());
        dialer_->go_on();
        EXPECT_EQ("other 1", told_.back()) << "the interval";
        dialer_->go_on();
        io_.restart();
        io_.run();
        EXPECT_EQ("connected", told_.back());
        dialer_->stop();
        EXPECT_EQ("connected", told_.back());
    }
}

TEST_F(Dialer, that_has_no_memory_gives_up_where_no_other_try_is_wanted)
{
    options_->reconnect_interval_ms = 0;
    dialer_ = std::make_shared<dialer>(io_, std::make_shared<forgetful>(true), options_);
    start();
    dialer_->go_on();
    EXPECT_EQ("given up", told_.back());
    dialer_->stop();
}

} // namespace
} // namespace zlink::core
