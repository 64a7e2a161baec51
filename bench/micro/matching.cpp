// SPDX-License-Identifier: Apache-2.0
// Subscriptions: how long a message takes to find those who want it.

#include "sockets/policy/subscriber_index.hpp"
#include "sockets/policy/topic_set.hpp"

#include <benchmark/benchmark.h>
#include <span>
#include <string>

namespace {

using namespace zlink::sockets;

std::span<const std::byte> bytes_of(const std::string& text)
{
    return std::as_bytes(std::span(text));
}

std::string topic(std::int64_t number)
{
    return "quotes.exchange." + std::to_string(number);
}

void one_of_many_topics(benchmark::State& state)
{
    topic_set topics;
    for (std::int64_t i = 0; i < state.range(0); ++i)
        topics.add(bytes_of(topic(i)));
    const std::string message = topic(state.range(0) / 2) + " 42.5";
    for (auto _ : state)
        benchmark::DoNotOptimize(topics.matches(bytes_of(message)));
}
BENCHMARK(one_of_many_topics)->Arg(1)->Arg(100)->Arg(10'000)->Arg(1'000'000);

void no_topic_matches(benchmark::State& state)
{
    topic_set topics;
    for (std::int64_t i = 0; i < state.range(0); ++i)
        topics.add(bytes_of(topic(i)));
    const std::string message = "quotes.exchanges are closed";
    for (auto _ : state)
        benchmark::DoNotOptimize(topics.matches(bytes_of(message)));
}
BENCHMARK(no_topic_matches)->Arg(100)->Arg(1'000'000);

void all_of_many_subscribers(benchmark::State& state)
{
    subscriber_index index;
    for (std::int64_t i = 0; i < state.range(0); ++i)
        index.add({}, static_cast<subscriber>(i));
    const std::string message = "to everybody";
    std::uint64_t matched = 0;
    for (auto _ : state)
        index.match(bytes_of(message), [&](subscriber who) { matched += who + 1; });
    benchmark::DoNotOptimize(matched);
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(all_of_many_subscribers)->Arg(1)->Arg(100)->Arg(10'000);

} // namespace
