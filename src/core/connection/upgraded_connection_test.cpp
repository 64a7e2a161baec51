// SPDX-License-Identifier: Apache-2.0
// Connections with the upgrades of the stream transports, one on top of the other as in these, over
// streams in memory that fail at each operation, and with each allocation failing: while they are
// opened, and in traffic.
#include "core/connection/opening_for_tests.hpp"
#include "core/connection/traffic_for_tests.hpp"
#include "core/connection/writer.hpp"
#include "core/pipe/pipe.hpp"
#include "engine/commands/traffic_commands.hpp"
#include "engine/handshake/socket_types.hpp"
#include "engine/handshake/zws.hpp"
#include "support/each_lack_of_memory.hpp"
#include "transport/socks/socks5.hpp"
#include "transport/websocket/http_upgrade.hpp"
#if ZLINK_HAS_TLS
#include "support/certificates.hpp"
#include "transport/tls/context.hpp"
#include "transport/tls/upgrade.hpp"
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zlink::core {
namespace {

namespace types = engine::socket_types;
using kind = opening::end_kind;
using side = test::opening_side;
using test::counted_commands;
using test::memory_stream;

/// What lies between ZMTP and the connection.
struct layers {
    const char* name;
    bool tls;
    bool websocket;
    bool proxy = false; ///< of SOCKS

    friend std::ostream& operator<<(std::ostream& out, const layers& of) { return out << of.name; }
};

/// What a proxy of SOCKS 5 says before it leads to the peer.
class proxy_upgrade final : public transport::upgrade {
public:
    std::span<const std::byte> output() const noexcept override { return output_; }
    void consume_output(std::size_t bytes) noexcept override { output_ = output_.subspan(bytes); }
    std::size_t feed(std::span<const std::byte> bytes) override
    {
        const std::size_t taken = std::min(bytes.size(), left_bytes_);
        left_bytes_ -= taken;
        if (left_bytes_ == 0)
            answer();
        return taken;
    }
    state current_state() const noexcept override
    {
        return is_done_ ? state::done : state::running;
    }
    int error() const noexcept override { return 0; }

private:
    void answer() noexcept
    {
        static constexpr char no_authentication[] = {5, 0};
        static constexpr char granted[] = {5, 0, 0, 1, 127, 0, 0, 1, 0, 1};
        if (std::exchange(has_method_, true)) {
            output_ = std::as_bytes(std::span(granted));
            is_done_ = true;
            return;
        }
        output_ = std::as_bytes(std::span(no_authentication));
        left_bytes_ = 10; // a request for an address of IPv4
    }

    std::span<const std::byte> output_;
    std::size_t left_bytes_ = 3; // one method
    bool has_method_ = false;
    bool is_done_ = false;
};

#if ZLINK_HAS_TLS
using tls_parts_side = transport::tls_parts::side;
using tls_contexts = std::shared_ptr<transport::tls_parts::context_source>;

tls_contexts make_tls_contexts(tls_parts_side which)
{
    static const test::certificate authority = test::certificate::authority();
    static const test::certificate own = authority.sign();
    transport::tls_settings settings;
    if (which == tls_parts_side::server) {
        settings.certificate = own.text();
        settings.key = own.key();
    } else {
        settings.ca = authority.text();
    }
    transport::error_code error;
    auto made = transport::tls_parts::context_source::make(which, settings, "localhost", error);
    EXPECT_FALSE(error);
    return made;
}
#endif

/// What the connections between two sockets share.
struct endpoints {
    explicit endpoints(const layers& of) : layer(of)
    {
#if ZLINK_HAS_TLS
        if (of.tls)
            tls = {make_tls_contexts(tls_parts_side::server),
                   make_tls_contexts(tls_parts_side::client)};
#endif
    }

    const layers layer;
#if ZLINK_HAS_TLS
    std::array<tls_contexts, 2> tls; ///< of who was connected to, of who connects
#endif
};

/// Both ends of a connection: PUSH has connected to PULL.
class ends {
public:
    ends(boost::asio::io_context& io, const layers& of) : ends(io, endpoints(of)) {}
    ends(boost::asio::io_context& io, const endpoints& between)
        : io_(io),
          client(io, types::push, upgrades_of(between, true),
                 std::make_unique<engine::null_mechanism>(), frame_of(between.layer, true)),
          server(io, types::pull, upgrades_of(between, false),
                 std::make_unique<engine::null_mechanism>(), frame_of(between.layer, false))
    {
        for (side* each : {&client, &server})
            each->stream.portion = between.layer.tls ? 200 : 50;
    }

    /// Until neither has anything to do; where one has ended without success, the other one finds
    /// the end of the stream.
    void open()
    {
        client.start(limit_ms);
        server.start(limit_ms);
        bool busy = true;
        while (busy) {
            busy = move(client, server);
            busy |= move(server, client);
            busy |= client.stream.call_waiting();
            busy |= server.stream.call_waiting();
            busy |= run_posted();
            // What the opening leaves to the traffic is sent by that.
            if (!busy && client.ends == 1 && server.ends == 0 && !client.unsent.empty()) {
                write_unsent(client);
                busy = true;
            }
            if (!busy && server.ends == 1 && client.ends == 0 && !server.unsent.empty()) {
                write_unsent(server);
                busy = true;
            }
        }
        end_after(client, server);
        end_after(server, client);
    }
    bool is_open() const
    {
        return client.ends == 1 && client.ending.kind == kind::succeeded && server.ends == 1 &&
               server.ending.kind == kind::succeeded;
    }
    /// What one side has written is there for the other.
    static bool move(side& from, side& to)
    {
        const test::memory_of_test own;
        const std::string bytes = std::exchange(from.stream.written, {});
        to.stream.input += bytes;
        return !bytes.empty();
    }

private:
    boost::asio::io_context& io_;

public:
    side client;
    side server;

private:
    static constexpr int limit_ms = 60'000;

    static transport::upgrades upgrades_of(const endpoints& between, bool connects)
    {
        const layers& of = between.layer;
        transport::upgrades all;
        if (of.proxy && connects)
            all.push_back(std::make_unique<transport::socks5_client>(
                transport::socks5_request{"127.0.0.1", 1, "", ""},
                std::chrono::milliseconds(limit_ms)));
        else if (of.proxy)
            all.push_back(std::make_unique<proxy_upgrade>());
#if ZLINK_HAS_TLS
        if (of.tls)
            all.push_back(transport::tls_parts::make_upgrade(between.tls[connects]->current()));
#endif
        if (of.websocket && connects)
            all.push_back(std::make_unique<transport::websocket::http_upgrade_client>(
                transport::websocket::request_fields{"localhost", "/"}));
        else if (of.websocket)
            all.push_back(std::make_unique<transport::websocket::http_upgrade_server>());
        for (const auto& each : all)
            each->offer(engine::zws_protocols("NULL", false));
        return all;
    }
    static opening::frame_function frame_of(const layers& of, bool connects)
    {
        if (!of.websocket)
            return nullptr;
        return [connects](std::string_view protocol) {
            return engine::zws_framing(protocol, connects);
        };
    }
    bool run_posted()
    {
        io_.restart();
        return io_.poll() != 0;
    }
    void write_unsent(side& of)
    {
        const std::string bytes = std::exchange(of.unsent, {});
        transport::stream& to = *of.pointer;
        for (std::size_t done = 0; done < bytes.size();) {
            const iovec rest{const_cast<char*>(bytes.data()) + done, bytes.size() - done};
            const auto result = to.write_some(&rest, 1);
            if (result.failed()) {
                broken_in_traffic_ = &of;
                return;
            }
            done += result.bytes;
        }
        transport::io_result flushed{0, EAGAIN};
        while (flushed.would_block())
            flushed = to.flush();
        if (flushed.failed())
            broken_in_traffic_ = &of;
    }
    void end_after(side& first, side& second)
    {
        const bool has_failed = broken_in_traffic_ == &first;
        if (first.ends == 0 || (first.ending.kind == kind::succeeded && !has_failed))
            return;
        move(first, second);
        second.stream.ended = true;
        while (second.ends == 0 && (second.stream.call_waiting() || run_posted())) {
        }
    }

    const side* broken_in_traffic_ = nullptr; ///< which has succeeded before
};

bool is_broken(const side& on)
{
    return on.ending.kind == kind::broken || on.ending.kind == kind::unreached;
}

class UpgradedConnection : public ::testing::TestWithParam<layers> {
protected:
    boost::asio::io_context io_;
};

TEST_P(UpgradedConnection, is_opened)
{
    ends on(io_, GetParam());
    on.open();
    ASSERT_TRUE(on.is_open());
    EXPECT_EQ(on.client.ending.remote.socket_type, types::pull);
    EXPECT_EQ(on.server.ending.remote.socket_type, types::push);
    EXPECT_EQ(on.client.ending.codec != nullptr, GetParam().websocket);
    EXPECT_EQ(on.server.ending.codec != nullptr, GetParam().websocket);
}

TEST_P(UpgradedConnection, is_broken_once_by_each_operation_of_the_opening_that_fails)
{
    for (side ends::*const failing : {&ends::client, &ends::server}) {
        side ends::*const other = failing == &ends::client ? &ends::server : &ends::client;
        int at = 0;
        for (bool failed = true; failed; ++at) {
            SCOPED_TRACE((failing == &ends::client ? "client " : "server ") + std::to_string(at));
            ends on(io_, GetParam());
            (on.*failing).stream.fail_at = at;
            on.open();
            failed = (on.*failing).stream.operations > at;
            ASSERT_EQ((on.*failing).ends, 1);
            ASSERT_EQ((on.*other).ends, 1);
            if (!failed) {
                EXPECT_TRUE(on.is_open());
                continue;
            }
            if ((on.*failing).ending.kind == kind::succeeded)
                continue; // what failed was the first write of the traffic
            EXPECT_TRUE(is_broken(on.*failing));
            EXPECT_EQ((on.*failing).ending.error, ECONNRESET);
            // Who has done its part need not know of it yet.
            if ((on.*other).ending.kind != kind::succeeded) {
                EXPECT_TRUE(is_broken(on.*other));
                EXPECT_NE((on.*other).ending.error, 0);
            }
        }
        EXPECT_GT(at, 6);
    }
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
// Each end is told once, and none is for good; the next connection between the same sockets is
// opened.
TEST_P(UpgradedConnection, ends_once_whichever_allocation_of_the_opening_fails)
{
    // The many of OpenSSL are those of tls, where each fails.
    const long step = GetParam().tls && GetParam().websocket ? 5 : 1;
    const auto play = [&](test::lack_of_memory& lack) {
        const endpoints between(GetParam());
        boost::asio::io_context io;
        bool is_open = false;
        lack.during([&] {
            std::optional<ends> on;
            try {
                on.emplace(io, between);
            } catch (const std::bad_alloc&) {
                return;
            }
            on->open();
            const test::memory_of_test own;
            for (const side* each : {&on->client, &on->server})
                test::expect_ended_for_now(*each);
            is_open = on->is_open();
            if (!is_open && !GetParam().tls) { // OpenSSL does not always say why
                EXPECT_TRUE(on->client.ending.error == ENOMEM || on->server.ending.error == ENOMEM);
            }
        });
        EXPECT_TRUE(is_open || lack.has_come());
        ends next(io, between);
        next.open();
        EXPECT_TRUE(next.is_open());
    };
    test::play_with_each_lack_of_memory(play, step);
}
#endif

/// The traffic of a connection; `to` is the queue of the socket that receives, which lasts longer.
class traffic {
public:
    traffic(ends& on, writer& out, const std::shared_ptr<channel_pair>& to) : on_(on), out_(out)
    {
        engine::wire sending;
        engine::wire receiving;
        if (on.client.ending.codec)
            sending.codec = on.client.ending.codec;
        if (on.server.ending.codec)
            receiving.codec = on.server.ending.codec;
        in_ = test::make_decoder(receiving, to->a_to_b, commands_);
        EXPECT_EQ(engine::inbound_error::none, test::feed(*in_, on.server.rest));
        for (side* each : {&on.client, &on.server}) {
            each->stream.portion = 6'000;
            each->stream.blocks_every_other_write = false;
        }
        out_.attach(*on.client.pointer, std::as_bytes(std::span(on.client.unsent)), sending);
    }
    ~traffic() { out_.detach(); }
    traffic(const traffic&) = delete;
    traffic& operator=(const traffic&) = delete;

    /// Until all that is queued has come, or one of the sides has found the connection broken.
    void run()
    {
        bool pinged = false;
        for (int quiet = 0; quiet < 3 && !sender_failed && !receiver_failed;) {
            if (!std::exchange(pinged, true))
                out_.send_command({engine::traffic_command_kind::ping, {}, 0});
            out_.drain();
            sender_failed = out_.error() != 0;
            bool moved = ends::move(on_.client, on_.server);
            while (!receiver_failed && read())
                moved = true;
            quiet = moved || !out_.drained() ? 0 : quiet + 1;
        }
    }
    /// What the broken connection has taken comes, and then its end; both sides close it.
    void end()
    {
        ends::move(on_.client, on_.server);
        on_.server.stream.ended = true;
        for (int reads = 0; !receiver_failed; ++reads) {
            ASSERT_LT(reads, 10'000) << "the end is never found";
            read();
        }
        for (side* each : {&on_.client, &on_.server})
            each->pointer->shutdown();
    }

    bool has_failed() const { return sender_failed || receiver_failed; }

    bool sender_failed = false;
    bool receiver_failed = false; ///< or has found the end
    bool may_lack_memory = false;

private:
    bool read()
    {
        iovec space[engine::decoder::most_entries];
        const int count = in_->prepare(space);
        const auto result = on_.server.pointer->read_some(space, count);
        if (result.bytes != 0) {
            const auto error = in_->received(result.bytes);
            if (error == engine::inbound_error::out_of_memory && may_lack_memory)
                throw std::bad_alloc(); // as other lacks of it, which end the connection
            EXPECT_EQ(engine::inbound_error::none, error);
        }
        receiver_failed = result.failed() || (result.bytes == 0 && result.error == 0);
        return result.bytes != 0;
    }

    ends& on_;
    writer& out_;
    counted_commands commands_;
    std::unique_ptr<engine::decoder> in_;
};

/// The queues of two sockets, which outlast the connections between these.
class queues {
public:
    static constexpr int messages = 12;

    queues()
    {
        test::connect(sender_);
        for (int number = 0; number < messages; ++number) {
            for (int part = 0; part < parts_of(number); ++part) {
                const std::string body = part_of(number, part);
                EXPECT_TRUE(sender_.out.write(core::frame_of(body, part + 1 < parts_of(number))));
            }
        }
    }
    /// Takes what has come: whole messages, in their order, none twice, and none missing between
    /// the first and the last. Returns the number of the first one, -1: nothing has come.
    int receive_all()
    {
        int first = -1;
        for (frame part; receiver_.in.peek(part);) {
            const int number = std::stoi(std::string(part.text().substr(0, part.text().find('x'))));
            EXPECT_LE(next, number);
            if (first < 0) {
                first = number;
            } else {
                EXPECT_EQ(next, number);
            }
            for (int at = 0; at < parts_of(number); ++at) {
                if (!receiver_.in.peek(part)) {
                    ADD_FAILURE() << "message " << number << " has been cut";
                    return first;
                }
                EXPECT_TRUE(part_of(number, at) == part.text()) << number;
                EXPECT_EQ(at + 1 < parts_of(number), part.more());
                receiver_.in.pop();
            }
            next = number + 1;
        }
        return first;
    }

    const std::shared_ptr<channel_pair> received = std::make_shared<channel_pair>();
    int next = 0; ///< the number behind that of the last message that was received

private:
    static std::string part_of(int number, int part)
    {
        static constexpr std::size_t sizes[] = {1, 200, 5'000, 0, 126, 20'000, 66'000};
        const auto at = static_cast<std::size_t>(number + part) % std::size(sizes);
        return std::to_string(number) + std::string(sizes[at], 'x');
    }
    static int parts_of(int number) { return 1 + number % 3; }

    const std::shared_ptr<channel_pair> sent_ = std::make_shared<channel_pair>();
    pipe_end sender_{sent_, true, nullptr};
    pipe_end receiver_{received, false, nullptr};

public:
    writer out{sent_->a_to_b};
};

class UpgradedTraffic : public UpgradedConnection {
protected:
    /// A connection brings all messages that are left. The number of the first one; -1: none was.
    int bring_rest(queues& between)
    {
        ends on(io_, GetParam());
        on.open();
        EXPECT_TRUE(on.is_open());
        traffic brought(on, between.out, between.received);
        brought.run();
        EXPECT_FALSE(brought.has_failed());
        EXPECT_TRUE(between.out.drained());
        const int first = between.receive_all();
        EXPECT_TRUE(first == -1 || between.next == queues::messages);
        return first;
    }
};

TEST_P(UpgradedTraffic, carries_messages)
{
    queues between;
    EXPECT_EQ(0, bring_rest(between));
}

// What a connection has taken, or its receiver has not read, may go with it: it is in the kernel,
// or encrypted. Nothing else does, nothing comes twice, and no message is cut.
TEST_P(UpgradedTraffic, goes_on_with_whole_messages_whichever_operation_of_the_traffic_fails)
{
    for (side ends::*const failing : {&ends::client, &ends::server}) {
        const bool sender_fails = failing == &ends::client;
        int at = 0;
        for (bool failed = true; failed; ++at) {
            SCOPED_TRACE((sender_fails ? "sender " : "receiver ") + std::to_string(at));
            queues between;
            {
                ends on(io_, GetParam());
                on.open();
                ASSERT_TRUE(on.is_open());
                (on.*failing).stream.fail_at = (on.*failing).stream.operations + at;
                traffic first(on, between.out, between.received);
                first.run();
                failed = first.has_failed();
                ASSERT_NO_FATAL_FAILURE(first.end());
            }
            const int begins = between.receive_all();
            EXPECT_TRUE(begins == 0 || begins == -1);
            const int received = between.next;
            const int goes_on = bring_rest(between);
            if (sender_fails && !GetParam().tls) {
                EXPECT_EQ(queues::messages, between.next);
                EXPECT_TRUE(goes_on == received || received == queues::messages);
            }
            ASSERT_FALSE(HasFailure());
        }
        EXPECT_GT(at, 20);
    }
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
// The same with each allocation, of the encryption as well: the connection goes on, or ends.
TEST_P(UpgradedTraffic, goes_on_with_whole_messages_whichever_allocation_of_the_traffic_fails)
{
    bool refused = true;
    for (long allocations = 0; refused; allocations += allocations > 60 ? 7 : 1) {
        SCOPED_TRACE(allocations);
        queues between;
        bool failed = false;
        {
            ends on(io_, GetParam());
            on.open();
            ASSERT_TRUE(on.is_open());
            traffic first(on, between.out, between.received);
            first.may_lack_memory = true;
            {
                const test::memory_but_once memory(allocations);
                try {
                    first.run();
                } catch (const std::bad_alloc&) {
                    first.receiver_failed = true; // a session ends such a connection
                }
                refused = memory.was_refused();
            }
            failed = first.has_failed();
            EXPECT_TRUE(refused || !failed);
            ASSERT_NO_FATAL_FAILURE(first.end());
        }
        const int begins = between.receive_all();
        EXPECT_TRUE(begins == 0 || begins == -1);
        if (!failed) {
            EXPECT_EQ(queues::messages, between.next);
        }
        bring_rest(between);
        ASSERT_FALSE(HasFailure());
    }
}
#endif

const auto all_layers =
    ::testing::Values(layers{"plain", false, false},
#if ZLINK_HAS_TLS
                      layers{"tls", true, false}, layers{"wss", true, true},
#endif
                      layers{"ws", false, true}, layers{"socks", false, false, true});

std::string name_of(const ::testing::TestParamInfo<layers>& of)
{
    return of.param.name;
}

INSTANTIATE_TEST_SUITE_P(By, UpgradedConnection, all_layers, name_of);
INSTANTIATE_TEST_SUITE_P(By, UpgradedTraffic, all_layers, name_of);

} // namespace
} // namespace zlink::core
