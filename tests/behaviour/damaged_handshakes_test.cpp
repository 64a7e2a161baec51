// SPDX-License-Identifier: Apache-2.0
// What somebody on the way does to the handshakes of CURVE and PLAIN: who sees it tells of it,
// nobody is admitted by it, and an honest connection works afterwards.
#include "support/relayed.hpp"
#include "support/zmtp.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr std::uint64_t unexpected_command = ZMQ_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND;
constexpr std::uint64_t malformed_command = ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_UNSPECIFIED;
constexpr std::uint64_t malformed_hello = ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_HELLO;
constexpr std::uint64_t malformed_welcome = ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_WELCOME;
constexpr std::uint64_t malformed_initiate = ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_INITIATE;
constexpr std::uint64_t malformed_ready = ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_READY;
constexpr std::uint64_t cryptographic = ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC;

/// A command of the handshake, by its direction and number.
struct command {
    const char* name;
    frame_relay::direction way;
    std::size_t number;
};
constexpr command hello{"HELLO", frame_relay::direction::to_server, 0};
constexpr command welcome{"WELCOME", frame_relay::direction::to_client, 0};
constexpr command initiate{"INITIATE", frame_relay::direction::to_server, 1};
constexpr command ready{"READY", frame_relay::direction::to_client, 1};

class handshake_test : public relayed_test {
protected:
    using change = std::function<passed(const std::string&)>;

    static bool comes_to(const frame& at, const command& which)
    {
        return at.way == which.way && at.number == which.number;
    }
    /// A client whose next handshake has this command changed, and no other.
    void connect_changed(const command& which, change how)
    {
        relay_->set([which, how = std::move(how), done = false](const frame& at) mutable {
            if (!comes_to(at, which) || std::exchange(done, true))
                return passed(at.bytes);
            return how(at.bytes);
        });
        client_ = make_client("relayed");
        at_client_.emplace(context_, client_, events | ZMQ_EVENT_CONNECT_RETRIED);
        client_.connect(relay_->endpoint());
    }
    std::string recorded(const command& which)
    {
        std::string bytes;
        connect_changed(which, [&](const std::string& frame) { return bytes = frame; });
        at_client_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        at_server_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        leave();
        return bytes;
    }
    void leave()
    {
        relay_->set({});
        client_.close();
        at_client_.reset();
        at_server_->expect(ZMQ_EVENT_DISCONNECTED);
    }
    static void expect_value(listening_post& post, std::uint64_t event, std::uint64_t value)
    {
        EXPECT_EQ(value, post.expect(event).values.at(0));
    }
    /// The other side has gone.
    static void expect_left(listening_post& post)
    {
        const told failed = post.expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
        EXPECT_TRUE(failed.values.at(0) == EPIPE || failed.values.at(0) == ECONNRESET);
    }
    void expect_another_connection()
    {
        at_client_->expect(ZMQ_EVENT_DISCONNECTED);
        at_client_->expect(ZMQ_EVENT_CONNECT_RETRIED);
        at_client_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        at_server_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        expect_health("the next");
        leave();
    }
    void refused_by_server(std::uint64_t code)
    {
        expect_value(*at_server_, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, code);
        at_server_->expect(ZMQ_EVENT_DISCONNECTED);
        expect_left(*at_client_);
        expect_another_connection();
    }
    /// @param admitted the server has done its part by then
    void left_by_client(bool admitted)
    {
        if (admitted)
            at_server_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        else
            expect_left(*at_server_);
        at_server_->expect(ZMQ_EVENT_DISCONNECTED);
    }
    void refused_by_client(std::uint64_t code, bool admitted)
    {
        expect_value(*at_client_, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, code);
        left_by_client(admitted);
        expect_another_connection();
    }
    /// As given_up_by_client(), when the client may have sent its INITIATE before.
    void given_up_after_initiate(std::uint64_t code)
    {
        expect_value(*at_client_, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, code);
        at_client_->expect(ZMQ_EVENT_DISCONNECTED);
        const std::uint64_t first = at_server_->next().event;
        EXPECT_TRUE(first == ZMQ_EVENT_HANDSHAKE_SUCCEEDED ||
                    first == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
            << first;
        at_server_->expect(ZMQ_EVENT_DISCONNECTED);
        EXPECT_FALSE(at_client_->socket().readable(0ms));
        connect_again();
    }
    /// What the server breaks the protocol with ends the attempts of the client.
    void given_up_by_client(std::uint64_t code, bool admitted)
    {
        expect_value(*at_client_, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, code);
        at_client_->expect(ZMQ_EVENT_DISCONNECTED);
        left_by_client(admitted);
        EXPECT_FALSE(at_client_->socket().readable(0ms));
        connect_again();
    }
    void connect_again()
    {
        client_.connect(relay_->endpoint());
        at_client_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        at_server_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        expect_health("the next");
        leave();
    }
    void not_noticed()
    {
        at_client_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        at_server_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        expect_health("this one");
        leave();
    }
    /// Handshakes that get stuck end soon.
    void limit_handshakes()
    {
        const auto limited = [](const configuration& configure) {
            return [configure](test_socket& socket) {
                configure(socket);
                socket.set(ZMQ_HANDSHAKE_IVL, 600);
            };
        };
        configure_client_ = limited(configure_client_);
    }
    /// The client has waited in vain.
    void given_up_waiting(bool admitted = false)
    {
        expect_value(*at_client_, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EAGAIN);
        left_by_client(admitted);
        expect_another_connection();
    }
};

class DamagedCurve : public handshake_test {
protected:
    void SetUp() override
    {
        if (!zmq_has("curve"))
            GTEST_SKIP() << "the library has no CURVE";
        begin(curve_server(), curve_client());
        at_server_.emplace(context_, server_, events);
    }
    /// Each byte over tcp, some over ipc, where nothing is different but the stream.
    std::size_t stride() const { return GetParam() == transport::tcp ? 1 : 7; }

