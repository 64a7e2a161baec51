// SPDX-License-Identifier: Apache-2.0
// Connecting through a SOCKS5 proxy.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/fixture.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "support/raw_peer.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

/// What a client has asked of the proxy.
struct request {
    std::string methods;
    std::string credentials; ///< "name:password", if they were asked for
    std::string address;     ///< type and address as they came
    int port = 0;
};

std::string read_counted(const raw_peer& from)
{
    const std::string count = from.recv_at_most(1);
    return count.empty() ? "" : from.recv_at_most(static_cast<unsigned char>(count[0]));
}

request read_request(const raw_peer& client)
{
    request asked;
    const std::string head = client.recv_at_most(4);
    if (head.size() != 4 || head.substr(0, 3) != "\5\1\0"s)
        return asked;
    asked.address = head.substr(3);
    if (head[3] == 3)
        asked.address += read_counted(client);
    else
        asked.address += client.recv_at_most(head[3] == 1 ? 4 : 16);
    const std::string port = client.recv_at_most(2);
    if (port.size() == 2)
        asked.port =
            static_cast<unsigned char>(port[0]) * 256 + static_cast<unsigned char>(port[1]);
    return asked;
}

/// Carries bytes in both directions until one side ends.
void relay(const raw_peer& a, const raw_peer& b, const std::atomic<bool>& stop)
{
    while (!stop) {
        pollfd items[2] = {{a.fd(), POLLIN, 0}, {b.fd(), POLLIN, 0}};
        ::poll(items, 2, 10);
        for (int side = 0; side < 2; ++side) {
            if (!items[side].revents)
                continue;
            char buffer[4096];
            const ssize_t got = ::recv(items[side].fd, buffer, sizeof buffer, MSG_DONTWAIT);
            if (got <= 0)
                return;
            const int to = items[1 - side].fd;
            if (::send(to, buffer, static_cast<std::size_t>(got), MSG_NOSIGNAL) != got)
                return;
        }
    }
}

/// A SOCKS5 server in a thread of its own that serves one client after the other, each according
/// to the next entry of a script (the last one is repeated).
class proxy {
public:
    enum class manner {
        serve,          ///< without authentication
        ask_who,        ///< with name and password, all accepted
        reject_methods, ///< none suits
        reject_who,     ///< name and password are wrong
        refuse,         ///< the target refused the connection
        refuse_briefly, ///< the same, without the rest of the reply
        talk_garbage,
        stall,   ///< accepts and says nothing
        hang_up, ///< in the middle of a reply
    };

    explicit proxy(std::vector<manner> script)
        : script_(std::move(script)), thread_([this] { run(); })
    {}
    ~proxy()
    {
        stop_ = true;
        thread_.join();
    }
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;

    std::string address() const { return listener_.host_port(); }
    /// The requests so far.
    std::vector<request> requests() const
    {
        std::lock_guard lock(mutex_);
        return requests_;
    }
    std::size_t clients() const { return clients_; }
    /// Where the last client came from, as "host:port".
    std::string last_source() const
    {
        std::lock_guard lock(mutex_);
        return source_;
    }

private:
    void note_source(const raw_peer& client)
    {
        sockaddr_in peer{};
        socklen_t bytes = sizeof peer;
        char text[INET_ADDRSTRLEN] = "";
        ::getpeername(client.fd(), reinterpret_cast<sockaddr*>(&peer), &bytes);
        ::inet_ntop(AF_INET, &peer.sin_addr, text, sizeof text);
        std::lock_guard lock(mutex_);
        source_ = text + (":" + std::to_string(ntohs(peer.sin_port)));
    }

    void run()
    {
        while (!stop_) {
            const auto client = listener_.try_accept(10ms);
            if (!client)
                continue;
            note_source(*client);
            const std::size_t index = clients_++;
            serve(*client, script_[std::min(index, script_.size() - 1)]);
        }
    }

    void serve(const raw_peer& client, manner how)
    {
        if (how == manner::stall) {
            client.recv_at_most(1000, patience);
            return;
        }
        const std::string version = client.recv_at_most(1);
        const std::string methods = version == "\5" ? read_counted(client) : "";
        if (methods.empty())
            return;
        switch (how) {
        case manner::reject_methods:
            return client.send("\5\xff"s);
        case manner::talk_garbage:
            return client.send("HTTP/1.1 400 Bad Request\r\n\r\n");
        case manner::hang_up:
            return client.send("\5");
        default:
            break;
        }
        std::string credentials;
        if (how == manner::ask_who || how == manner::reject_who) {
            client.send("\5\2"s);
            if (client.recv_at_most(1) != "\1")
                return;
            credentials = read_counted(client) + ":";
            credentials += read_counted(client);
            client.send(how == manner::ask_who ? "\1\0"s : "\1\1"s);
        } else {
            client.send("\5\0"s);
        }
        request asked = read_request(client);
        asked.methods = methods;
        asked.credentials = credentials;
        const int port = asked.port;
        {
            std::lock_guard lock(mutex_);
            requests_.push_back(asked);
        }
        if (port == 0)
            return;
        if (how == manner::refuse)
            return client.send("\5\5\0\1\0\0\0\0\0\0"s);
        if (how == manner::refuse_briefly)
            return client.send("\5\5"s);
        const auto target = raw_peer::try_to("tcp://127.0.0.1:" + std::to_string(port));
        if (!target)
            return client.send("\5\5\0\1\0\0\0\0\0\0"s);
        client.send("\5\0\0\3\4some\x12\x34"s);
        relay(client, *target, stop_);
    }

