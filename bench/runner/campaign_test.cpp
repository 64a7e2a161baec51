// SPDX-License-Identifier: Apache-2.0
#include "runner/campaign.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace zlink::bench::runner {
namespace {

/// A directory with a program that plays the worker: it notes the transport and the mode it is
/// asked for, with its rate and what is in its environment for it, and tells a number of messages
/// per second, as which it may be without ws.
class campaign : public testing::Test {
protected:
    void SetUp() override
    {
        std::string path = testing::TempDir() + "campaign-XXXXXX";
        ASSERT_NE(mkdtemp(path.data()), nullptr);
        directory_ = path;
        std::ofstream(directory_ / "worker") << R"(#!/bin/sh
for word; do
    case $word in
        --transport=*) transport=${word#*=} ;;
        --mode=*) mode=${word#*=} ;;
        --rate=*) rate=" at ${word#*=}" ;;
    esac
done
echo "$transport $mode$rate$NOTED" >> "$LD_LIBRARY_PATH/asked"
case $transport in
    ws) echo '{"status": "skipped", "error": "no ws"}' ;;
    tls) echo '{"status": "ok", "messages_per_s": 200}' ;;
    *) echo '{"status": "ok", "messages_per_s": 1000}' ;;
esac
)";
        ASSERT_EQ(chmod((directory_ / "worker").c_str(), S_IRWXU), 0);
        unsetenv("LD_LIBRARY_PATH");
        chosen_.libraries = {{"library", directory_, directory_ / "worker"}};
        chosen_.runs = 2;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    void add(transport over, mode how, pattern which = pattern::pair)
    {
        cell what;
        what.pattern = which;
        what.extents.assign(dimensions_of(which).size(), 2);
        what.transport = over;
        what.mode = how;
        chosen_.cells.push_back(what);
    }

    std::vector<std::string> asked() const
    {
        std::vector<std::string> lines;
        std::ifstream file(directory_ / "asked");
        for (std::string line; std::getline(file, line);)
            lines.push_back(line);
        return lines;
    }

    std::filesystem::path directory_;
    settings chosen_;
};

using lines = std::vector<std::string>;

TEST_F(campaign, lets_compared_transports_take_turns)
{
    for (const mode how : {mode::throughput, mode::latency}) {
        add(transport::tcp, how);
        add(transport::tls, how);
    }
    chosen_.compared = {transport::tcp, transport::tls};
    const auto records = run_campaign(chosen_);
    EXPECT_EQ(asked(),
              (lines{"tcp throughput", "tls throughput", "tcp throughput", "tls throughput",
                     "tcp latency", "tls latency", "tcp latency", "tls latency"}));
    ASSERT_EQ(records.size(), 4u);
    EXPECT_EQ(records[1].what.transport, transport::tls);
    ASSERT_EQ(records[1].runs.size(), 2u);
    EXPECT_EQ(records[1].runs[1].number, 2);
    EXPECT_EQ(records[1].runs[1].fields.number("messages_per_s"), 200);
}

TEST_F(campaign, measures_one_cell_after_the_other_without_comparison)
{
    add(transport::tcp, mode::throughput);
    add(transport::tls, mode::throughput);
    run_campaign(chosen_);
    EXPECT_EQ(asked(),
              (lines{"tcp throughput", "tcp throughput", "tls throughput", "tls throughput"}));
}

TEST_F(campaign, gives_each_library_its_environment)
{
    chosen_.libraries.push_back(chosen_.libraries.front());
    chosen_.libraries.back().environment["NOTED"] = " without batching";
    chosen_.runs = 1;
    add(transport::tcp, mode::throughput);
    run_campaign(chosen_);
    EXPECT_EQ(asked(), (lines{"tcp throughput", "tcp throughput without batching"}));
}

TEST_F(campaign, loads_compared_transports_alike)
{
    add(transport::tcp, mode::loaded, pattern::to_many_pub);
    add(transport::ws, mode::loaded, pattern::to_many_pub);
    add(transport::tls, mode::loaded, pattern::to_many_pub);
    chosen_.compared = {transport::tcp, transport::ws, transport::tls};
    chosen_.runs = 1;
    const auto records = run_campaign(chosen_);
    // Half of what the slowest of them can do.
    EXPECT_EQ(asked(), (lines{"tcp throughput", "ws throughput", "tls throughput",
                              "tcp loaded at 100", "ws loaded at 100", "tls loaded at 100"}));
    EXPECT_TRUE(records[0].runs[0].ok());
    EXPECT_TRUE(records[1].runs[0].skipped);
}

TEST_F(campaign, loads_a_library_beside_sockets_alone_by_its_own_rate)
{
    chosen_.libraries.push_back({"sockets", {}, directory_ / "floor"});
    std::ofstream(directory_ / "floor") << R"(#!/bin/sh
echo '{"status": "ok", "messages_per_s": 5000}'
)";
    ASSERT_EQ(chmod((directory_ / "floor").c_str(), S_IRWXU), 0);
    add(transport::tls, mode::loaded, pattern::to_many_pub);
    chosen_.runs = 1;
    const auto records = run_campaign(chosen_);
    EXPECT_EQ(asked(), (lines{"tls throughput", "tls loaded at 100"}));
    EXPECT_EQ(records[0].runs.size(), 2u);
}

TEST_F(campaign, does_not_fail_where_no_library_has_the_transport_of_a_load)
{
    add(transport::ws, mode::loaded, pattern::to_many_pub);
    const auto records = run_campaign(chosen_);
    EXPECT_TRUE(records[0].runs[0].skipped);
    EXPECT_FALSE(records[0].runs[0].failed());
}

} // namespace
} // namespace zlink::bench::runner
