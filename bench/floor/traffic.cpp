// SPDX-License-Identifier: Apache-2.0
#include "floor/traffic.hpp"

#include "bare/channel.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <numeric>
#include <thread>

namespace zlink::bench {

namespace {

using clock = std::chrono::steady_clock;

/// A frame of ZMTP has a header of this size before a short body, and this one before a long one.
constexpr std::size_t short_header_bytes = 2;
constexpr std::size_t long_header_bytes = 9;
constexpr std::size_t longest_short_body = 255;

/// Both sides at once, each in a thread. If one fails, the other one's connection ends.
template <class Source, class Sink>
void run(const bare::connection& ends, Source source, Sink sink)
{
    std::exception_ptr first_failure;
    std::exception_ptr failed_sink;
    const auto guarded = [](auto& side, bare::channel& end, std::exception_ptr& failed) {
        try {
            side(end);
        } catch (...) {
            failed = std::current_exception();
            end.shut_down();
        }
    };
    {
        const std::jthread other([&] { guarded(sink, *ends.sink, failed_sink); });
        guarded(source, *ends.source, first_failure);
    }
    for (const std::exception_ptr& failed : {first_failure, failed_sink}) {
        if (failed) {
            std::rethrow_exception(failed);
        }
    }
}

double seconds_since(clock::time_point begin)
{
    return std::chrono::duration<double>(clock::now() - begin).count();
}

} // namespace

std::size_t framed(std::size_t body_bytes)
{
    return body_bytes + (body_bytes > longest_short_body ? long_header_bytes : short_header_bytes);
}

flow stream(transport over, std::size_t bytes)
{
    const bare::connection ends = bare::connect(over);
    const cpu_time cpu_before = cpu_time::now();
    const auto begin = clock::now();
    run(
        ends,
        [bytes](bare::channel& end) {
            const std::vector<char> piece(end.piece_bytes(), 'x');
            for (std::size_t sent = 0; sent < bytes;) {
                const std::size_t step = std::min(piece.size(), bytes - sent);
                end.write_all(piece.data(), step);
                sent += step;
            }
        },
        [bytes](bare::channel& end) {
            std::vector<char> piece(2 * end.piece_bytes());
            for (std::size_t received = 0; received < bytes;) {
                received += end.read_some(piece.data(), piece.size());
            }
        });
    flow result;
    result.elapsed_s = seconds_since(begin);
    result.bytes_per_s = static_cast<double>(bytes) / result.elapsed_s;
    result.cpu = cpu_time::now() - cpu_before;
    return result;
}

dialogue talk(transport over, std::size_t bytes, std::uint64_t round_trips)
{
    dialogue result;
    result.one_way_us.reserve(round_trips);
    const bare::connection ends = bare::connect(over);
    ends.source->spin();
    ends.sink->spin();
    const cpu_time cpu_before = cpu_time::now();
    const auto start = clock::now();
    run(
        ends,
        [&](bare::channel& end) {
            std::vector<char> message(bytes, 'x');
            for (std::uint64_t i = 0; i < round_trips; ++i) {
                const auto begin = clock::now();
                end.write_all(message.data(), bytes);
                end.read_all(message.data(), bytes);
                result.one_way_us.push_back(
                    std::chrono::duration<double, std::micro>(clock::now() - begin).count() / 2);
            }
        },
        [bytes, round_trips](bare::channel& end) {
            std::vector<char> message(bytes);
            for (std::uint64_t i = 0; i < round_trips; ++i) {
                end.read_all(message.data(), bytes);
                end.write_all(message.data(), bytes);
            }
        });
    result.elapsed_s = seconds_since(start);
    result.cpu = cpu_time::now() - cpu_before;
    std::ranges::sort(result.one_way_us);
    return result;
}

double dialogue::mean_us() const
{
    return std::accumulate(one_way_us.begin(), one_way_us.end(), 0.0) /
           static_cast<double>(one_way_us.size());
}

double dialogue::percentile_us(double share) const
{
    const double rank = std::ceil(share * static_cast<double>(one_way_us.size()));
    return one_way_us[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

} // namespace zlink::bench