    template <class Expect>
    void flip_each(const command& which, std::size_t from, std::size_t to, const Expect& expect)
    {
        for (std::size_t at = from; at < to && !HasFailure(); at += stride()) {
            SCOPED_TRACE(which.name + " byte "s + std::to_string(at));
            connect_changed(which, [&](const std::string& f) { return flipped(f, at, 0x10); });
            expect();
        }
    }
};

ZLINK_LINKS_WITH(DamagedCurve, has_plain_zmtp);

/// With libzmq a client that has given up does not connect to the same endpoint again, and some
/// faults have other codes.
class ZlinkOnlyDamagedCurve : public DamagedCurve {};

ZLINK_LINKS_WITH(ZlinkOnlyDamagedCurve, has_plain_zmtp);

// --- a byte has changed: behind a head of 2 bytes, or 9 (INITIATE)

TEST_P(DamagedCurve, hello_is_refused_by_the_server)
{
    const auto expect = [&](std::uint64_t code) { return [=, this] { refused_by_server(code); }; };
    flip_each(hello, 2, 3, expect(unexpected_command)); // a name of 21 characters
    flip_each(hello, 3, 8, expect(unexpected_command));
    flip_each(hello, 8, 10, expect(malformed_hello)); // its version
    flip_each(hello, 82, 202, expect(cryptographic));
}

TEST_P(DamagedCurve, padding_of_hello_says_nothing)
{
    for (const std::size_t at : {10U, 40U, 81U}) {
        connect_changed(hello, [&](const std::string& f) { return flipped(f, at, 0x10); });
        not_noticed();
    }
}

TEST_P(ZlinkOnlyDamagedCurve, welcome_is_refused_by_the_client)
{
    flip_each(welcome, 2, 10, [&] { given_up_by_client(unexpected_command, false); });
    flip_each(welcome, 10, 170, [&] { refused_by_client(cryptographic, false); });
}

TEST_P(DamagedCurve, initiate_is_refused_by_the_server)
{
    const std::size_t bytes = recorded(initiate).size();
    ASSERT_GT(bytes, 9U + 257U);
    flip_each(initiate, 9, 18, [&] { refused_by_server(unexpected_command); });
    flip_each(initiate, 18, bytes, [&] { refused_by_server(cryptographic); });
}

TEST_P(ZlinkOnlyDamagedCurve, ready_is_refused_by_the_client)
{
    const std::size_t bytes = recorded(ready).size();
    ASSERT_GT(bytes, 2U + 30U);
    flip_each(ready, 2, 8, [&] { given_up_by_client(unexpected_command, true); });
    flip_each(ready, 8, bytes, [&] { refused_by_client(cryptographic, true); });
}

TEST_P(ZlinkOnlyDamagedCurve, flags_of_the_frames_say_nothing_but_how_long_the_size_is)
{
    for (const command& which : {hello, welcome, initiate, ready}) {
        SCOPED_TRACE(which.name);
        for (const unsigned mask : {1u, 4u, 0x80u}) {
            connect_changed(which, [&](const std::string& f) { return flipped(f, 0, mask); });
            not_noticed();
        }
    }
    const auto other_length = [](const std::string& f) { return flipped(f, 0, 2); };
    connect_changed(hello, other_length); // a size that is too large for a command
    refused_by_server(malformed_command);
    connect_changed(welcome, other_length);
    given_up_by_client(malformed_command, false);
    connect_changed(initiate, other_length); // without a body
    refused_by_server(malformed_command);
    connect_changed(ready, other_length);
    given_up_by_client(malformed_command, true);
}

// --- another size

TEST_P(ZlinkOnlyDamagedCurve, commands_that_are_said_to_be_smaller_are_refused)
{
    const auto smaller = [](std::size_t size_at) {
        return [=](std::string f) {
            --f[size_at];
            return f;
        };
    };
    connect_changed(hello, smaller(1));
    refused_by_server(malformed_hello);
    connect_changed(welcome, smaller(1));
    given_up_by_client(malformed_welcome, false);
    connect_changed(initiate, smaller(8));
    refused_by_server(cryptographic);
    connect_changed(ready, smaller(1));
    refused_by_client(cryptographic, true);
}

TEST_P(ZlinkOnlyDamagedCurve, commands_that_are_cut_are_refused)
{
    const auto cut = [](std::size_t left) {
        return [=](const std::string& f) {
            return zmtp::frame(f.substr((f[0] & zmtp::long_size) != 0 ? 9 : 2, left),
                               zmtp::command_bit);
        };
    };
    connect_changed(hello, cut(199));
    refused_by_server(malformed_hello);
    connect_changed(hello, cut(6));
    refused_by_server(malformed_hello);
    connect_changed(welcome, cut(167));
    given_up_by_client(malformed_welcome, false);
    connect_changed(welcome, cut(8));
    given_up_by_client(malformed_welcome, false);
    connect_changed(initiate, cut(256));
    refused_by_server(malformed_initiate);
    connect_changed(initiate, cut(9));
    refused_by_server(malformed_initiate);
    connect_changed(initiate, cut(257));
    refused_by_server(cryptographic);
    connect_changed(ready, cut(29));
    given_up_by_client(malformed_ready, true);
    connect_changed(ready, cut(6));
    given_up_by_client(malformed_ready, true);
    connect_changed(ready, cut(30));
    refused_by_client(cryptographic, true);
}

TEST_P(DamagedCurve, commands_that_do_not_end_are_waited_for_in_vain)
{
    limit_handshakes();
    for (const command& which : {hello, welcome, initiate, ready}) {
        SCOPED_TRACE(which.name);
        connect_changed(which, [](const std::string& f) { return f.substr(0, f.size() - 1); });
        given_up_waiting(which.number == 1 && which.way == direction::to_client);
    }
    connect_changed(initiate, [](const std::string&) { return ""s; }); // it is lost
    given_up_waiting();
}

TEST_P(DamagedCurve, commands_that_end_with_the_connection_are_none)
{
    for (const command& which : {hello, initiate}) {
        for (const std::size_t left : {0U, 1U, 100U, 201U}) {
            SCOPED_TRACE(which.name + " "s + std::to_string(left));
            connect_changed(which,
                            [&](const std::string& f) { return passed(f.substr(0, left), true); });
            expect_left(*at_server_);
            at_server_->expect(ZMQ_EVENT_DISCONNECTED);
            expect_left(*at_client_);
            expect_another_connection();
        }
    }
    for (const command& which : {welcome, ready}) {
        for (const std::size_t left : {0U, 1U, 30U}) {
            SCOPED_TRACE(which.name + " "s + std::to_string(left));
            connect_changed(which,
                            [&](const std::string& f) { return passed(f.substr(0, left), true); });
            expect_left(*at_client_);
            left_by_client(which.number == 1);
            expect_another_connection();
        }
    }
}

// --- another order

TEST_P(ZlinkOnlyDamagedCurve, commands_come_once)
{
    const auto twice = [](const std::string& f) { return f + f; };
    connect_changed(hello, twice);
    refused_by_server(unexpected_command);
    connect_changed(welcome, twice);
    given_up_after_initiate(unexpected_command);
    // These are over: what comes behind them is traffic, and not sealed.
    connect_changed(initiate, twice);
    at_server_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    expect_value(*at_server_, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, unexpected_command);
    at_server_->expect(ZMQ_EVENT_DISCONNECTED);
    at_client_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    expect_another_connection();
    connect_changed(ready, twice);
    at_client_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    expect_value(*at_client_, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, unexpected_command);
    left_by_client(true);
    expect_another_connection();
}

TEST_P(ZlinkOnlyDamagedCurve, commands_have_their_order)
{
    for (const command& in_place_of : {hello, welcome, initiate, ready}) {
        for (const command& which : {hello, welcome, initiate, ready}) {
            SCOPED_TRACE(which.name + " in the place of "s + in_place_of.name);
            const std::string bytes = recorded(which);
            connect_changed(in_place_of, [&](const std::string&) { return bytes; });
            const bool same = in_place_of.way == which.way && in_place_of.number == which.number;
            if (same && which.way == direction::to_server && which.number == 0) {
                // The server takes the HELLO of another for this one, but it answers that one.
                expect_value(*at_client_, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, cryptographic);
                left_by_client(false);
                expect_another_connection();
            } else if (in_place_of.way == direction::to_server) {
                refused_by_server(same ? cryptographic : unexpected_command);
            } else if (same) {
                refused_by_client(cryptographic, which.number == 1);
            } else {
                given_up_by_client(unexpected_command, in_place_of.number == 1);
            }
        }
    }
}

TEST_P(DamagedCurve, something_else_in_between_is_refused)
{
    for (const std::string& other :
         {zmtp::command("PING", "\0\0"s), zmtp::frame("hello"), zmtp::command("MESSAGE", "x")}) {
        connect_changed(initiate, [&](const std::string& f) { return other + f; });
        refused_by_server(other.find("hello") == std::string::npos ? unexpected_command
                                                                   : malformed_command);
    }
    connect_changed(initiate, [&](const std::string& f) { return zmtp::frame("") + f; });
    refused_by_server(malformed_command);
}

// --- PLAIN, which protects nothing but tells who is there

/// Admits who has this name and password.
class handler_of_passwords {
public:
    explicit handler_of_passwords(test_context& context)
        : socket_(context, ZMQ_REP), thread_([this](const std::stop_token& stop) { run(stop); })
    {}
    bool is_bound() const { return bound_; }

private:
    void run(const std::stop_token& stop)
    {
        socket_.bind("inproc://zeromq.zap.01");
        bound_ = true;
        while (!stop.stop_requested()) {
            const auto asked = socket_.try_recv_parts(10ms);
            if (!asked)
                continue;
            const bool admitted =
                asked->size() == 8 && (*asked)[6] == "admin" && (*asked)[7] == "secret";
            socket_.send_parts({"1.0", "1", admitted ? "200" : "400", "", "", ""});
        }
    }

