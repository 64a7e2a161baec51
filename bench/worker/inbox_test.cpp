// SPDX-License-Identifier: Apache-2.0
#include "worker/inbox.hpp"

#include "worker/outbox.hpp"
#include "worker/zmq_handles.hpp"

#include <gtest/gtest.h>
#include <zmq.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <ostream>
#include <string>

namespace zlink::bench::worker {

/// Read by GoogleTest.
void PrintTo(receive_order order, std::ostream* out)
{
    *out << (order == receive_order::turn ? "turn" : "poll");
}

namespace {

/// PAIR sockets whose one ends send what a test says and whose other ends have an inbox.
class inbox_checks : public testing::TestWithParam<receive_order> {
protected:
    inbox_checks()
    {
        chosen.what.pattern = pattern::to_many_push;
        for (int i = 0; i < 2; ++i) {
            const std::string endpoint = "inproc://" + std::to_string(i);
            receiving.emplace_back(owner, ZMQ_PAIR).bind(endpoint);
            sending.emplace_back(owner, ZMQ_PAIR).connect(endpoint);
        }
    }

    inbox make(arrivals expected, std::size_t parties = 1)
    {
        return {chosen,
                {receiving[0].handle(), receiving[1].handle()},
                {expected, parties, 0, false, GetParam()}};
    }

    void send(std::size_t to, std::uint32_t party, std::uint64_t sequence)
    {
        outbox(chosen).send(sending[to].handle(), {party, sequence});
    }

    settings chosen;
    context owner{1};
    std::deque<socket> receiving;
    std::deque<socket> sending;
};

TEST_P(inbox_checks, takes_what_is_complete)
{
    inbox box = make(arrivals::from_each, 2);
    for (const std::size_t to : {0, 1}) {
        send(to, 0, 0);
        send(to, 1, 0);
        send(to, 1, 1);
    }
    box.receive(6);
    EXPECT_EQ(box.sum_of_sequences(), 2u);
}

TEST_P(inbox_checks, notices_what_is_lost)
{
    inbox box = make(arrivals::from_each);
    send(0, 0, 0);
    send(1, 0, 0);
    send(0, 0, 2);
    EXPECT_THROW(box.receive(3), failure);
}

TEST_P(inbox_checks, notices_what_comes_twice)
{
    inbox box = make(arrivals::shared);
    send(0, 0, 4);
    send(1, 0, 5);
    send(0, 0, 4);
    EXPECT_THROW(box.receive(3), failure);
}

TEST_P(inbox_checks, notices_what_is_for_another)
{
    inbox box = make(arrivals::to_each);
    send(0, 0, 0);
    send(1, 1, 0);
    send(0, 1, 1);
    EXPECT_THROW(box.receive(3), failure);
}

TEST_P(inbox_checks, notices_a_party_that_there_is_not)
{
    inbox box = make(arrivals::from_each, 2);
    send(0, 2, 0);
    EXPECT_THROW(box.receive(1), failure);
}

TEST_P(inbox_checks, notices_a_wrong_size)
{
    inbox box = make(arrivals::from_each);
    chosen.what.size_bytes = 65;
    send(0, 0, 0);
    EXPECT_THROW(box.receive(1), failure);
}

TEST_P(inbox_checks, meets_each_party_once_and_keeps_what_follows)
{
    inbox box = make(arrivals::from_each);
    send(0, 0, probe_sequence_of_many);
    send(0, 0, probe_sequence_of_many);
    send(1, 0, probe_sequence_of_many);
    send(1, 0, 0);
    send(0, 0, 0);
    int met = 0;
    box.meet([&met] { ++met; });
    EXPECT_EQ(met, 2);
    box.receive(2);
}

INSTANTIATE_TEST_SUITE_P(orders, inbox_checks,
                         testing::Values(receive_order::turn, receive_order::poll),
                         [](const auto& info) {
                             return info.param == receive_order::turn ? "turn" : "poll";
                         });

} // namespace
} // namespace zlink::bench::worker
