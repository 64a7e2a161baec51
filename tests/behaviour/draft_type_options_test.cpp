// SPDX-License-Identifier: Apache-2.0
// Options of particular socket types, on the types of the draft API: all but one are refused.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/fixture.hpp"

#include <algorithm>
#include <ostream>
#include <vector>

namespace zlink::test {
namespace {

struct type_option {
    const char* name;
    int id;
    std::vector<int> types; ///< draft types that take it
};

void PrintTo(const type_option& option, std::ostream* out)
{
    *out << option.name;
}

class DraftTypeOption : public ::testing::TestWithParam<type_option> {
protected:
    /// Calls `check(type, socket)` for each draft type that is built.
    template <class Check>
    void for_every_type(Check check)
    {
        for (int type = ZMQ_SERVER; type <= ZMQ_CHANNEL; ++type) {
            void* const handle = zmq_socket(context_, type);
            if (!handle) {
                ASSERT_EQ(EINVAL, zmq_errno());
                continue;
            }
            SCOPED_TRACE(type);
            check(type, handle);
            zmq_close(handle);
        }
    }
    static bool takes_it(int type)
    {
        return std::ranges::find(GetParam().types, type) != GetParam().types.end();
    }

    test_context context_;
};

TEST_P(DraftTypeOption, is_accepted_by_its_types_only)
{
    for_every_type([](int type, void* socket) {
        for (const int value : {0, 1, 2}) {
            const int result = zmq_setsockopt(socket, GetParam().id, &value, sizeof value);
            if (takes_it(type))
                EXPECT_EQ(0, result) << value;
            else
                EXPECT_TRUE(fails_with(EINVAL, result)) << value;
        }
    });
}

TEST_P(DraftTypeOption, is_refused_if_it_is_negative_or_has_another_length)
{
    for_every_type([](int, void* socket) {
        const int negative = -1;
        EXPECT_TRUE(
            fails_with(EINVAL, zmq_setsockopt(socket, GetParam().id, &negative, sizeof negative)));
        const char zeros[8] = {};
        for (const std::size_t size : {0, 1, 3, 5, 8})
            EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket, GetParam().id, zeros, size)))
                << size;
        EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket, GetParam().id, nullptr, 4)));
    });
}

TEST_P(DraftTypeOption, cannot_be_read)
{
    for_every_type([](int, void* socket) {
        char room[256] = {};
        for (std::size_t size : {4, 8, 256})
            EXPECT_TRUE(fails_with(EINVAL, zmq_getsockopt(socket, GetParam().id, room, &size)))
                << size;
    });
}

INSTANTIATE_TEST_SUITE_P(
    Options, DraftTypeOption,
    ::testing::Values(type_option{"ROUTER_MANDATORY", ZMQ_ROUTER_MANDATORY, {}},
                      type_option{"ROUTER_RAW", ZMQ_ROUTER_RAW, {}},
                      type_option{"ROUTER_HANDOVER", ZMQ_ROUTER_HANDOVER, {}},
                      type_option{"PROBE_ROUTER", ZMQ_PROBE_ROUTER, {}},
                      type_option{"REQ_CORRELATE", ZMQ_REQ_CORRELATE, {}},
                      type_option{"REQ_RELAXED", ZMQ_REQ_RELAXED, {}},
                      type_option{"CONNECT_ROUTING_ID", ZMQ_CONNECT_ROUTING_ID, {}},
                      type_option{"XPUB_VERBOSE", ZMQ_XPUB_VERBOSE, {}},
                      type_option{"XPUB_VERBOSER", ZMQ_XPUB_VERBOSER, {}},
                      type_option{"XPUB_NODROP", ZMQ_XPUB_NODROP, {ZMQ_RADIO}},
                      type_option{"XPUB_MANUAL", ZMQ_XPUB_MANUAL, {}},
                      type_option{"XPUB_MANUAL_LAST_VALUE", ZMQ_XPUB_MANUAL_LAST_VALUE, {}},
                      type_option{"XPUB_WELCOME_MSG", ZMQ_XPUB_WELCOME_MSG, {}},
                      type_option{"STREAM_NOTIFY", ZMQ_STREAM_NOTIFY, {}},
                      type_option{"ONLY_FIRST_SUBSCRIBE", ZMQ_ONLY_FIRST_SUBSCRIBE, {}},
                      type_option{"XSUB_VERBOSE_UNSUBSCRIBE", ZMQ_XSUB_VERBOSE_UNSUBSCRIBE, {}},
                      type_option{"TOPICS_COUNT", ZMQ_TOPICS_COUNT, {}},
                      type_option{"SUBSCRIBE", ZMQ_SUBSCRIBE, {}},
                      type_option{"UNSUBSCRIBE", ZMQ_UNSUBSCRIBE, {}}),
    [](const auto& info) { return std::string(info.param.name); });

} // namespace
} // namespace zlink::test
