// SPDX-License-Identifier: Apache-2.0
// Every option number on every socket type: what can be set and read, which ints are good, how long
// values are, and the defaults. The suites called ZlinkOnly hold what a build with drafts and
// without GSSAPI answers.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/fixture.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <sstream>

namespace zlink::test {
namespace {

using namespace std::string_literals;

constexpr int first_id = -1;
constexpr int last_id = 130;
constexpr int first_type = ZMQ_PAIR;
constexpr int last_type = ZMQ_CHANNEL;

// Socket types as bits.
using types = unsigned;
constexpr types all = ~0u;
constexpr types none = 0;

template <class... Types>
constexpr types on(Types... numbers)
{
    return (... | (1u << numbers));
}

constexpr types routers = on(ZMQ_ROUTER, ZMQ_REP);
constexpr types publishers = on(ZMQ_XPUB, ZMQ_PUB);

enum class form {
    integer,  ///< 4 bytes, exactly
    any_room, ///< 4 bytes, read into any room that is large enough
    number,   ///< 8 bytes, exactly
    text,     ///< any room; a NUL at the end
    bytes,    ///< any room
};

/// What happens to values of 4 bytes that are no ints.
enum class four_bytes { good, bad };

struct option {
    const char* name;
    int id;
    types settable;
    types readable;
    form value;
    int least = INT_MIN; ///< of ints that can be set
    int most = INT_MAX;
    std::int64_t initial = 0; ///< of what can be read, if it is a number
    four_bytes as_text = four_bytes::good;
    bool truth = false; ///< any int; read as 0 or 1
};

constexpr option integer(const char* name, int id, int initial, int least, int most = INT_MAX)
{
    return {name, id, all, all, form::integer, least, most, initial};
}
constexpr option strict_flag(const char* name, int id, int initial)
{
    return integer(name, id, initial, 0, 1);
}
constexpr option loose_flag(const char* name, int id, int initial)
{
    return {name, id, all, all, form::integer, INT_MIN, INT_MAX, initial, four_bytes::good, true};
}
constexpr option flag_of(const char* name, int id, types whose)
{
    return {name, id, whose, none, form::integer, 0};
}
constexpr option text(const char* name, int id, four_bytes as_text = four_bytes::good)
{
    return {name, id, all, all, form::text, 0, 0, 0, as_text};
}
constexpr option write_only(const char* name, int id, types whose,
                            four_bytes as_text = four_bytes::good)
{
    return {name, id, whose, none, form::bytes, 0, 0, 0, as_text};
}

const std::vector<option> sheet{
    {"AFFINITY", ZMQ_AFFINITY, all, all, form::number},
    {"ROUTING_ID", ZMQ_ROUTING_ID, all, all, form::bytes},
    write_only("SUBSCRIBE", ZMQ_SUBSCRIBE, on(ZMQ_SUB)),
    write_only("UNSUBSCRIBE", ZMQ_UNSUBSCRIBE, on(ZMQ_SUB)),
    integer("RATE", ZMQ_RATE, 100, 1),
    integer("RECOVERY_IVL", ZMQ_RECOVERY_IVL, 10000, 0),
    integer("SNDBUF", ZMQ_SNDBUF, -1, -1),
    integer("RCVBUF", ZMQ_RCVBUF, -1, -1),
    {"RCVMORE", ZMQ_RCVMORE, none, all, form::any_room},
    integer("LINGER", ZMQ_LINGER, -1, -1),
    integer("RECONNECT_IVL", ZMQ_RECONNECT_IVL, 100, -1),
    integer("BACKLOG", ZMQ_BACKLOG, 100, 0),
    integer("RECONNECT_IVL_MAX", ZMQ_RECONNECT_IVL_MAX, 0, 0),
    {"MAXMSGSIZE", ZMQ_MAXMSGSIZE, all, all, form::number, 0, 0, -1},
    integer("SNDHWM", ZMQ_SNDHWM, 1000, 0),
    integer("RCVHWM", ZMQ_RCVHWM, 1000, 0),
    integer("MULTICAST_HOPS", ZMQ_MULTICAST_HOPS, 1, 1),
    integer("RCVTIMEO", ZMQ_RCVTIMEO, -1, -1),
    integer("SNDTIMEO", ZMQ_SNDTIMEO, -1, -1),
    strict_flag("IPV4ONLY", ZMQ_IPV4ONLY, 1),
    {"LAST_ENDPOINT", ZMQ_LAST_ENDPOINT, none, all, form::text},
    flag_of("ROUTER_MANDATORY", ZMQ_ROUTER_MANDATORY, routers),
    integer("TCP_KEEPALIVE", ZMQ_TCP_KEEPALIVE, -1, -1, 1),
    integer("TCP_KEEPALIVE_CNT", ZMQ_TCP_KEEPALIVE_CNT, -1, -1),
    integer("TCP_KEEPALIVE_IDLE", ZMQ_TCP_KEEPALIVE_IDLE, -1, -1),
    integer("TCP_KEEPALIVE_INTVL", ZMQ_TCP_KEEPALIVE_INTVL, -1, -1),
    write_only("TCP_ACCEPT_FILTER", ZMQ_TCP_ACCEPT_FILTER, all, four_bytes::bad),
    strict_flag("IMMEDIATE", ZMQ_IMMEDIATE, 0),
    flag_of("XPUB_VERBOSE", ZMQ_XPUB_VERBOSE, publishers),
    strict_flag("IPV6", ZMQ_IPV6, 0),
    {"MECHANISM", ZMQ_MECHANISM, none, all, form::integer, 0, 0, ZMQ_NULL},
    strict_flag("PLAIN_SERVER", ZMQ_PLAIN_SERVER, 0),
    text("PLAIN_USERNAME", ZMQ_PLAIN_USERNAME),
    text("PLAIN_PASSWORD", ZMQ_PLAIN_PASSWORD),
    flag_of("PROBE_ROUTER", ZMQ_PROBE_ROUTER, routers | on(ZMQ_DEALER, ZMQ_REQ)),
    flag_of("REQ_CORRELATE", ZMQ_REQ_CORRELATE, on(ZMQ_REQ)),
    flag_of("REQ_RELAXED", ZMQ_REQ_RELAXED, on(ZMQ_REQ)),
    strict_flag("CONFLATE", ZMQ_CONFLATE, 0),
    text("ZAP_DOMAIN", ZMQ_ZAP_DOMAIN),
    flag_of("ROUTER_HANDOVER", ZMQ_ROUTER_HANDOVER, routers),
    integer("TOS", ZMQ_TOS, 0, 0),
    write_only("IPC_FILTER_PID", ZMQ_IPC_FILTER_PID, all),
    write_only("IPC_FILTER_UID", ZMQ_IPC_FILTER_UID, all),
    write_only("IPC_FILTER_GID", ZMQ_IPC_FILTER_GID, all),
    integer("HANDSHAKE_IVL", ZMQ_HANDSHAKE_IVL, 30000, 0),
    text("SOCKS_PROXY", ZMQ_SOCKS_PROXY),
    flag_of("XPUB_MANUAL", ZMQ_XPUB_MANUAL, publishers),
    write_only("XPUB_WELCOME_MSG", ZMQ_XPUB_WELCOME_MSG, publishers),
    loose_flag("INVERT_MATCHING", ZMQ_INVERT_MATCHING, 0),
    integer("HEARTBEAT_IVL", ZMQ_HEARTBEAT_IVL, 0, 0),
    integer("HEARTBEAT_TTL", ZMQ_HEARTBEAT_TTL, 0, 0, 6553599),
    integer("HEARTBEAT_TIMEOUT", ZMQ_HEARTBEAT_TIMEOUT, -1, 0),
    flag_of("XPUB_VERBOSER", ZMQ_XPUB_VERBOSER, publishers),
    integer("CONNECT_TIMEOUT", ZMQ_CONNECT_TIMEOUT, 0, 0),
    integer("TCP_MAXRT", ZMQ_TCP_MAXRT, 0, 0),
    integer("MULTICAST_MAXTPDU", ZMQ_MULTICAST_MAXTPDU, 1500, 1),
    integer("USE_FD", ZMQ_USE_FD, -1, -1),
    text("BINDTODEVICE", ZMQ_BINDTODEVICE),
    loose_flag("ZAP_ENFORCE_DOMAIN", ZMQ_ZAP_ENFORCE_DOMAIN, 0),
    loose_flag("LOOPBACK_FASTPATH", ZMQ_LOOPBACK_FASTPATH, 0),
    write_only("METADATA", ZMQ_METADATA, all, four_bytes::bad),
    loose_flag("MULTICAST_LOOP", ZMQ_MULTICAST_LOOP, 1),
    {"ROUTER_NOTIFY", ZMQ_ROUTER_NOTIFY, routers, all, form::integer, 0, 3},
    flag_of("XPUB_MANUAL_LAST_VALUE", ZMQ_XPUB_MANUAL_LAST_VALUE, publishers),
    text("SOCKS_USERNAME", ZMQ_SOCKS_USERNAME),
    text("SOCKS_PASSWORD", ZMQ_SOCKS_PASSWORD),
    integer("IN_BATCH_SIZE", ZMQ_IN_BATCH_SIZE, 8192, 1),
    integer("OUT_BATCH_SIZE", ZMQ_OUT_BATCH_SIZE, 8192, 1),
    flag_of("ONLY_FIRST_SUBSCRIBE", ZMQ_ONLY_FIRST_SUBSCRIBE, publishers | on(ZMQ_XSUB)),
    integer("RECONNECT_STOP", ZMQ_RECONNECT_STOP, 0, INT_MIN),
    write_only("HELLO_MSG", ZMQ_HELLO_MSG, all),
    write_only("DISCONNECT_MSG", ZMQ_DISCONNECT_MSG, all),
    integer("PRIORITY", ZMQ_PRIORITY, 0, 0),
    {"BUSY_POLL", ZMQ_BUSY_POLL, all, none, form::integer},
    write_only("HICCUP_MSG", ZMQ_HICCUP_MSG, all),
};

// Their tests are elsewhere: of descriptors, events and the type, of CURVE (below) and TLS, and of
// options of single types that say more than yes or no.
const std::vector<int> not_here{ZMQ_FD,
                                ZMQ_EVENTS,
                                ZMQ_TYPE,
                                ZMQ_THREAD_SAFE,
                                ZMQ_ROUTER_RAW,
                                ZMQ_CONNECT_ROUTING_ID,
                                ZMQ_XPUB_NODROP,
                                ZMQ_STREAM_NOTIFY,
                                ZMQ_XSUB_VERBOSE_UNSUBSCRIBE,
                                ZMQ_TOPICS_COUNT,
                                ZMQ_CURVE_SERVER,
                                ZMQ_CURVE_PUBLICKEY,
                                ZMQ_CURVE_SECRETKEY,
                                ZMQ_CURVE_SERVERKEY,
                                ZMQ_WSS_KEY_PEM,
                                ZMQ_WSS_CERT_PEM,
                                ZMQ_WSS_TRUST_PEM,
                                ZMQ_WSS_HOSTNAME,
                                ZMQ_WSS_TRUST_SYSTEM};

const option* find(int id)
{
    const auto row = std::ranges::find(sheet, id, &option::id);
    return row == sheet.end() ? nullptr : &*row;
}

bool covers(types whose, int type)
{
    return (whose >> type) & 1;
}

std::string label(int type, int id)
{
    const option* const row = find(id);
    std::ostringstream text;
    text << (row ? row->name : "number") << " (" << id << ") on type " << type;
    return text.str();
}

class ZlinkOnlyOptionSheet : public ::testing::Test {
protected:
    /// Calls `check(type, id)` for each socket type that is built and each option number.
    template <class Check>
    void for_every_pair(Check check)
    {
        int built = 0;
        for (int type = first_type; type <= last_type; ++type) {
            void* const probe = zmq_socket(context_, type);
            if (!probe) {
                ASSERT_EQ(EINVAL, zmq_errno());
                continue;
            }
            zmq_close(probe);
            ++built;
            for (int id = first_id; id <= last_id; ++id) {
                if (std::ranges::find(not_here, id) != not_here.end())
                    continue;
                SCOPED_TRACE(label(type, id));
                check(type, id);
            }
        }
        EXPECT_LE(11, built) << "the classic types";
    }

