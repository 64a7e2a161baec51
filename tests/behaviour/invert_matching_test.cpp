// SPDX-License-Identifier: Apache-2.0
// ZMQ_INVERT_MATCHING in a proxy, and together with other options of publishers.
#include "support/running_proxy.hpp"
#include "support/xpub.hpp"

#include <vector>

namespace zlink::test {
namespace {

/// Takes these messages, and nothing else comes.
void expect_only(test_socket& socket, const std::vector<parts>& messages)
{
    for (const parts& message : messages)
        EXPECT_EQ(message, socket.recv_parts());
    EXPECT_FALSE(socket.readable(quiet_window));
}

// --- a proxy ------------------------------------------------------------------------------------

/// A publisher, a proxy of XSUB and XPUB behind it, and two subscribers, to "a" and to "b". Where
/// the proxy inverts, so do those that it is connected to.
class InvertingProxy : public transport_test {
protected:
    ~InvertingProxy() override
    {
        zmq_ctx_shutdown(context_);
        if (ended_.valid())
            ended_.wait();
    }

    void start(bool towards_publisher, bool towards_subscribers)
    {
        for (test_socket* const socket : {&front_, &publisher_})
            socket->set(ZMQ_INVERT_MATCHING, towards_publisher);
        for (test_socket* const socket : {&back_, &to_a_, &to_b_})
            socket->set(ZMQ_INVERT_MATCHING, towards_subscribers);
        publisher_.connect(front_.bind_and_resolve(fresh_bind_address(GetParam())));
        const std::string address = back_.bind_and_resolve(fresh_bind_address(GetParam()));
        // A proxy waits for its peers for ever.
        for (test_socket* const socket : {&front_, &back_})
            for (const int time_out : {ZMQ_SNDTIMEO, ZMQ_RCVTIMEO})
                socket->set(time_out, -1);
        ended_ = proxy_that_closes(front_, back_);
        for (const auto& [socket, topic] : {std::pair{&to_a_, "a"}, {&to_b_, "b"}}) {
            socket->connect(address);
            socket->set(ZMQ_SUBSCRIBE, topic);
            EXPECT_EQ(subscribe(topic), publisher_.recv());
        }
    }
    void publish_all()
    {
        publisher_.send_parts({"a", "part"});
        publisher_.send("b");
        publisher_.send("c");
    }
    void cancel_a()
    {
        to_a_.set(ZMQ_UNSUBSCRIBE, "a");
        EXPECT_EQ(cancel("a"), publisher_.recv());
    }
    void close_b()
    {
        to_b_.close();
        EXPECT_EQ(cancel("b"), publisher_.recv());
    }

    test_socket publisher_{context_, ZMQ_XPUB};
    test_socket to_a_{context_, ZMQ_SUB};
    test_socket to_b_{context_, ZMQ_SUB};

private:
    test_socket front_{context_, ZMQ_XSUB};
    test_socket back_{context_, ZMQ_XPUB};
    std::future<int> ended_;
};

const parts a{"a", "part"};
const parts b{"b"};
const parts c{"c"};

TEST_P(InvertingProxy, that_inverts_nothing_passes_what_was_asked_for)
{
    start(false, false);
    publish_all();
    expect_only(to_a_, {a});
    expect_only(to_b_, {b});
    cancel_a();
    publish_all();
    expect_only(to_b_, {b});
    expect_only(to_a_, {});
}

TEST_P(InvertingProxy, towards_subscribers_passes_what_others_asked_for)
{
    start(false, true);
    publish_all();
    expect_only(to_a_, {b});
    expect_only(to_b_, {a});
    close_b();
    publish_all();
    expect_only(to_a_, {});
}

TEST_P(InvertingProxy, towards_the_publisher_gets_only_what_nobody_asked_for)
{
    start(true, false);
    publish_all();
    expect_only(to_a_, {});
    expect_only(to_b_, {});
    cancel_a();
    publish_all();
    expect_only(to_a_, {});
    expect_only(to_b_, {});
}

TEST_P(InvertingProxy, on_both_sides_passes_what_nobody_asked_for)
{
    start(true, true);
    publish_all();
    expect_only(to_a_, {c});
    expect_only(to_b_, {c});
    cancel_a();
    publish_all();
    expect_only(to_a_, {a, c});
    expect_only(to_b_, {a, c});
    close_b();
    publish_all();
    expect_only(to_a_, {a, b, c});
}

ZLINK_ALL_TRANSPORTS(InvertingProxy);

// --- a publisher --------------------------------------------------------------------------------

class InvertingPublisher : public xpub_test {
protected:
    InvertingPublisher() { publisher_.set(ZMQ_INVERT_MATCHING, 1); }
};

TEST_P(InvertingPublisher, that_drops_nothing_waits_only_for_those_who_get_the_message)
{
    publisher_.set(ZMQ_XPUB_NODROP, 1);
    publisher_.set(ZMQ_SNDHWM, 2);
    // The kernel may take a little more now and then though nobody reads.
    publisher_.set(ZMQ_SNDTIMEO, 400);
    const std::string wanted = "wanted" + std::string(1'000'000, '.');
    test_socket full(context_, ZMQ_SUB);
    full.set(ZMQ_INVERT_MATCHING, 1);
    full.set(ZMQ_RCVHWM, 2);
    full.set(ZMQ_SUBSCRIBE, "un");
    full.connect(address_);
    EXPECT_EQ(subscribe("un"), publisher_.recv());
    int sent = 0;
    while (zmq_send(publisher_, wanted.data(), wanted.size(), 0) != -1)
        ++sent;
    EXPECT_EQ(EAGAIN, zmq_errno());
    EXPECT_TRUE(publisher_.try_send("unwanted"));
    EXPECT_FALSE(publisher_.try_send(wanted));
    EXPECT_TRUE(publisher_.try_send("unwanted"));
    for (int index = 0; index < sent; ++index)
        ASSERT_TRUE(wanted == full.recv()) << index;
    publisher_.send("and another");
    EXPECT_EQ("and another", full.recv());
}

TEST_P(InvertingPublisher, in_manual_mode_withholds_what_it_has_granted_itself)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    test_socket socket = subscriber(ZMQ_XSUB);
    socket.send(subscribe("asked"));
    EXPECT_EQ(subscribe("asked"), publisher_.recv());
    publisher_.send("asked, and not granted");
    EXPECT_EQ("asked, and not granted", socket.recv());
    publisher_.set(ZMQ_SUBSCRIBE, "given");
    publisher_.send("given");
    publisher_.send("asked");
    EXPECT_EQ("asked", socket.recv());
    publisher_.set(ZMQ_UNSUBSCRIBE, "given");
    publisher_.send("given no more");
    EXPECT_EQ("given no more", socket.recv());
    socket.close();
    EXPECT_EQ(cancel("asked"), publisher_.recv());
}

ZLINK_ALL_TRANSPORTS(InvertingPublisher);

} // namespace
} // namespace zlink::test
