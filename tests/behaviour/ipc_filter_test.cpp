// SPDX-License-Identifier: Apache-2.0
// ZMQ_IPC_FILTER_PID, _UID and _GID: who may connect to an ipc endpoint.
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <array>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

struct filter {
    int option;
    int value;
};

class IpcFilter : public ::testing::Test {
protected:
    /// Is a peer of this process admitted under these filters?
    bool admitted(std::initializer_list<filter> filters) { return gets_in(filters, patience); }
    bool kept_out(std::initializer_list<filter> filters) { return !gets_in(filters, 100ms); }

    static constexpr int nobody_here = 4'000'000;
    const filter pid_{ZMQ_IPC_FILTER_PID, ::getpid()};
    const filter uid_{ZMQ_IPC_FILTER_UID, static_cast<int>(::getuid())};
    const filter gid_{ZMQ_IPC_FILTER_GID, static_cast<int>(::getgid())};
    const filter other_pid_{ZMQ_IPC_FILTER_PID, nobody_here};
    const filter other_uid_{ZMQ_IPC_FILTER_UID, nobody_here};
    const filter other_gid_{ZMQ_IPC_FILTER_GID, nobody_here};
    test_context context_;

private:
    bool gets_in(std::initializer_list<filter> filters, std::chrono::milliseconds window)
    {
        test_socket bound(context_, ZMQ_PULL);
        for (const filter& one : filters)
            bound.set(one.option, one.value);
        const std::string address = bound.bind_and_resolve(fresh_bind_address(transport::ipc));
        test_socket peer(context_, ZMQ_PUSH);
        peer.set(ZMQ_RECONNECT_IVL, 5);
        peer.set(ZMQ_IMMEDIATE, 1); // writable only once the handshake is done
        peer.connect(address);
        if (!peer.writable(window))
            return false;
        peer.send("x");
        return bound.readable();
    }
};

TEST_F(IpcFilter, admits_all_without_filters)
{
    EXPECT_TRUE(admitted({}));
}

TEST_F(IpcFilter, admits_the_process_the_user_and_the_group_named)
{
    EXPECT_TRUE(admitted({pid_}));
    EXPECT_TRUE(admitted({uid_}));
    EXPECT_TRUE(admitted({gid_}));
    EXPECT_TRUE(admitted({other_pid_, pid_}));
}

TEST_F(IpcFilter, sends_others_away)
{
    EXPECT_TRUE(kept_out({other_pid_}));
    EXPECT_TRUE(kept_out({other_uid_}));
    EXPECT_TRUE(kept_out({other_gid_}));
    EXPECT_TRUE(kept_out({other_pid_, other_uid_, other_gid_}));
}

TEST_F(IpcFilter, needs_one_that_fits)
{
    EXPECT_TRUE(admitted({other_pid_, uid_}));
    EXPECT_TRUE(admitted({other_uid_, other_gid_, pid_}));
    EXPECT_TRUE(admitted({other_pid_, other_uid_, gid_}));
}

TEST_F(IpcFilter, counts_the_groups_the_user_is_a_member_of)
{
    const passwd* const user = ::getpwuid(::getuid());
    if (!user)
        GTEST_SKIP() << "this user is not in the database";
    std::array<gid_t, 256> groups{};
    int count = static_cast<int>(groups.size());
    ASSERT_LE(0, ::getgrouplist(user->pw_name, user->pw_gid, groups.data(), &count));
    for (int index = 0; index < count; ++index)
        EXPECT_TRUE(admitted({{ZMQ_IPC_FILTER_GID, static_cast<int>(groups[index])}}));
}

TEST_F(IpcFilter, can_be_taken_back)
{
    test_socket bound(context_, ZMQ_PULL);
    for (const filter& one : {other_pid_, other_uid_, other_gid_}) {
        bound.set(one.option, one.value);
        ASSERT_EQ(0, zmq_setsockopt(bound, one.option, nullptr, 0));
        const char short_value = 1;
        EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(bound, one.option, &short_value, 1)));
    }
    const std::string address = bound.bind_and_resolve(fresh_bind_address(transport::ipc));
    test_socket peer(context_, ZMQ_PUSH);
    peer.connect(address);
    peer.send("admitted");
    EXPECT_EQ("admitted", bound.recv());
}

TEST_F(IpcFilter, is_that_of_the_time_of_the_bind)
{
    test_socket bound(context_, ZMQ_PULL);
    const std::string open = bound.bind_and_resolve(fresh_bind_address(transport::ipc));
    for (const filter& one : {other_pid_, other_uid_, other_gid_}) {
        bound.set(one.option, one.value);
        const std::string closed = bound.bind_and_resolve(fresh_bind_address(transport::ipc));
        EXPECT_EQ(10u, raw_peer(open).recv_at_most(10).size()) << "greeted";
        ASSERT_EQ(0, zmq_setsockopt(bound, one.option, nullptr, 0));
        EXPECT_EQ("", raw_peer(closed).recv_at_most(10)) << "sent away";
    }
}

} // namespace
} // namespace zlink::test