    /// 0 or the errno of reading with room for `bytes`, which becomes the length.
    static int read(void* socket, int id, void* room, std::size_t& bytes)
    {
        return zmq_getsockopt(socket, id, room, &bytes) == 0 ? 0 : zmq_errno();
    }
    static int write(void* socket, int id, int value)
    {
        return zmq_setsockopt(socket, id, &value, sizeof value) == 0 ? 0 : zmq_errno();
    }

    test_context context_;
};

/// The length that reading a fresh option gives, or nothing if the room does not fit.
std::optional<std::size_t> expected_length(const option& row, std::size_t room)
{
    switch (row.value) {
    case form::integer:
        return room == 4 ? std::optional<std::size_t>(4) : std::nullopt;
    case form::any_room:
        return room >= 4 ? std::optional<std::size_t>(4) : std::nullopt;
    case form::number:
        return room == 8 ? std::optional<std::size_t>(8) : std::nullopt;
    case form::text:
        return room >= 1 ? std::optional<std::size_t>(1) : std::nullopt;
    case form::bytes:
        return 0;
    }
    return std::nullopt;
}

TEST_F(ZlinkOnlyOptionSheet, says_which_options_can_be_read_with_which_room)
{
    for_every_pair([&](int type, int id) {
        test_socket socket = test_socket::with_defaults(context_, type);
        const option* const row = find(id);
        for (const std::size_t room : {0, 1, 3, 4, 5, 7, 8, 9, 256}) {
            std::array<char, 256> bytes;
            bytes.fill('#');
            std::size_t length = room;
            const int error = read(socket, id, bytes.data(), length);
            const auto expected =
                row && covers(row->readable, type) ? expected_length(*row, room) : std::nullopt;
            EXPECT_EQ(expected ? 0 : EINVAL, error) << room;
            if (expected && error == 0) {
                EXPECT_EQ(*expected, length) << room;
            }
            for (std::size_t i = error ? 0 : room; i < bytes.size(); ++i)
                ASSERT_EQ('#', bytes[i]) << "wrote beyond the room or despite the error";
            for (std::size_t i = length; i < room && !error; ++i)
                ASSERT_EQ('\0', bytes[i]) << "room that is not needed is zeroed";
        }
    });
}

TEST_F(ZlinkOnlyOptionSheet, says_the_defaults)
{
    for_every_pair([&](int type, int id) {
        const option* const row = find(id);
        if (!row || !covers(row->readable, type) || row->value == form::text ||
            row->value == form::bytes)
            return;
        test_socket socket = test_socket::with_defaults(context_, type);
        std::int64_t value = 0;
        std::size_t length = row->value == form::number ? 8 : 4;
        ASSERT_EQ(0, read(socket, id, &value, length));
        if (length == 4) {
            int narrow = 0;
            std::memcpy(&narrow, &value, sizeof narrow);
            value = narrow;
        }
        const bool subscriber = type == ZMQ_SUB || type == ZMQ_XSUB || type == ZMQ_DISH;
        EXPECT_EQ(id == ZMQ_LINGER && subscriber ? 0 : row->initial, value);
    });
}

int expected_write(const option& row, int type, int value)
{
    if (!covers(row.settable, type))
        return EINVAL;
    switch (row.value) {
    case form::integer:
        return value >= row.least && value <= row.most ? 0 : EINVAL;
    case form::number:
    case form::any_room:
        return EINVAL;
    case form::text:
    case form::bytes:
        return row.as_text == four_bytes::good ? 0 : EINVAL;
    }
    return EINVAL;
}

TEST_F(ZlinkOnlyOptionSheet, says_which_ints_can_be_set)
{
    for_every_pair([&](int type, int id) {
        test_socket socket = test_socket::with_defaults(context_, type);
        const option* const row = find(id);
        for (const int value :
             {INT_MIN, -100, -2, -1, 0, 1, 2, 3, 4, 100, 6553599, 6553600, INT_MAX}) {
            const int expected = row ? expected_write(*row, type, value) : EINVAL;
            std::array<char, 256> before{};
            std::array<char, 256> after{};
            std::size_t length = before.size();
            std::size_t four = 4;
            const bool text = row && row->value != form::integer;
            const bool comparable = read(socket, id, before.data(), text ? length : four) == 0;
            EXPECT_EQ(expected, write(socket, id, value)) << value;
            length = after.size();
            four = 4;
            if (comparable && expected != 0) {
                EXPECT_EQ(0, read(socket, id, after.data(), text ? length : four));
                EXPECT_EQ(before, after) << "a refused value changed the option: " << value;
            }
        }
    });
}

TEST_F(ZlinkOnlyOptionSheet, says_that_ints_have_four_bytes_and_numbers_eight)
{
    for_every_pair([&](int type, int id) {
        const option* const row = find(id);
        if (!row || !covers(row->settable, type) || row->value == form::text ||
            row->value == form::bytes)
            return;
        test_socket socket = test_socket::with_defaults(context_, type);
        const std::size_t good = row->value == form::number ? 8 : 4;
        std::array<unsigned char, 16> value{};
        value[0] = 1;
        for (const std::size_t length : {0, 1, 2, 3, 4, 5, 7, 8, 9, 16})
            EXPECT_EQ(length == good ? 0 : -1, zmq_setsockopt(socket, id, value.data(), length))
                << length;
        EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket, id, nullptr, good)));
    });
}

