// SPDX-License-Identifier: Apache-2.0
// One publisher with many subscribers: every message is counted at each of them.
#include "support/draft.hpp"
#include "support/much_traffic.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace zlink::test {
namespace {

class FanOut : public transport_test {
protected:
    static constexpr int many = 40;

    void open(int type = ZMQ_PUB, int high_water_mark = 1000)
    {
        publisher_ = test_socket(context_, type);
        publisher_.set(ZMQ_XPUB_NODROP, 1);
        publisher_.set(ZMQ_SNDHWM, high_water_mark);
        address_ = publisher_.bind_and_resolve(fresh_bind_address(GetParam()));
    }

    /// Subscribers that are known to the publisher; nothing is on its way to them.
    void subscribe(int count, int high_water_mark = 1000)
    {
        for (int i = 0; i < count; ++i) {
            test_socket& fresh = subscribers_.emplace_back(context_, ZMQ_SUB);
            fresh.set(ZMQ_RCVHWM, high_water_mark);
            fresh.set(ZMQ_SUBSCRIBE, "");
            fresh.connect(address_);
        }
        for (test_socket& each : subscribers_)
            ASSERT_TRUE(wait_until([&] {
                publisher_.try_send("marker");
                return each.readable(std::chrono::milliseconds(0));
            }));
        // The publisher may have to wait for each of them.
        std::thread sending([this] { publisher_.send("begin"); });
        std::vector<bool> ready(subscribers_.size());
        EXPECT_TRUE(wait_until([&] {
            for (std::size_t i = 0; i < ready.size(); ++i)
                while (!ready[i]) {
                    const auto got = subscribers_[i].try_recv_parts(std::chrono::milliseconds(0));
                    if (!got)
                        break;
                    ready[i] = got->front() == "begin";
                }
            return std::ranges::find(ready, false) == ready.end();
        }));
        sending.join();
    }

    static std::string body(int number, std::size_t bytes = 0)
    {
        std::string text = std::to_string(number) + " ";
        text.resize(std::max(bytes, text.size()), '.');
        return text;
    }

    /// Takes the messages [from, to) at each subscriber, in portions: one that is full may be what
    /// the publisher waits for.
    void expect(int from, int to, std::size_t bytes = 0, int portion = 1)
    {
        for (int begin = from; begin < to; begin += portion)
            for (test_socket& each : subscribers_)
                for (int number = begin; number < std::min(begin + portion, to); ++number)
                    ASSERT_EQ(body(number, bytes), each.recv());
    }

