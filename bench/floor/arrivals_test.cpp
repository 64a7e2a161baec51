// SPDX-License-Identifier: Apache-2.0
#include "floor/arrivals.hpp"

#include "floor/batch.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

namespace zlink::bench {
namespace {

constexpr std::size_t body_bytes = 300; // ZMTP gives it a long header

/// Connections with this thread at both ends, so that they carry no more than the kernel keeps.
class arrivals : public testing::Test {
protected:
    void connect(std::size_t count)
    {
        for (std::size_t i = 0; i < count; ++i) {
            made_.push_back(bare::connect(transport::ipc));
        }
    }

    std::vector<bare::channel*> sinks() const
    {
        std::vector<bare::channel*> all;
        for (const bare::connection& each : made_) {
            all.push_back(each.sink.get());
        }
        return all;
    }

    std::vector<batch> batches(std::size_t limit_bytes) const
    {
        std::vector<batch> all;
        for (const bare::connection& each : made_) {
            all.emplace_back(format_, std::vector{each.source.get()}, limit_bytes);
        }
        return all;
    }

    record_format format_{body_bytes};
    std::vector<bare::connection> made_;
};

TEST_F(arrivals, come_from_the_party_of_each_connection)
{
    connect(3);
    arrivals_checker checker(format_, sinks(), {true, 5, 1});
    auto through = batches(2 * format_.bytes());
    send_rounds(through, {0, 5, 5}, nullptr);
    checker.receive(15);
    checker.require_complete(5);
    EXPECT_THROW(checker.require_complete(4), std::runtime_error);
}

TEST_F(arrivals, are_refused_at_the_wrong_connection)
{
    connect(2);
    arrivals_checker checker(format_, sinks(), {true, 0, 1});
    batch(format_, {made_[0].source.get()}, 1).append({1, 0}, 0);
    EXPECT_THROW(checker.receive(1), std::runtime_error);
}

TEST_F(arrivals, are_refused_if_one_is_missing_or_repeated)
{
    connect(1);
    for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{2}}) {
        arrivals_checker checker(format_, sinks(), {false, 0, 1});
        batch through(format_, {made_[0].source.get()}, 2 * format_.bytes());
        through.append({0, 0}, 0);
        through.append({0, wrong}, 0);
        EXPECT_THROW(checker.receive(2), std::runtime_error) << wrong;
    }
}

TEST_F(arrivals, are_refused_if_they_are_too_many)
{
    connect(1);
    arrivals_checker checker(format_, sinks(), {false, 0, 1});
    auto through = batches(4 * format_.bytes());
    send_rounds(through, {0, 4, 0}, nullptr);
    EXPECT_THROW(checker.receive(3), std::runtime_error);
}

TEST_F(arrivals, are_whole_messages_however_the_bytes_come)
{
    connect(1);
    arrivals_checker checker(format_, sinks(), {false, 0, 1});
    std::vector<char> bytes;
    format_.append(bytes, {0, 0}, 0);
    format_.append(bytes, {0, 1}, 0);
    bare::channel& source = *made_[0].source;
    const std::size_t cut = format_.bytes() + 3;
    source.write_all(bytes.data(), cut);
    checker.receive(1);
    source.write_all(bytes.data() + cut, bytes.size() - cut);
    checker.receive(1);
    checker.require_complete(2);
}

TEST_F(arrivals, have_a_latency_if_they_say_from_when)
{
    connect(1);
    arrivals_checker checker(format_, sinks(), {false, 0, 1});
    batch through(format_, {made_[0].source.get()}, 2 * format_.bytes());
    through.append({0, 0}, 0);
    through.append({0, 1}, 1);
    checker.receive(2);
    ASSERT_EQ(checker.latencies_ns().size(), 1u);
    EXPECT_GT(checker.latencies_ns().front(), 0);
}

TEST(record_format, refuses_what_has_another_header)
{
    const record_format format(64);
    std::vector<char> bytes;
    format.append(bytes, {3, 4}, 0);
    EXPECT_EQ(bytes.size(), 66u);
    EXPECT_EQ(format.number_of(bytes.data()).party, 3u);
    bytes[1] = 65;
    EXPECT_THROW(format.number_of(bytes.data()), std::runtime_error);
}

TEST(batch_limit, is_what_the_high_water_mark_allows)
{
    EXPECT_EQ(batch_limit_bytes(66, 1'000'000, 0), 62u * 1024);
    EXPECT_EQ(batch_limit_bytes(66, 1'000'000, 10), 660u);
    EXPECT_EQ(batch_limit_bytes(66, 40, 1000), 660u);
    EXPECT_EQ(batch_limit_bytes(100'000, 1, 1), 100'000u);
}

} // namespace
} // namespace zlink::bench
