// SPDX-License-Identifier: Apache-2.0
#include "core/connection/dialer.hpp"

#include "support/memory_stream.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <memory>
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

class Dialer : public ::testing::Test {
protected:
    void start()
    {
        dialer_->start(
            [this](std::unique_ptr<transport::stream> stream) {
                told_.emplace_back(stream ? "connected" : "given up");
            },
            [this](std::uint64_t event, int value) {
                told_.push_back((event == ZMQ_EVENT_CLOSED ? "closed " : "other ") +
                                std::to_string(value));
            });
    }

    boost::asio::io_context io_;
    transport_row row_{nullptr};
    std::shared_ptr<socket_options> options_ = std::make_shared<socket_options>();
    std::shared_ptr<dialer> dialer_ =
        std::make_shared<dialer>(io_, row_, std::make_shared<second_address>(), options_);
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

} // namespace
} // namespace zlink::core