TEST_F(ZlinkOnlyOptionSheet, of_an_int_returns_what_was_set)
{
    for_every_pair([&](int type, int id) {
        const option* const row = find(id);
        if (!row || row->value != form::integer || !covers(row->settable & row->readable, type))
            return;
        test_socket socket = test_socket::with_defaults(context_, type);
        for (const int value : {-1, 0, 1, 2, 3, 100, 6553500}) {
            if (expected_write(*row, type, value) != 0)
                continue;
            ASSERT_EQ(0, write(socket, id, value));
            const int kept = row->truth                ? value != 0
                             : id == ZMQ_HEARTBEAT_TTL ? value - value % 100
                                                       : value;
            EXPECT_EQ(kept, socket.get(id)) << value;
        }
    });
}

TEST_F(ZlinkOnlyOptionSheet, of_options_of_the_type_itself)
{
    const types shared_types = on(ZMQ_CLIENT, ZMQ_SERVER, ZMQ_RADIO, ZMQ_DISH, ZMQ_GATHER,
                                  ZMQ_SCATTER, ZMQ_PEER, ZMQ_CHANNEL);
    for (int type = first_type; type <= last_type; ++type) {
        void* const socket = zmq_socket(context_, type);
        if (!socket)
            continue;
        int value = -1;
        std::size_t length = sizeof value;
        EXPECT_EQ(0, zmq_getsockopt(socket, ZMQ_TYPE, &value, &length));
        EXPECT_EQ(type, value);
        EXPECT_EQ(0, zmq_getsockopt(socket, ZMQ_THREAD_SAFE, &value, &length));
        EXPECT_EQ(covers(shared_types, type) ? 1 : 0, value) << type;
        for (const int id : {ZMQ_TYPE, ZMQ_THREAD_SAFE, ZMQ_FD, ZMQ_EVENTS})
            EXPECT_EQ(EINVAL, write(socket, id, 0)) << id;
        length = 8;
        EXPECT_TRUE(fails_with(EINVAL, zmq_getsockopt(socket, ZMQ_TYPE, &value, &length)));
        zmq_close(socket);
    }
}

