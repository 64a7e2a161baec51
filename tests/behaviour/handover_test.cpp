// SPDX-License-Identifier: Apache-2.0
// ROUTER_HANDOVER: what becomes of the connection that had the name, and who is told.
#include "support/draft.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class Handover : public transport_test {
protected:
    Handover()
    {
        router_.set(ZMQ_ROUTER_HANDOVER, 1);
        router_.set(ZMQ_ROUTER_MANDATORY, 1);
        router_.set(ZMQ_RECONNECT_IVL, 5);
        address_ = router_.bind_and_resolve(fresh_bind_address(GetParam()));
    }

    /// One that announces a name.
    test_socket dealer(const std::string& name)
    {
        test_socket socket(context_, ZMQ_DEALER);
        socket.set(ZMQ_ROUTING_ID, name);
        socket.connect(address_);
        return socket;
    }
    /// One that the router connects to, under the name "same".
    test_socket called()
    {
        test_socket socket(context_, ZMQ_DEALER);
        called_ = socket.bind_and_resolve(fresh_bind_address(GetParam()));
        call();
        return socket;
    }
    void call()
    {
        router_.set(ZMQ_CONNECT_ROUTING_ID, "same");
        router_.connect(called_);
    }
    void hear(test_socket& from, const std::string& body)
    {
        from.send(body);
        EXPECT_EQ((parts{"same", body}), router_.recv_parts());
    }
    void expect_owner(test_socket& owner)
    {
        router_.send_parts({"same", "yours"});
        EXPECT_EQ("yours", owner.recv());
    }
    /// After message "0" of an older connection has been received, and as the messages up to "99"
    /// of it have come: they are kept, whoever gets its name.
    void expect_rest_and_newcomer()
    {
        test_socket other = dealer("other");
        other.send("mark"); // the router has the first of them in its hands
        test_socket newcomer = dealer("same");
        newcomer.send("from the newcomer");
        int next = 1;
        int others = 0;
        while (next < 100 || others < 2) {
            const parts message = router_.recv_parts();
            ASSERT_EQ(2u, message.size());
            if (message[1] == "mark" || message[1] == "from the newcomer")
                ++others;
            else
                ASSERT_EQ((parts{"same", std::to_string(next++)}), message);
        }
        expect_owner(newcomer);
    }
    bool is_free()
    {
        const bool refused = zmq_send(router_, "same", 4, ZMQ_SNDMORE | ZMQ_DONTWAIT) == -1;
        if (refused)
            EXPECT_EQ(EHOSTUNREACH, zmq_errno());
        else
            router_.send("ends the message");
        return refused;
    }

    test_socket router_{context_, ZMQ_ROUTER};
    std::string address_;
    std::string called_;
};

TEST_P(Handover, takes_a_name_that_the_router_gave_a_connection_itself)
{
    test_socket older = called();
    hear(older, "from the older one");
    test_socket newcomer = dealer("same");
    hear(newcomer, "from the newcomer");
    expect_owner(newcomer);
    EXPECT_FALSE(older.readable(1ms));
}

TEST_P(Handover, of_a_name_that_the_router_gave_is_refused_unless_set)
{
    router_.set(ZMQ_ROUTER_HANDOVER, 0);
    test_socket older = called();
    hear(older, "from the older one");
    test_socket newcomer = dealer("same");
    newcomer.send("from the newcomer");
    EXPECT_FALSE(router_.readable(quiet_window));
    expect_owner(older);
    EXPECT_FALSE(newcomer.readable(1ms));
}

ZLINK_ALL_TRANSPORTS(Handover);

class ZlinkOnlyHandover : public Handover {};
class ZlinkOnlyHandoverInside : public Handover {};

// libzmq drops what it has not read.
TEST_P(ZlinkOnlyHandoverInside, keeps_what_a_connection_of_the_router_had_brought)
{
    test_socket older = called();
    hear(older, "0");
    for (int index = 1; index < 100; ++index)
        older.send(std::to_string(index));
    expect_rest_and_newcomer();
}

// libzmq ends it, and knows nothing of its endpoint any more.
TEST_P(ZlinkOnlyHandover, leaves_a_connection_of_the_router_open_but_unheard)
{
    test_socket older = called();
    hear(older, "from the older one");
    test_socket newcomer = dealer("same");
    hear(newcomer, "from the newcomer");
    older.send("not heard");
    EXPECT_FALSE(router_.readable(quiet_window));
    expect_owner(newcomer);
    EXPECT_FALSE(older.readable(1ms));
    EXPECT_EQ(0, zmq_disconnect(router_, called_.c_str()));
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(router_, called_.c_str())));
    expect_owner(newcomer);
    newcomer.close();
    ASSERT_TRUE(wait_until([&] { return is_free(); }));
    call();
    hear(older, "heard again");
    expect_owner(older);
}

