// SPDX-License-Identifier: Apache-2.0
#include "runner/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace zlink::bench::runner {
namespace {

run_record run_of(std::size_t library, int number, const std::string& line)
{
    run_record run;
    run.library = library;
    run.number = number;
    run.line = line;
    run.fields = *json_fields::parse(line);
    return run;
}

bool shows(const cell& what, const std::string& field)
{
    const auto& figures = figures_of(what);
    return std::any_of(figures.begin(), figures.end(),
                       [&](const figure& each) { return each.field == field; });
}

TEST(statistics, take_the_middle_of_a_spread)
{
    EXPECT_EQ(spread_of({3, 1, 2})->median, 2);
    EXPECT_EQ(spread_of({4, 1, 2, 3})->median, 2.5);
    EXPECT_EQ(spread_of({4, 1, 2, 3})->max, 4);
    EXPECT_FALSE(spread_of({}));
}

TEST(statistics, compare_runs_that_are_neighbours)
{
    cell_record record;
    record.runs = {
        run_of(0, 1, R"({"messages_per_s": 10})"), run_of(1, 1, R"({"messages_per_s": 5})"),
        run_of(0, 2, R"({"messages_per_s": 30})"), run_of(1, 2, R"({"messages_per_s": 10})")};
    record.runs[3].failure = "lost";
    const auto ratios = ratios_of(record, 1, "messages_per_s");
    ASSERT_TRUE(ratios);
    EXPECT_EQ(ratios->min, 2);
    EXPECT_EQ(ratios->max, 2);
    EXPECT_EQ(failures_of(record, 1), 1u);
}

TEST(statistics, compare_transports_run_by_run)
{
    settings chosen;
    chosen.compared = {transport::tcp, transport::tls};
    std::vector<cell_record> records(2);
    records[0].runs = {run_of(0, 1, R"({"messages_per_s": 10})"),
                       run_of(0, 2, R"({"messages_per_s": 40})"),
                       run_of(1, 1, R"({"messages_per_s": 1})")};
    records[1].what.transport = transport::tls;
    records[1].runs = {run_of(0, 1, R"({"messages_per_s": 5})"),
                       run_of(0, 2, R"({"messages_per_s": 10})"),
                       run_of(0, 3, R"({"messages_per_s": 99})"), run_of(1, 1, "{}")};
    records[1].runs[3].skipped = true;
    records[1].runs[3].failure = "skipped: the library has no transport tls";
    ASSERT_EQ(reference_of(chosen, records[1], records), &records[0]);
    EXPECT_EQ(reference_of(chosen, records[0], records), &records[0]);

    const auto ratios = ratios_of_cells(records[1], records[0], 0, "messages_per_s");
    ASSERT_TRUE(ratios);
    EXPECT_EQ(ratios->min, 0.25);
    EXPECT_EQ(ratios->max, 0.5); // not of the third run, which has no partner
    EXPECT_FALSE(ratios_of_cells(records[1], records[0], 1, "messages_per_s"));
    EXPECT_EQ(headline(records[1], 1, 1), "n/a");
    EXPECT_EQ(failures_of(records[1], 1), 0u);

    records[0].what.size_bytes = 1024;
    EXPECT_EQ(reference_of(chosen, records[1], records), nullptr);
    EXPECT_EQ(reference_of(settings{}, records[1], records), nullptr);
}

TEST(statistics, show_of_many_connections_what_matters)
{
    cell what;
    what.pattern = pattern::broker;
    EXPECT_EQ(figures_of(what).front().field, "messages_per_s");
    what.mode = mode::loaded;
    EXPECT_TRUE(shows(what, "latency_p99_us"));
    EXPECT_TRUE(shows(what, "messages_per_s")); // whether the rate was kept
    what.mode = mode::throughput;
    what.pattern = pattern::connections;
    EXPECT_TRUE(shows(what, "memory_per_connection_kib"));
    EXPECT_FALSE(shows(what, "mb_per_s"));
}

} // namespace
} // namespace zlink::bench::runner