// --- texts, blobs and lists ----------------------------------------------------------------------

class OptionTexts : public ::testing::Test {
protected:
    int set(int id, const void* value, std::size_t bytes)
    {
        return zmq_setsockopt(socket_, id, value, bytes);
    }
    int set(int id, std::string_view value) { return set(id, value.data(), value.size()); }

    test_context context_;
    test_socket socket_ = test_socket::with_defaults(context_, ZMQ_DEALER);
};

/// What builds with other features answer otherwise.
class ZlinkOnlyOptionTexts : public OptionTexts {};

/// The limits of one text option.
struct text_rule {
    int id;
    std::size_t most;
    bool null_empties;
    bool no_bytes_empty;
};

TEST_F(OptionTexts, have_their_limits)
{
    for (const auto& [id, most, null_empties, no_bytes_empty] :
         {text_rule{ZMQ_ZAP_DOMAIN, 255, false, false},
          text_rule{ZMQ_SOCKS_PROXY, 5000, true, false},
          text_rule{ZMQ_SOCKS_USERNAME, 255, true, true},
          text_rule{ZMQ_SOCKS_PASSWORD, 255, true, true},
          text_rule{ZMQ_BINDTODEVICE, 16, true, false}}) {
        SCOPED_TRACE(id);
        EXPECT_EQ("", socket_.get_text(id));
        for (const std::size_t size : {std::size_t{1}, most}) {
            const std::string value(size, 't');
            EXPECT_EQ(0, set(id, value)) << size;
            std::vector<char> room(most + 10, '#');
            std::size_t length = room.size();
            EXPECT_EQ(0, zmq_getsockopt(socket_, id, room.data(), &length));
            EXPECT_EQ(value.size() + 1, length);
            EXPECT_EQ(value, room.data());
            length = value.size();
            EXPECT_TRUE(fails_with(EINVAL, zmq_getsockopt(socket_, id, room.data(), &length)));
        }
        EXPECT_EQ(0, set(id, "kept"));
        if (most <= 255) {
            EXPECT_TRUE(fails_with(EINVAL, set(id, std::string(most + 1, 'x'))));
        }
        EXPECT_EQ("kept", socket_.get_text(id));
        EXPECT_EQ(no_bytes_empty ? 0 : -1, set(id, "", 0));
        EXPECT_EQ(no_bytes_empty ? "" : "kept", socket_.get_text(id));
        EXPECT_EQ(0, set(id, "again"));
        EXPECT_EQ(null_empties ? 0 : -1, set(id, nullptr, 0));
        EXPECT_EQ(null_empties ? "" : "again", socket_.get_text(id));
    }
}

