// SPDX-License-Identifier: Apache-2.0
#include "runner/summary.hpp"

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

TEST(summary, compares_no_transports_unless_asked)
{
    settings chosen = comparing();
    chosen.compared.clear();
    EXPECT_TRUE(comparison(chosen, records()).empty());
    EXPECT_EQ(overview(chosen, records())[0].rows.size(), 3u);
}

} // namespace
} // namespace zlink::bench::runner