    test_socket publisher_;
    std::vector<test_socket> subscribers_;
    std::string address_;
};

// The publisher does nothing at all after its last message.
TEST_P(FanOut, the_end_of_a_burst_arrives_without_another_call)
{
    open();
    subscribe(many);
    int number = 0;
    for (const int burst : {1, 1, 2, 3, 10, 100, 900, 1, 300, 1, 1}) {
        for (int i = 0; i < burst; ++i)
            publisher_.send(body(number + i));
        expect(number, number + burst, 0, burst);
        number += burst;
    }
}

TEST_P(FanOut, few_subscribers_get_the_end_of_a_burst_too)
{
    open();
    int number = 0;
    for (int more = 0; more < 6; ++more) {
        subscribe(1);
        for (const int burst : {1, 2, 500, 1}) {
            for (int i = 0; i < burst; ++i)
                publisher_.send(body(number + i));
            expect(number, number + burst, 0, burst);
            number += burst;
        }
    }
}

TEST_P(FanOut, nothing_is_lost_with_a_small_high_water_mark)
{
    constexpr int count = 500;
    open(ZMQ_PUB, 2);
    subscribe(many, 2);
    std::thread sending([this] {
        for (int number = 0; number < count; ++number)
            publisher_.send(body(number, 200));
    });
    expect(0, count, 200);
    sending.join();
}

TEST_P(FanOut, nothing_is_lost_of_a_long_stream)
{
    constexpr int count = 20'000;
    open();
    subscribe(8);
    std::thread sending([this] {
        for (int number = 0; number < count; ++number)
            publisher_.send(body(number, 64));
    });
    expect(0, count, 64, 500);
    sending.join();
}

// Small messages to all share memory; what differs between the subscribers lies between them.
TEST_P(FanOut, messages_to_all_and_to_some_keep_their_order)
{
    constexpr int count = 400;
    open(ZMQ_XPUB);
    for (int i = 0; i < many; ++i) {
        test_socket& fresh = subscribers_.emplace_back(context_, ZMQ_SUB);
        fresh.set(ZMQ_SUBSCRIBE, "all");
        fresh.set(ZMQ_SUBSCRIBE, "one" + std::to_string(i) + ".");
        fresh.connect(address_);
    }
    // Each topic of its own is new, the common one only once.
    for (int i = 0; i < many + 1; ++i)
        publisher_.recv();
    for (test_socket& each : subscribers_)
        publish_until_received(publisher_, each, "all marker");
    const std::string large(10'000, 'L');
    const std::string medium(3'000, 'M');
    for (int number = 0; number < count; ++number) {
        const std::string own = "one" + std::to_string(number % many) + ".";
        publisher_.send("all " + body(number));
        publisher_.send(own + body(number));
        if (number % 5 == 0)
            publisher_.send_parts({"all parts", body(number), "", large});
        if (number % 7 == 0)
            publisher_.send("all " + medium);
        if (number % 11 == 0)
            publisher_.send(own + large);
    }
    publisher_.send("all end");
    for (int i = 0; i < many; ++i) {
        test_socket& each = subscribers_[static_cast<std::size_t>(i)];
        parts message = each.recv_parts();
        while (message.front().starts_with("all marker"))
            message = each.recv_parts();
        const std::string own = "one" + std::to_string(i) + ".";
        const auto expect_next = [&](const parts& expected) {
            ASSERT_EQ(expected, message);
            message = each.recv_parts();
        };
        for (int number = 0; number < count; ++number) {
            const bool mine = number % many == i;
            expect_next({"all " + body(number)});
            if (mine)
                expect_next({own + body(number)});
            if (number % 5 == 0)
                expect_next({"all parts", body(number), "", large});
            if (number % 7 == 0)
                expect_next({"all " + medium});
            if (mine && number % 11 == 0)
                expect_next({own + large});
        }
        EXPECT_EQ(parts{"all end"}, message);
    }
}

TEST_P(FanOut, subscribers_that_leave_do_not_disturb_the_others)
{
    constexpr int count = 3000;
    open(ZMQ_PUB, 50);
    subscribe(many, 50);
    std::vector<test_socket> leaving;
    for (int i = 0; i < many / 2; ++i) {
        leaving.push_back(std::move(subscribers_.back()));
        subscribers_.pop_back();
    }
    std::thread sending([this] {
        for (int number = 0; number < count; ++number)
            publisher_.send(body(number));
    });
    // Each of them has read less than the one before when it goes.
    std::thread going([&] {
        for (int left = 40; !leaving.empty(); --left) {
            for (int i = 0; i < left; ++i)
                leaving.back().recv();
            leaving.pop_back();
        }
    });
    expect(0, count, 0, 20);
    going.join();
    sending.join();
}

TEST_P(FanOut, subscribers_may_come_and_go_all_the_time)
{
    open(ZMQ_PUB, 10);
    subscribe(8, 10);
    std::atomic<bool> stop{false};
    int sent = 0;
    std::thread sending([&] {
        while (!stop || sent < 1000)
            publisher_.send(body(sent++));
        publisher_.send("end");
    });
    std::thread visiting([&] {
        for (int i = 0; i < 100; ++i) {
            test_socket visitor(context_, ZMQ_SUB);
            visitor.set(ZMQ_SUBSCRIBE, "");
            visitor.connect(address_);
            visitor.recv();
        }
        stop = true;
    });
    bool ended = false;
    for (int number = 0; !ended; ++number)
        for (test_socket& each : subscribers_) {
            const std::string got = each.recv();
            ended = got == "end";
            if (!ended) {
                ASSERT_EQ(body(number), got);
            }
        }
    visiting.join();
    sending.join();
}

TEST_P(FanOut, what_was_published_before_the_end_arrives)
{
    constexpr int count = 900;
    open();
    publisher_.set(ZMQ_LINGER, -1);
    subscribe(many);
    for (int number = 0; number < count; ++number)
        publisher_.send(body(number, 300));
    publisher_.close();
    expect(0, count, 300, count);
}

// Messages for it are dropped; the exact figures are those of zlink_bench --idle-subscribers.
TEST_P(FanOut, is_not_slowed_down_by_a_subscriber_that_does_not_read)
{
    constexpr int others = 10;
    constexpr int bursts = 100;
    constexpr int burst = 100;
    open();
    publisher_.set(ZMQ_XPUB_NODROP, 0);
    const auto publish_all = [&] {
        const stopwatch clock;
        for (int number = 0; number < bursts * burst; ++number) {
            publisher_.send(body(number, 1024));
            if (number % burst != burst - 1)
                continue;
            for (test_socket& each : subscribers_)
                for (int expected = number - burst + 1; expected <= number; ++expected)
                    EXPECT_EQ(body(expected, 1024), each.recv());
        }
        return clock.elapsed_ms();
    };
    subscribe(others);
    const long alone_ms = publish_all();
    subscribers_.clear();

    test_socket idle(context_, ZMQ_SUB);
    idle.set(ZMQ_SUBSCRIBE, "");
    idle.set(ZMQ_RCVBUF, 100'000); // else the kernel may let its buffer grow to hold it all
    idle.connect(address_);
    ASSERT_TRUE(wait_until([&] {
        publisher_.send("marker");
        return idle.readable(std::chrono::milliseconds(1));
    }));
    subscribe(others);
    EXPECT_GT(3 * alone_ms + 1000, publish_all());
    int kept = 0;
    while (idle.try_recv_parts())
        ++kept;
    EXPECT_GT(bursts * burst, kept) << "it was to be full";
}

ZLINK_LINKS(FanOut, links_for_much_traffic());

class RadioFanOut : public transport_test {};

TEST_P(RadioFanOut, every_dish_gets_every_message)
{
    constexpr int many = 20;
    test_socket radio(context_, ZMQ_RADIO);
    radio.set(ZMQ_XPUB_NODROP, 1);
    const std::string address = radio.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<test_socket> dishes;
    for (int i = 0; i < many; ++i) {
        test_socket& fresh = dishes.emplace_back(context_, ZMQ_DISH);
        ASSERT_EQ(0, zmq_join(fresh, "group"));
        fresh.connect(address);
    }
    for (test_socket& each : dishes)
        ASSERT_TRUE(wait_until([&] {
            send_in(radio, "group", "marker");
            return each.readable(std::chrono::milliseconds(1));
        }));
    send_in(radio, "group", "begin");
    for (test_socket& each : dishes)
        while (each.recv() != "begin") {
        }
    int number = 0;
    for (const int burst : {1, 2, 900, 1, 10}) {
        for (int i = 0; i < burst; ++i)
            send_in(radio, "group", std::to_string(number + i));
        for (test_socket& each : dishes)
            for (int i = 0; i < burst; ++i) {
                draft_message message;
                receive(each, message);
                ASSERT_EQ(std::to_string(number + i), message.body());
                ASSERT_EQ("group", message.group());
            }
        number += burst;
    }
}

ZLINK_LINKS(RadioFanOut, links_for_much_traffic());

} // namespace
} // namespace zlink::test