TEST_F(OptionTexts, of_plain_choose_the_mechanism)
{
    for (const int id : {ZMQ_PLAIN_USERNAME, ZMQ_PLAIN_PASSWORD}) {
        EXPECT_EQ(0, set(id, nullptr, 0));
        EXPECT_TRUE(fails_with(EINVAL, set(id, "", 0)));
        EXPECT_TRUE(fails_with(EINVAL, set(id, std::string(256, 'u'))));
        EXPECT_EQ(ZMQ_NULL, socket_.get(ZMQ_MECHANISM));
        EXPECT_EQ("", socket_.get_text(id));
        EXPECT_EQ(0, set(id, std::string(255, 'u')));
        EXPECT_EQ(ZMQ_PLAIN, socket_.get(ZMQ_MECHANISM));
        EXPECT_EQ(0, socket_.get(ZMQ_PLAIN_SERVER));
        EXPECT_EQ(std::string(255, 'u'), socket_.get_text(id));
        EXPECT_EQ(0, set(id, nullptr, 0));
        EXPECT_EQ(ZMQ_NULL, socket_.get(ZMQ_MECHANISM));
        EXPECT_EQ(std::string(255, 'u'), socket_.get_text(id));
    }
}

TEST_F(OptionTexts, the_security_mechanism_that_is_set_last_counts)
{
    const int on = 1;
    const int off = 0;
    EXPECT_EQ(0, set(ZMQ_PLAIN_SERVER, &on, sizeof on));
    EXPECT_EQ(1, socket_.get(ZMQ_PLAIN_SERVER));
    EXPECT_EQ(ZMQ_PLAIN, socket_.get(ZMQ_MECHANISM));
    EXPECT_EQ(0, set(ZMQ_PLAIN_USERNAME, "admin"));
    EXPECT_EQ(0, socket_.get(ZMQ_PLAIN_SERVER));
    EXPECT_EQ(ZMQ_PLAIN, socket_.get(ZMQ_MECHANISM));
    EXPECT_EQ(0, set(ZMQ_PLAIN_SERVER, &off, sizeof off));
    EXPECT_EQ(ZMQ_NULL, socket_.get(ZMQ_MECHANISM));
}