    test_socket socket_;
    std::atomic<bool> bound_{false};
    std::jthread thread_; ///< last: it uses the rest
};

class DamagedPlain : public handshake_test {
protected:
    void SetUp() override
    {
        handler_.emplace(context_);
        ASSERT_TRUE(wait_until([&] { return handler_->is_bound(); }));
        begin(
            [](test_socket& socket) {
                socket.set(ZMQ_PLAIN_SERVER, 1);
                socket.set(ZMQ_ZAP_DOMAIN, "global");
            },
            [](test_socket& socket) {
                socket.set(ZMQ_PLAIN_USERNAME, "admin");
                socket.set(ZMQ_PLAIN_PASSWORD, "secret");
            });
        at_server_.emplace(context_, server_, events);
    }

    std::optional<handler_of_passwords> handler_;
};

ZLINK_LINKS_WITH(DamagedPlain, has_plain_zmtp);

/// See ZlinkOnlyDamagedCurve.
class ZlinkOnlyDamagedPlain : public DamagedPlain {};

ZLINK_LINKS_WITH(ZlinkOnlyDamagedPlain, has_plain_zmtp);

TEST_P(DamagedPlain, hello_admits_nobody)
{
    const std::size_t bytes = recorded(hello).size();
    ASSERT_EQ(2U + 6U + 6U + 7U, bytes);
    for (std::size_t at = 2; at < bytes; ++at) {
        for (const unsigned mask : {1u, 0x80u}) {
            SCOPED_TRACE("byte " + std::to_string(at) + " xor " + std::to_string(mask));
            connect_changed(hello, [&](const std::string& f) { return flipped(f, at, mask); });
            const bool is_text = (at > 8 && at < 14) || at > 14;
            if (!is_text) {
                refused_by_server(at == 2 && mask == 0x80 ? malformed_command
                                  : at < 8                ? unexpected_command
                                                          : malformed_hello);
                continue;
            }
            // Both sides are told, and the client does not come again.
            for (listening_post* const post : {&*at_server_, &*at_client_}) {
                expect_value(*post, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, 400);
                post->expect(ZMQ_EVENT_DISCONNECTED);
            }
            relay_->set({});
            client_.close();
        }
    }
}

TEST_P(ZlinkOnlyDamagedPlain, welcome_is_refused_by_the_client)
{
    for (std::size_t at = 2; at < 10; ++at) {
        SCOPED_TRACE(at);
        connect_changed(welcome, [&](const std::string& f) { return flipped(f, at, 0x80); });
        given_up_by_client(at == 2 ? malformed_command : unexpected_command, false);
    }
    connect_changed(welcome, [](const std::string&) { return zmtp::command("WELCOME", "x"); });
    given_up_by_client(malformed_welcome, false);
}

TEST_P(ZlinkOnlyDamagedPlain, commands_come_once_and_in_their_order)
{
    const auto twice = [](const std::string& f) { return f + f; };
    connect_changed(hello, twice);
    refused_by_server(unexpected_command);
    connect_changed(welcome, twice);
    given_up_after_initiate(unexpected_command);
    for (const command& which : {welcome, initiate, ready}) {
        const std::string bytes = recorded(which);
        connect_changed(hello, [&](const std::string&) { return bytes; });
        refused_by_server(unexpected_command);
    }
    for (const command& which : {hello, initiate, ready}) {
        const std::string bytes = recorded(which);
        connect_changed(welcome, [&](const std::string&) { return bytes; });
        given_up_by_client(unexpected_command, false);
    }
}

TEST_P(DamagedPlain, commands_that_do_not_end_are_waited_for_in_vain)
{
    limit_handshakes();
    for (const command& which : {hello, welcome, initiate, ready}) {
        SCOPED_TRACE(which.name);
        connect_changed(which, [](const std::string& f) { return f.substr(0, f.size() - 1); });
        given_up_waiting(which.number == 1 && which.way == direction::to_client);
    }
}

/// Properties are not protected: what has become of them counts. The server has to stand it.
TEST_P(ZlinkOnlyDamagedPlain, properties_harm_nobody_else)
{
    limit_handshakes();
    const std::pair<command, std::size_t> both[] = {{initiate, recorded(initiate).size()},
                                                    {ready, recorded(ready).size()}};
    for (const auto& [which, bytes] : both) {
        for (std::size_t at = 2; at < bytes; ++at) {
            SCOPED_TRACE(which.name + " byte "s + std::to_string(at));
            connect_changed(which, [&](const std::string& f) { return flipped(f, at, 0x84); });
            const std::uint64_t first = at_client_->next().event;
            EXPECT_TRUE(first == ZMQ_EVENT_HANDSHAKE_SUCCEEDED || first == ZMQ_EVENT_DISCONNECTED ||
                        first == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL ||
                        first == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL)
                << first;
            relay_->set({});
            client_.close();
        }
    }
    at_server_.reset();
    client_ = make_client("relayed");
    client_.connect(relay_->endpoint());
    expect_health("after it");
    EXPECT_FALSE(server_.readable(0ms));
}

} // namespace
} // namespace zlink::test
