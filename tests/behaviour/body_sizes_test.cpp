// SPDX-License-Identifier: Apache-2.0
// Streams of messages whose sizes lie on both sides of every border from which on a body travels in
// another way: in a batch or by itself, copied, referred to, or read into memory of its own.
#include "support/fixture.hpp"
#include "support/much_traffic.hpp"
#include "support/numbered_body.hpp"

#include <deque>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

namespace zlink::test {
namespace {

constexpr std::size_t border_bytes[] = {256, 4'096, 8'192, 24'576, 32'768, 65'483, 131'072};
constexpr unsigned bursts = 60;

std::vector<std::size_t> sizes_around_borders()
{
    std::vector<std::size_t> sizes;
    for (const std::size_t border : border_bytes)
        for (const std::size_t bytes : {border - 10, border - 1, border, border + 1})
            sizes.push_back(bytes);
    return sizes;
}

/// A received message that is looked at some messages later, when the memory it may share with
/// others has been used for those.
class kept_message {
public:
    explicit kept_message(test_socket& from)
    {
        zmq_msg_init(&message_);
        EXPECT_LE(0, zmq_msg_recv(&message_, from, 0));
    }
    ~kept_message() { zmq_msg_close(&message_); }
    kept_message(const kept_message&) = delete;
    kept_message& operator=(const kept_message&) = delete;
    std::string_view text()
    {
        return {static_cast<const char*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
    }

private:
    zmq_msg_t message_;
};

class BodySizes : public ::testing::TestWithParam<std::tuple<transport, int>> {
protected:
    /// The numbers of messages are those of their sizes, over and over, `repeat` times each.
    template <class Use>
    static void for_each_message(unsigned repeat, Use use)
    {
        static const std::vector<std::size_t> sizes = sizes_around_borders();
        unsigned number = 0;
        for (unsigned burst = 0; burst < bursts; ++burst)
            for (unsigned i = 0; i < repeat; ++i, ++number)
                use(number, sizes[burst % sizes.size()]);
    }

    test_context context_;
};

TEST_P(BodySizes, arrive_as_they_were_sent)
{
    const auto [kind, repeat] = GetParam();
    auto [receiver, sender, address] = connect_pair(context_, kind, ZMQ_PULL, ZMQ_PUSH);
    std::jthread sending([&sender = sender, repeat = repeat] {
        for_each_message(static_cast<unsigned>(repeat), [&](unsigned number, std::size_t bytes) {
            sender.send(body_of(number, bytes));
        });
    });
    for_each_message(static_cast<unsigned>(repeat), [&](unsigned number, std::size_t bytes) {
        if (HasFailure())
            return;
        EXPECT_TRUE(receiver.recv() == body_of(number, bytes)) << number << ": " << bytes;
    });
}

TEST_P(BodySizes, stay_as_they_were_sent)
{
    const auto [kind, repeat] = GetParam();
    auto [receiver, sender, address] = connect_pair(context_, kind, ZMQ_PULL, ZMQ_PUSH);
    std::jthread sending([&sender = sender, repeat = repeat] {
        for_each_message(static_cast<unsigned>(repeat), [&](unsigned number, std::size_t bytes) {
            sender.send("first", ZMQ_SNDMORE);
            sender.send(body_of(number, bytes));
        });
    });
    std::deque<kept_message> kept;
    std::deque<std::string> expected;
    for_each_message(static_cast<unsigned>(repeat), [&](unsigned number, std::size_t bytes) {
        if (HasFailure())
            return;
        EXPECT_EQ("first", kept_message(receiver).text());
        kept.emplace_back(receiver);
        expected.push_back(body_of(number, bytes));
        if (kept.size() < 10)
            return;
        EXPECT_TRUE(kept.front().text() == expected.front()) << number << ": " << bytes;
        kept.pop_front();
        expected.pop_front();
    });
}

INSTANTIATE_TEST_SUITE_P(Over, BodySizes,
                         ::testing::Combine(::testing::ValuesIn(links_for_much_traffic()),
                                            ::testing::Values(1, 40)),
                         [](const auto& info) {
                             return std::string(name_of(std::get<0>(info.param))) + "_" +
                                    std::to_string(std::get<1>(info.param)) + "_of_a_size";
                         });

} // namespace
} // namespace zlink::test