    const raw_listener listener_;
    const std::vector<manner> script_;
    std::atomic<bool> stop_{false};
    std::atomic<std::size_t> clients_{0};
    mutable std::mutex mutex_;
    std::vector<request> requests_;
    std::string source_;
    std::thread thread_;
};

using manner = proxy::manner;

class Socks : public ::testing::Test {
protected:
    Socks()
    {
        source_.set(ZMQ_RECONNECT_IVL, 5);
        target_ = sink_.bind_and_resolve("tcp://127.0.0.1:*");
        port_ = std::stoi(target_.substr(target_.rfind(':') + 1));
    }
    void connect_through(const proxy& via)
    {
        source_.set(ZMQ_SOCKS_PROXY, via.address());
        source_.connect(target_);
    }
    void log_in()
    {
        source_.set(ZMQ_SOCKS_USERNAME, "me");
        source_.set(ZMQ_SOCKS_PASSWORD, "secret");
    }
    void expect_delivery()
    {
        source_.send("through the proxy");
        EXPECT_EQ("through the proxy", sink_.recv());
    }

    test_context context_;
    test_socket sink_{context_, ZMQ_DEALER};
    test_socket source_{context_, ZMQ_DEALER};
    std::string target_;
    int port_ = 0;
};

TEST_F(Socks, messages_go_both_ways)
{
    const proxy via({manner::serve});
    connect_through(via);
    for (int round = 0; round < 20; ++round) {
        expect_delivery();
        sink_.send("back");
        EXPECT_EQ("back", source_.recv());
    }
    ASSERT_EQ(1u, via.requests().size());
    EXPECT_EQ("\0"s, via.requests()[0].methods);
    EXPECT_EQ("\1\x7f\0\0\1"s, via.requests()[0].address);
    EXPECT_EQ(port_, via.requests()[0].port);
    EXPECT_EQ(target_, source_.last_endpoint());
}

TEST_F(Socks, the_proxy_is_connected_to_from_the_given_source)
{
    const std::string exact = known_address(transport::tcp).substr(6);
    for (const auto& [source, begins] : {std::pair<std::string, std::string>{exact, exact},
                                         {"127.0.0.7:0", "127.0.0.7:"},
                                         {"127.0.0.8:*", "127.0.0.8:"},
                                         {"lo:0", "127.0.0.1:"},
                                         {"*:*", "127.0.0.1:"}}) {
        const proxy via({manner::serve});
        test_socket from(context_, ZMQ_DEALER);
        from.set(ZMQ_RECONNECT_IVL, 5);
        from.set(ZMQ_SOCKS_PROXY, source + ";" + via.address());
        from.connect(target_);
        from.send(source);
        EXPECT_EQ(source, sink_.recv());
        EXPECT_EQ(0u, via.last_source().find(begins)) << via.last_source();
        EXPECT_EQ(port_, via.requests().at(0).port);
    }
}

TEST_F(Socks, a_source_that_is_none_is_tried_for_ever)
{
    const proxy via({manner::serve});
    for (const char* source : {"", "127.0.0.1", "x", "x:0", "localhost:0", "[::1]:0",
                               "192.0.2.99:0", "127.0.0.1:0;127.0.0.1:0"}) {
        test_socket from(context_, ZMQ_DEALER);
        from.set(ZMQ_RECONNECT_IVL, 5);
        from.set(ZMQ_SOCKS_PROXY, source + (";" + via.address()));
        EXPECT_EQ(0, zmq_connect(from, target_.c_str())) << source;
        from.send("never sent");
        EXPECT_FALSE(sink_.readable(20ms)) << source;
    }
    EXPECT_EQ(0u, via.clients());
}

TEST_F(Socks, names_are_left_to_the_proxy)
{
    const proxy via({manner::serve});
    target_ = "tcp://nowhere.invalid:" + std::to_string(port_);
    connect_through(via);
    expect_delivery();
    EXPECT_EQ("\3nowhere.invalid", via.requests().at(0).address);
}

TEST_F(Socks, name_and_password_are_given_when_asked_for)
{
    const proxy via({manner::ask_who});
    log_in();
    connect_through(via);
    expect_delivery();
    EXPECT_EQ("\0\2"s, via.requests().at(0).methods);
    EXPECT_EQ("me:secret", via.requests().at(0).credentials);
}

