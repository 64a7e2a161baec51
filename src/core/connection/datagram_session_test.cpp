// SPDX-License-Identifier: Apache-2.0
// Pipes of RADIO and DISH over real datagrams on the loopback interface.
#include "core/connection/datagram_session.hpp"
#include "sockets/patterns.hpp"

#include "engine/handshake/socket_types.hpp"
#include "transport/udp/udp.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <thread>

namespace zlink::core {
namespace {

namespace types = engine::socket_types;
using namespace std::chrono_literals;

/// The socket's side of one datagram endpoint.
struct side {
    side(runtime::io_thread& thread, int type, endpoint_role role, const std::string& address,
         socket_options options = {})
        : of_socket(std::make_shared<socket_side>())
    {
        of_socket->box = std::make_shared<base::mailbox>();
        options.type = type;
        options.traits = &sockets::traits_of(type);
        transport::error_code error;
        const auto open =
            role == endpoint_role::bound ? transport::udp.bind : transport::udp.connect;
        auto opened = open(thread.context(), address, options.transport, error);
        EXPECT_FALSE(error) << error.message();
        endpoint = opened->endpoint();
        session = std::make_shared<datagram_session>(
            thread, of_socket, std::make_shared<const socket_options>(options),
            *datagram_head_for(*options.traits, role), role, std::move(opened));
        pipe = session->make_pipe();
        pipe->set_limits(options.send_hwm, options.receive_hwm);
        session->start();
    }
    ~side()
    {
        pipe->close(0);
        session->settle();
        // As a socket does: mail that nobody collects keeps the pipe, and that the mailbox.
        of_socket->box->close([](const auto&...) {});
    }

    void send(std::string_view group, std::string_view body) const
    {
        ASSERT_TRUE(pipe->out.can_write());
        ASSERT_TRUE(pipe->out.write(frame_of(group, true)));
        ASSERT_TRUE(pipe->out.write(frame_of(body, false)));
    }
    /// "group|body" of the next message, "" if none comes in time.
    std::string receive(std::chrono::milliseconds window = 10s) const
    {
        const auto until = std::chrono::steady_clock::now() + window;
        frame part;
        while (!pipe->in.peek(part)) {
            if (std::chrono::steady_clock::now() > until)
                return "";
            std::this_thread::yield();
        }
        std::string text(part.text());
        EXPECT_TRUE(part.more());
        pipe->in.pop();
        EXPECT_TRUE(pipe->in.peek(part));
        EXPECT_FALSE(part.more());
        text += "|" + std::string(part.text());
        pipe->in.pop();
        return text;
    }

    std::shared_ptr<socket_side> of_socket;
    std::string endpoint;
    std::shared_ptr<datagram_session> session;
    std::shared_ptr<pipe_end> pipe;
};

class DatagramSession : public ::testing::Test {
protected:
    DatagramSession() { EXPECT_EQ(0, thread_.start(0, {})); }
    std::string address() const { return dish_.endpoint.substr(6); }