TEST_F(OptionTexts, of_curve_are_keys_that_choose_the_mechanism)
{
    if (!zmq_has("curve"))
        GTEST_SKIP() << "the library has no CURVE";
    const std::string text = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
    std::string bytes(32, '\0');
    zmq_z85_decode(reinterpret_cast<uint8_t*>(bytes.data()), text.c_str());
    const int on = 1;
    const int off = 0;
    for (const int id : {ZMQ_CURVE_PUBLICKEY, ZMQ_CURVE_SECRETKEY, ZMQ_CURVE_SERVERKEY}) {
        SCOPED_TRACE(id);
        const auto kept = [&](std::size_t room) {
            std::string value(room, '?');
            std::size_t size = room;
            EXPECT_EQ(0, zmq_getsockopt(socket_, id, value.data(), &size));
            return value.substr(0, size);
        };
        EXPECT_EQ(std::string(32, '\0'), kept(32));
        EXPECT_EQ(std::string(40, '0') + '\0', kept(41));
        for (const std::string& wrong :
             {std::string(), std::string(31, 'k'), std::string(33, 'k'), std::string(39, '0'),
              std::string(40, '"'), text + "x", text + std::string(2, '\0')})
            EXPECT_TRUE(fails_with(EINVAL, set(id, wrong.data(), wrong.size())));
        EXPECT_EQ(ZMQ_NULL, socket_.get(ZMQ_MECHANISM));
        for (const std::string& good : {bytes, text, text + '\0'}) {
            EXPECT_EQ(0, set(id, good.data(), good.size()));
            EXPECT_EQ(ZMQ_CURVE, socket_.get(ZMQ_MECHANISM));
            EXPECT_EQ(bytes, kept(32));
            EXPECT_EQ(text + '\0', kept(41));
        }
        std::array<char, 64> room{};
        for (std::size_t size : {0, 31, 33, 40, 42, 64})
            EXPECT_TRUE(fails_with(EINVAL, zmq_getsockopt(socket_, id, room.data(), &size)));
        EXPECT_EQ(0, set(ZMQ_CURVE_SERVER, &on, sizeof on));
        EXPECT_EQ(0, set(id, bytes));
        EXPECT_EQ(id == ZMQ_CURVE_SERVERKEY ? 0 : 1, socket_.get(ZMQ_CURVE_SERVER));
        EXPECT_EQ(0, set(ZMQ_CURVE_SERVER, &off, sizeof off));
        EXPECT_EQ(ZMQ_NULL, socket_.get(ZMQ_MECHANISM));
    }
}