TEST_F(Socks, a_proxy_that_does_not_ask_is_served_too)
{
    const proxy via({manner::serve});
    log_in();
    connect_through(via);
    expect_delivery();
    EXPECT_EQ("", via.requests().at(0).credentials);
}

TEST_F(Socks, every_failure_leads_to_another_try)
{
    const proxy via({manner::reject_methods, manner::reject_who, manner::refuse,
                     manner::refuse_briefly, manner::talk_garbage, manner::hang_up,
                     manner::ask_who});
    log_in();
    connect_through(via);
    expect_delivery();
    EXPECT_EQ(7u, via.clients());
}

TEST_F(Socks, a_failed_exchange_is_told_as_a_closed_connection)
{
    for (const manner how : {manner::reject_methods, manner::reject_who, manner::refuse,
                             manner::refuse_briefly, manner::talk_garbage, manner::hang_up}) {
        const proxy via({how});
        test_socket source(context_, ZMQ_DEALER);
        source.set(ZMQ_RECONNECT_IVL, 5);
        source.set(ZMQ_SOCKS_PROXY, via.address());
        if (how == manner::reject_who) {
            source.set(ZMQ_SOCKS_USERNAME, "me");
            source.set(ZMQ_SOCKS_PASSWORD, "wrong");
        }
        const std::string events = known_address(transport::inproc);
        ASSERT_EQ(0, zmq_socket_monitor(source, events.c_str(), ZMQ_EVENT_ALL));
        test_socket hearer(context_, ZMQ_PAIR);
        hearer.connect(events);
        source.connect(target_);
        for (int round = 0; round < 2; ++round)
            for (const int expected :
                 {ZMQ_EVENT_CONNECT_DELAYED, ZMQ_EVENT_CLOSED, ZMQ_EVENT_CONNECT_RETRIED}) {
                const std::string told = hearer.recv_parts().at(0);
                std::uint16_t event = 0;
                std::int32_t value = 0;
                ASSERT_EQ(sizeof event + sizeof value, told.size());
                std::memcpy(&event, told.data(), sizeof event);
                std::memcpy(&value, told.data() + sizeof event, sizeof value);
                ASSERT_EQ(expected, event) << static_cast<int>(how);
                if (event == ZMQ_EVENT_CLOSED) {
                    EXPECT_LT(2, value); // its descriptor
                }
            }
    }
}

TEST_F(Socks, a_proxy_that_stalls_is_given_up)
{
    const proxy via({manner::stall, manner::stall, manner::serve});
    source_.set(ZMQ_CONNECT_TIMEOUT, 200);
    connect_through(via);
    expect_delivery();
    EXPECT_EQ(3u, via.clients());
}

TEST_F(Socks, a_proxy_that_is_not_there_is_waited_for)
{
    const std::string address = known_address(transport::tcp).substr(6);
    source_.set(ZMQ_SOCKS_PROXY, address);
    source_.connect(target_);
    source_.send("not without the proxy");
    EXPECT_FALSE(sink_.readable(quiet_window));
}

TEST_F(Socks, proxies_that_are_no_addresses_never_serve)
{
    for (const char* bad : {"127.0.0.1", "127.0.0.1:port", ":1080", "x"}) {
        test_socket other(context_, ZMQ_PUSH);
        other.set(ZMQ_RECONNECT_IVL, 5);
        other.set(ZMQ_SOCKS_PROXY, bad);
        EXPECT_EQ(0, zmq_connect(other, target_.c_str())) << bad;
        other.send("x");
        EXPECT_FALSE(sink_.readable(10ms)) << bad;
    }
}

TEST_F(Socks, a_lost_connection_is_made_again_through_the_proxy)
{
    const proxy via({manner::serve});
    connect_through(via);
    for (std::size_t round = 0; round < 3; ++round) {
        ASSERT_TRUE(wait_until([&] {
            source_.try_send("hello?");
            return sink_.readable(2ms);
        }));
        EXPECT_LT(round, via.clients());
        sink_ = test_socket(context_, ZMQ_DEALER);
        ASSERT_TRUE(wait_until([&] { return sink_.try_bind(target_); }));
    }
}

TEST_F(Socks, closing_while_the_proxy_stalls_does_not_wait)
{
    const proxy via({manner::stall});
    connect_through(via);
    ASSERT_TRUE(wait_until([&] { return via.clients() == 1; }));
    source_.close();
    sink_.close();
    context_.term();
}

TEST_F(Socks, only_tcp_goes_through_a_proxy)
{
    source_.set(ZMQ_SOCKS_PROXY, "127.0.0.1:1");
    test_socket local(context_, ZMQ_DEALER);
    source_.connect(local.bind_and_resolve(fresh_bind_address(transport::ipc)));
    source_.send("direct");
    EXPECT_EQ("direct", local.recv());
}

} // namespace
} // namespace zlink::test