TEST_P(ZlinkOnlyHandover, does_not_give_the_name_back)
{
    test_socket older = called();
    hear(older, "from the older one");
    test_socket newcomer = dealer("same");
    hear(newcomer, "from the newcomer");
    newcomer.close();
    ASSERT_TRUE(wait_until([&] { return is_free(); }));
    older.send("not heard");
    EXPECT_FALSE(router_.readable(quiet_window));
    EXPECT_TRUE(is_free());
    test_socket third = dealer("same");
    hear(third, "from the third");
    expect_owner(third);
}

ZLINK_ALL_TRANSPORTS(ZlinkOnlyHandover);
ZLINK_LINKS(ZlinkOnlyHandoverInside, std::vector{transport::inproc});

class ZlinkOnlyHandoverOnTheWire : public Handover {};

// libzmq drops what it has not read.
TEST_P(ZlinkOnlyHandoverOnTheWire, keeps_what_a_connection_of_the_router_had_brought)
{
    raw_listener older_listens(GetParam());
    called_ = older_listens.endpoint();
    call();
    const raw_peer older = older_listens.accept();
    zmtp::shake_hands(older, "DEALER");
    older.send(zmtp::frame("0"));
    EXPECT_EQ((parts{"same", "0"}), router_.recv_parts());
    for (int index = 1; index < 100; ++index)
        older.send(zmtp::frame(std::to_string(index)));
    older.send(zmtp::ping());
    EXPECT_EQ(zmtp::pong(), zmtp::recv_frame(older)) << "all before it has been read";
    expect_rest_and_newcomer();
}

ZLINK_LINKS_WITH(ZlinkOnlyHandoverOnTheWire, has_plain_zmtp);

// --- notices ------------------------------------------------------------------------------------

class NoticedHandover : public Handover {
protected:
    NoticedHandover()
    {
        router_.set(ZMQ_ROUTER_NOTIFY, ZMQ_NOTIFY_CONNECT | ZMQ_NOTIFY_DISCONNECT);
        // An endpoint has the options of the time at which it was bound.
        address_ = router_.bind_and_resolve(fresh_bind_address(GetParam()));
    }

    void expect_notice(const std::string& id = "same")
    {
        EXPECT_EQ((parts{id, ""}), router_.recv_parts());
    }
    /// The older connection ends without a word, and that of the newcomer is told.
    void expect_notices_of_the_newcomer(test_socket& older)
    {
        test_socket newcomer = dealer("same");
        expect_notice();
        hear(newcomer, "from the newcomer");
        older.close();
        EXPECT_FALSE(router_.readable(quiet_window));
        expect_owner(newcomer);
        newcomer.close();
        expect_notice();
        EXPECT_TRUE(is_free());
        EXPECT_FALSE(router_.readable(quiet_window));
    }
};

TEST_P(NoticedHandover, tells_when_the_newcomer_comes_and_goes_and_nothing_of_the_older_one)
{
    test_socket older = dealer("same");
    expect_notice();
    hear(older, "from the older one");
    expect_notices_of_the_newcomer(older);
}

TEST_P(NoticedHandover, tells_nothing_of_an_older_connection_of_the_router)
{
    test_socket older = called();
    expect_notice();
    hear(older, "from the older one");
    expect_notices_of_the_newcomer(older);
}

TEST_P(NoticedHandover, tells_nothing_when_the_router_disconnects_the_older_connection)
{
    test_socket older = called();
    expect_notice();
    test_socket newcomer = dealer("same");
    expect_notice();
    router_.disconnect(called_);
    EXPECT_FALSE(router_.readable(quiet_window));
    expect_owner(newcomer);
    newcomer.close();
    expect_notice();
}

ZLINK_WIRE_TRANSPORTS(NoticedHandover);

class HandoverOverWires : public Handover {};

TEST_P(HandoverOverWires, gives_a_connection_that_is_made_again_another_name)
{
    test_socket older = called();
    hear(older, "from the older one");
    test_socket newcomer = dealer("same");
    hear(newcomer, "from the newcomer");
    older.close();
    test_socket again(context_, ZMQ_DEALER);
    ASSERT_TRUE(wait_until([&] { return again.try_bind(called_); }));
    again.send("from elsewhere");
    const parts message = router_.recv_parts();
    ASSERT_EQ(2U, message.size());
    EXPECT_NE("same", message[0]);
    EXPECT_EQ("from elsewhere", message[1]);
    router_.send_parts({message[0], "answer"});
    EXPECT_EQ("answer", again.recv());
    expect_owner(newcomer);
}

ZLINK_WIRE_TRANSPORTS(HandoverOverWires);

} // namespace
} // namespace zlink::test