TEST_F(ZlinkOnlyOptionTexts, of_gssapi_do_not_exist_nor_do_those_of_curve_without_it)
{
    const std::string key(40, '0');
    std::vector<int> missing{ZMQ_GSSAPI_SERVER, ZMQ_GSSAPI_PRINCIPAL, ZMQ_GSSAPI_SERVICE_PRINCIPAL,
                             ZMQ_GSSAPI_PLAINTEXT};
    if (!zmq_has("curve"))
        missing.insert(missing.end(), {ZMQ_CURVE_SERVER, ZMQ_CURVE_PUBLICKEY, ZMQ_CURVE_SECRETKEY,
                                       ZMQ_CURVE_SERVERKEY});
    for (const int id : missing) {
        const int on = 1;
        EXPECT_TRUE(fails_with(EINVAL, set(id, &on, sizeof on))) << id;
        for (const std::size_t size : {32, 40})
            EXPECT_TRUE(fails_with(EINVAL, set(id, key.data(), size))) << id;
        std::array<char, 64> room{};
        for (std::size_t size : {4, 32, 41})
            EXPECT_TRUE(fails_with(EINVAL, zmq_getsockopt(socket_, id, room.data(), &size))) << id;
    }
}

TEST_F(ZlinkOnlyOptionTexts, of_messages_to_and_from_peers_take_any_bytes_and_none)
{
    for (const int id : {ZMQ_HELLO_MSG, ZMQ_DISCONNECT_MSG, ZMQ_HICCUP_MSG}) {
        for (const std::size_t size : {1, 4, 256, 100'000})
            EXPECT_EQ(0, set(id, std::string(size, '\0'))) << size;
        EXPECT_EQ(0, set(id, "", 0));
        EXPECT_EQ(0, set(id, nullptr, 0));
        EXPECT_TRUE(fails_with(EINVAL, set(id, nullptr, 1)));
    }
}

TEST_F(OptionTexts, of_the_accept_filter_are_networks)
{
    for (const char* good : {"127.0.0.1", "127.0.0.1/8", "10.0.0.0/0", "192.0.2.1/32"})
        EXPECT_EQ(0, set(ZMQ_TCP_ACCEPT_FILTER, good)) << good;
    for (const char* bad : {"", "nonsense", "localhost", "lo", "*", "127.0.0.256", "127.0.0.1/",
                            "127.0.0.1/33", "127.0.0.1/-1", "127.0.0.1/x", "127.0.0.1/8/9", "/8",
                            "127.0.0.1:80", " 127.0.0.1", "127.0.0.1 "})
        EXPECT_TRUE(fails_with(EINVAL, set(ZMQ_TCP_ACCEPT_FILTER, bad))) << bad;
    const std::array six{"::1", "::1/128", "fe80::/10", "[::1]/64", "::/0"};
    for (const char* network : six)
        EXPECT_TRUE(fails_with(EINVAL, set(ZMQ_TCP_ACCEPT_FILTER, network))) << network;
    socket_.set(ZMQ_IPV6, 1);
    for (const char* network : six)
        EXPECT_EQ(0, set(ZMQ_TCP_ACCEPT_FILTER, network)) << network;
    EXPECT_EQ(0, set(ZMQ_TCP_ACCEPT_FILTER, "127.0.0.1/8"));
    EXPECT_TRUE(fails_with(EINVAL, set(ZMQ_TCP_ACCEPT_FILTER, "::1/129")));
    // As some programs give it: with the NUL.
    EXPECT_EQ(0, set(ZMQ_TCP_ACCEPT_FILTER, "127.0.0.1", sizeof "127.0.0.1"));
    EXPECT_TRUE(fails_with(EINVAL, set(ZMQ_TCP_ACCEPT_FILTER, std::string(256, '1'))));
    EXPECT_EQ(0, set(ZMQ_TCP_ACCEPT_FILTER, nullptr, 0));
}

TEST_F(ZlinkOnlyOptionTexts, of_origins_are_origins)
{
    for (const int id : {ZMQ_WS_ALLOWED_ORIGINS, ZMQ_WS_ORIGIN}) {
        SCOPED_TRACE(id);
        EXPECT_EQ("", socket_.get_text(id));
        for (const char* good : {"https://example.org", "HTTP://[::1]:8080", "null"}) {
            EXPECT_EQ(0, set(id, good));
            EXPECT_EQ(good, socket_.get_text(id));
        }
        for (const std::string& bad :
             {"*"s, "example.org"s, "https://example.org/"s, "https://*.example.org"s,
              "https://example.org:0"s, " "s, ","s, "https://example.org\0"s,
              "https://" + std::string(2000, 'x')}) {
            EXPECT_TRUE(fails_with(EINVAL, set(id, bad))) << bad;
            EXPECT_EQ("null", socket_.get_text(id)) << bad;
        }
        EXPECT_TRUE(fails_with(EINVAL, set(id, "1234", 4)));
        EXPECT_EQ(0, set(id, ""));
        EXPECT_EQ("", socket_.get_text(id));
        EXPECT_EQ(0, set(id, "null"));
        EXPECT_EQ(0, set(id, nullptr, 0));
        EXPECT_EQ("", socket_.get_text(id));
    }
    for (const char* list : {"https://a,https://b", " https://a  null\t", "https://a,"}) {
        EXPECT_EQ(0, set(ZMQ_WS_ALLOWED_ORIGINS, list));
        EXPECT_EQ(list, socket_.get_text(ZMQ_WS_ALLOWED_ORIGINS));
        EXPECT_TRUE(fails_with(EINVAL, set(ZMQ_WS_ORIGIN, list)));
    }
}

TEST_F(OptionTexts, of_the_ipc_filters_are_ids)
{
    const int value = 1234;
    for (const int id : {ZMQ_IPC_FILTER_PID, ZMQ_IPC_FILTER_UID, ZMQ_IPC_FILTER_GID}) {
        EXPECT_EQ(0, set(id, &value, sizeof value));
        EXPECT_EQ(0, set(id, nullptr, 0));
        EXPECT_TRUE(fails_with(EINVAL, set(id, "", 0)));
        EXPECT_TRUE(fails_with(EINVAL, set(id, nullptr, sizeof value)));
        for (const std::size_t size : {1, 3, 5, 8})
            EXPECT_TRUE(fails_with(EINVAL, set(id, "12345678", size))) << size;
    }
}

TEST_F(ZlinkOnlyOptionTexts, of_metadata_have_a_name_that_begins_with_x)
{
    for (const char* good : {"X-name:value", "X-name:value:more", "X-:value", "X-:v"})
        EXPECT_EQ(0, set(ZMQ_METADATA, good)) << good;
    EXPECT_EQ(0, set(ZMQ_METADATA, "X-" + std::string(253, 'n') + ":value"));
    EXPECT_EQ(0, set(ZMQ_METADATA, "X-long:" + std::string(5000, 'v')));
    for (const char* bad : {"", "X-name", "X-name:", ":value", "x-name:value", "name:value",
                            "Xname:value", "X:value"})
        EXPECT_TRUE(fails_with(EINVAL, set(ZMQ_METADATA, bad))) << bad;
    EXPECT_TRUE(fails_with(EINVAL, set(ZMQ_METADATA, "X-" + std::string(254, 'n') + ":value")));
    EXPECT_TRUE(fails_with(EINVAL, set(ZMQ_METADATA, nullptr, 0)));
}

class Metadata : public transport_test {};

TEST_P(Metadata, arrives_with_the_messages_of_the_peer)
{
    const configuration announce = [](test_socket& socket) {
        socket.set(ZMQ_METADATA, "X-colour:green");
        socket.set(ZMQ_METADATA, "X-colour:red");
        socket.set(ZMQ_METADATA, "X-path:a:b");
    };
    auto [bound, peer, address] =
        connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR, announce, announce);
    peer.send("from the peer");
    bound.send("from the bound");
    for (test_socket* receiver : {&bound, &peer}) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        ASSERT_LE(0, zmq_msg_recv(&message, *receiver, 0));
        EXPECT_STREQ("green", zmq_msg_gets(&message, "X-colour")) << "the first of a name stays";
        EXPECT_STREQ("a:b", zmq_msg_gets(&message, "X-path"));
        EXPECT_TRUE(fails_with(EINVAL, zmq_msg_gets(&message, "X-Colour")));
        zmq_msg_close(&message);
    }
}

TEST_P(Metadata, is_that_of_the_time_of_the_connect)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    peer.set(ZMQ_METADATA, "X-late:value");
    peer.send("hello");
    zmq_msg_t message;
    zmq_msg_init(&message);
    ASSERT_LE(0, zmq_msg_recv(&message, bound, 0));
    EXPECT_TRUE(fails_with(EINVAL, zmq_msg_gets(&message, "X-late")));
    zmq_msg_close(&message);
}

ZLINK_WIRE_TRANSPORTS(Metadata);

} // namespace
} // namespace zlink::test
