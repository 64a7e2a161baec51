// SPDX-License-Identifier: Apache-2.0
#include "runner/summary.hpp"

#include "runner/statistics.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zlink::bench::runner {
namespace {

run_record run_of(int number, const std::string& line)
{
    run_record run;
    run.number = number;
    run.line = line;
    run.fields = *json_fields::parse(line);
    return run;
}

/// tcp, and tls in half of the runs as fast and in the other half a quarter; no ws.
std::vector<cell_record> records()
{
    std::vector<cell_record> all(3);
    all[0].runs = {run_of(1, R"({"messages_per_s": 1000, "peak_memory_kib": 100})"),
                   run_of(2, R"({"messages_per_s": 4000, "peak_memory_kib": 100})")};
    all[1].what.transport = transport::ws;
    all[1].runs = {run_of(1, "{}"), run_of(2, "{}")};
    for (run_record& each : all[1].runs) {
        each.skipped = true;
        each.failure = "skipped: no ws";
    }
    all[2].what.transport = transport::tls;
    all[2].runs = {run_of(1, R"({"messages_per_s": 500, "peak_memory_kib": 150})"),
                   run_of(2, R"({"messages_per_s": 1000, "peak_memory_kib": 150})")};
    return all;
}

settings comparing()
{
    settings chosen;
    chosen.libraries = {{"zlink", "/", "/worker"}};
    chosen.runs = 2;
    chosen.compared = {transport::tcp, transport::ws, transport::tls};
    return chosen;
}

TEST(summary, has_the_ratios_of_transports)
{
    const auto tables = comparison(comparing(), records());
    ASSERT_EQ(tables.size(), 1u);
    using row = std::vector<std::string>;
    EXPECT_EQ(tables[0].headers, (row{"pattern", "transport", "bytes", "zlink", "rate / tcp",
                                      "CPU / tcp", "memory / tcp"}));
    ASSERT_EQ(tables[0].rows.size(), 3u);
    EXPECT_EQ(tables[0].rows[0],
              (row{"pair", "tcp", "64", "2.5 k [1.0 k .. 4.0 k]", "-", "-", "-"}));
    EXPECT_EQ(tables[0].rows[1], (row{"pair", "ws", "64", "n/a", "-", "-", "-"}));
    EXPECT_EQ(tables[0].rows[2], (row{"pair", "tls", "64", "750 [500 .. 1.0 k]",
                                      "0.38x [0.25 .. 0.50]", "-", "1.50x"}));
    EXPECT_TRUE(failures(comparing(), records()).empty());
}

TEST(summary, concludes_about_each_transport)
{
    EXPECT_EQ(conclusions(comparing(), records()),
              (std::vector<std::string>{"Messages per second, zlink: tls / tcp: 0.38x (geometric "
                                        "mean of 1 cells, 0.38x to 0.38x)",
                                        "Peak memory, zlink: tls / tcp: 1.50x (geometric mean of 1 "
                                        "cells, 1.50x to 1.50x)"}));
}

/// A cell with many connections, two libraries and sockets alone.
settings with_floor()
{
    settings chosen;
    chosen.libraries = {
        {"zlink", "/", "/worker"}, {"other", "/", "/worker"}, {"sockets", {}, "/floor"}};
    chosen.runs = 2;
    return chosen;
}

cell_record record_of(mode how, const std::string& field, const std::vector<double>& values)
{
    cell_record record;
    record.what.pattern = pattern::broker;
    record.what.extents = {4, 4, 10};
    record.what.mode = how;
    for (std::size_t i = 0; i < values.size(); ++i) {
        record.runs.push_back(run_of(static_cast<int>(1 + i / 3),
                                     "{\"" + field + "\": " + std::to_string(values[i]) + "}"));
        record.runs.back().library = i % 3;
    }
    return record;
}

TEST(summary, has_the_share_of_the_floor_of_each_library)
{
    const std::vector<cell_record> all{
        record_of(mode::throughput, "messages_per_s", {500, 100, 1000, 300, 200, 1000})};
    const auto tables = overview(with_floor(), all);
    ASSERT_EQ(tables.size(), 1u);
    using row = std::vector<std::string>;
    EXPECT_EQ(tables[0].headers,
              (row{"pattern", "transport", "bytes", "zlink", "other", "sockets",
                   "rate ratio vs other", "CPU ratio vs other", "memory ratio vs other",
                   "zlink: share of the floor", "other: share of the floor"}));
    ASSERT_EQ(tables[0].rows.size(), 1u);
    EXPECT_EQ(tables[0].rows[0],
              (row{"broker 4x4x10", "tcp", "64", "400 [300 .. 500]", "150 [100 .. 200]",
                   "1.0 k [1.0 k .. 1.0 k]", "3.25x [1.50 .. 5.00]", "-", "-", "40% [30 .. 50]",
                   "15% [10 .. 20]"}));
}

TEST(summary, divides_the_latency_of_the_floor_by_that_of_a_library)
{
    const auto record = record_of(mode::latency, "latency_mean_us", {40, 80, 20, 50, 100, 10});
    EXPECT_DOUBLE_EQ(shares_of_floor(with_floor(), record, 0)->max, 0.5);
    EXPECT_DOUBLE_EQ(shares_of_floor(with_floor(), record, 0)->min, 0.2);
    EXPECT_DOUBLE_EQ(shares_of_floor(with_floor(), record, 1)->max, 0.25);
    EXPECT_FALSE(shares_of_floor(with_floor(), record, 2));
    EXPECT_FALSE(shares_of_floor(comparing(), record, 0));
}

TEST(summary, compares_one_connection_with_the_floor_like_a_library)
{
    auto record = record_of(mode::throughput, "messages_per_s", {500, 100, 1000});
    record.what = cell{};
    const auto headers = overview(with_floor(), {record})[0].headers;
    EXPECT_EQ(headers.back(), "memory ratio vs sockets");
}

TEST(summary, compares_no_transports_unless_asked)
{
    settings chosen = comparing();
    chosen.compared.clear();
    EXPECT_TRUE(comparison(chosen, records()).empty());
    EXPECT_EQ(overview(chosen, records())[0].rows.size(), 3u);
}

} // namespace
} // namespace zlink::bench::runner
