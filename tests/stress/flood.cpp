// SPDX-License-Identifier: Apache-2.0
// Floods sockets with what they drop or only take note of, and tells which part of a steady rate
// the other peers keep. Fails if that is less than nine tenths. For a machine that does little
// else.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "support/steady_rate.hpp"

int main(int argc, char** argv)
{
    using namespace zlink::test;
    int rate = 20'000;
    int rounds = 1;
    CLI::App app{"Steady rates beside a hostile peer"};
    app.add_option("--rate", rate, "messages/s")->check(CLI::PositiveNumber);
    app.add_option("--rounds", rounds, "how often each is measured")->check(CLI::PositiveNumber);
    CLI11_PARSE(app, argc, argv);
    bool kept = true;
    const auto report = [&](const char* what, double measured) {
        std::printf("%-5s %8.0f messages/s, %5.1f %%\n", what, measured, 100 * measured / rate);
        kept = kept && measured >= 0.9 * rate;
    };
    for (int round = 0; round < rounds; ++round) {
        report("PUB", steady_rate_of_publisher(ZMQ_PUB, rate));
        report("XPUB", steady_rate_of_publisher(ZMQ_XPUB, rate));
        report("RADIO", steady_rate_of_publisher(ZMQ_RADIO, rate));
        report("SUB", steady_rate_of_subscriber(rate));
    }
    return kept ? 0 : 1;
}