    runtime::io_thread thread_;
    side dish_{thread_, types::dish, endpoint_role::bound, "127.0.0.1:*"};
};

TEST_F(DatagramSession, is_for_three_uses_only)
{
    EXPECT_EQ(datagram_head::group,
              datagram_head_for(sockets::traits_of(types::radio), endpoint_role::connected));
    EXPECT_EQ(datagram_head::group,
              datagram_head_for(sockets::traits_of(types::dish), endpoint_role::bound));
    EXPECT_EQ(datagram_head::address,
              datagram_head_for(sockets::traits_of(types::dgram), endpoint_role::bound));
    EXPECT_FALSE(datagram_head_for(sockets::traits_of(types::radio), endpoint_role::bound));
    EXPECT_FALSE(datagram_head_for(sockets::traits_of(types::dish), endpoint_role::connected));
    EXPECT_FALSE(datagram_head_for(sockets::traits_of(types::dgram), endpoint_role::connected));
    EXPECT_FALSE(datagram_head_for(sockets::traits_of(types::pub), endpoint_role::bound));
}

TEST_F(DatagramSession, carries_group_and_body)
{
    const side radio(thread_, types::radio, endpoint_role::connected, address());
    EXPECT_TRUE(radio.pipe->origin.takes_all_groups);
    EXPECT_FALSE(dish_.pipe->origin.takes_all_groups);
    radio.send("TV", "Friends");
    EXPECT_EQ("TV|Friends", dish_.receive());
    radio.send("", "");
    EXPECT_EQ("|", dish_.receive());
    const std::string group(255, 'g');
    radio.send(group, "b");
    EXPECT_EQ(group + "|b", dish_.receive());
}

TEST_F(DatagramSession, drops_what_peers_would_not_take)
{
    const side radio(thread_, types::radio, endpoint_role::connected, address());
    const std::string largest(8192 - 1 - 2, 'x');
    radio.send("TV", largest + "x");
    radio.send(std::string(256, 'g'), "x");
    radio.send("TV", largest);
    EXPECT_EQ("TV|" + largest, dish_.receive());
}

TEST_F(DatagramSession, drops_commands_and_whole_messages_of_other_forms)
{
    const side radio(thread_, types::radio, endpoint_role::connected, address());
    const std::string command = "\4JOINx";
    frame join = frame_of(command, false);
    join.flags = engine::zmtp3::flag_command;
    ASSERT_TRUE(radio.pipe->out.write(join));
    ASSERT_TRUE(radio.pipe->out.write(frame_of("alone", false)));
    ASSERT_TRUE(radio.pipe->out.write(frame_of("a", true)));
    ASSERT_TRUE(radio.pipe->out.write(frame_of("b", true)));
    ASSERT_TRUE(radio.pipe->out.write(frame_of("c", false)));
    radio.send("good", "one");
    EXPECT_EQ("a|b", dish_.receive());
    EXPECT_EQ("good|one", dish_.receive());
}

TEST_F(DatagramSession, drops_datagrams_that_make_no_sense)
{
    transport::error_code error;
    const auto plain = transport::udp.connect(thread_.context(), address(), {}, error);
    ASSERT_TRUE(plain);
    const auto send = [&](std::string text) {
        const iovec piece{text.data(), text.size()};
        EXPECT_EQ(0, plain->send({&piece, 1}, nullptr));
    };
    send("");
    send("\1");
    send("\5four");
    send("\2TVgood");
    EXPECT_EQ("TV|good", dish_.receive());
}

TEST_F(DatagramSession, stops_reading_while_the_pipe_is_full)
{
    const side radio(thread_, types::radio, endpoint_role::connected, address());
    dish_.pipe->set_limits(0, 1);
    for (int index = 0; index < 20; ++index) {
        radio.send("n", std::to_string(index));
    }
    for (int index = 0; index < 20; ++index)
        EXPECT_EQ("n|" + std::to_string(index), dish_.receive());
}

TEST_F(DatagramSession, sends_what_is_queued_when_it_is_closed)
{
    {
        const side radio(thread_, types::radio, endpoint_role::connected, address());
        for (int index = 0; index < 20; ++index)
            radio.send("n", std::to_string(index));
        radio.pipe->close(-1);
        radio.session->settle();
    }
    for (int index = 0; index < 20; ++index)
        EXPECT_EQ("n|" + std::to_string(index), dish_.receive());
}

TEST_F(DatagramSession, gives_back_what_it_may_not_send_any_more)
{
    static int freed = 0;
    freed = 0;
    static char body[8192];
    const std::string nowhere = address();
    {
        const side radio(thread_, types::radio, endpoint_role::connected, nowhere);
        for (int index = 0; index < 20; ++index) {
            base::buffer_ref owner(base::wrap_user_memory(
                body, sizeof body, [](void*, void*) { ++freed; }, nullptr));
            frame part;
            part.data = owner->data;
            part.size = sizeof body;
            part.owner = owner.get();
            ASSERT_TRUE(radio.pipe->out.write(frame_of("n", true)));
            ASSERT_TRUE(radio.pipe->out.write(part));
        }
        radio.pipe->close(0);
        radio.session->settle();
        EXPECT_EQ(20, freed);
    }
}

} // namespace
} // namespace zlink::core
