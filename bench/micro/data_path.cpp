// SPDX-License-Identifier: Apache-2.0
// What one message costs on its way through the library, without system calls or other threads.

#include "base/queue/byte_queue.hpp"
#include "core/pipe/pipe.hpp"
#include "engine/traffic/inbound.hpp"

#include <algorithm>
#include <array>
#include <benchmark/benchmark.h>
#include <cstring>
#include <vector>

namespace {

using namespace zlink;

constexpr int batch_messages = 64;

void report(benchmark::State& state, std::size_t body_bytes)
{
    state.SetItemsProcessed(state.iterations() * batch_messages);
    state.SetBytesProcessed(state.iterations() * batch_messages *
                            static_cast<std::int64_t>(body_bytes));
}

// From one end of a pipe to the other, as over inproc.
void pipe_write_read(benchmark::State& state)
{
    const std::vector<std::byte> body(static_cast<std::size_t>(state.range(0)));
    const auto channels = std::make_shared<core::channel_pair>();
    core::pipe_end writer(channels, true, nullptr);
    core::pipe_end reader(channels, false, nullptr);
    const core::frame sent{body.data(), body.size(), nullptr, 0};
    for (auto _ : state) {
        for (int i = 0; i < batch_messages; ++i)
            writer.out.write(sent);
        core::frame got;
        while (reader.in.peek(got)) {
            benchmark::DoNotOptimize(got.data);
            reader.in.pop();
        }
    }
    report(state, body.size());
}
BENCHMARK(pipe_write_read)->Arg(64)->Arg(256)->Arg(1024)->Arg(64 * 1024);

// From the socket's end of a pipe into the pieces of a gathering write.
void pipe_write_gather(benchmark::State& state)
{
    const std::vector<std::byte> body(static_cast<std::size_t>(state.range(0)));
    const auto channels = std::make_shared<core::channel_pair>();
    core::pipe_end writer(channels, true, nullptr);
    base::byte_queue& queue = channels->a_to_b.queue;
    const core::frame sent{body.data(), body.size(), nullptr, 0};
    std::array<iovec, 64> pieces;
    for (auto _ : state) {
        for (int i = 0; i < batch_messages; ++i)
            writer.out.write(sent);
        while (queue.load()) {
            const auto batch = queue.gather(pieces.data(), pieces.size(), SIZE_MAX);
            if (batch.bytes == 0)
                break;
            benchmark::DoNotOptimize(pieces.data());
            queue.sent(batch.bytes);
        }
    }
    report(state, body.size());
}
BENCHMARK(pipe_write_gather)->Arg(64)->Arg(256)->Arg(1024)->Arg(64 * 1024);

// From the bytes of a connection to messages that are taken from a pipe.
void decode_read(benchmark::State& state)
{
    class no_commands final : public engine::command_handler {
    public:
        void on_command(std::span<const std::byte>) override {}
    } commands;
    const auto body_bytes = static_cast<std::size_t>(state.range(0));
    std::vector<std::byte> stream;
    for (int i = 0; i < batch_messages; ++i) {
        std::array<std::byte, engine::zmtp3::long_header_bytes> header;
        const std::size_t header_bytes = engine::zmtp3::encode_header(header.data(), 0, body_bytes);
        stream.insert(stream.end(), header.begin(),
                      header.begin() + static_cast<std::ptrdiff_t>(header_bytes));
        stream.resize(stream.size() + body_bytes);
    }
    const auto channels = std::make_shared<core::channel_pair>();
    core::pipe_end reader(channels, false, nullptr);
    engine::inbound in(channels->a_to_b, {-1, engine::kept_commands::none}, commands);
    for (auto _ : state) {
        for (std::size_t done = 0; done < stream.size();) {
            std::array<iovec, engine::decoder::most_entries> space;
            const int count = in.prepare(space);
            std::size_t got = 0;
            for (int i = 0; i < count && done < stream.size(); ++i) {
                const std::size_t piece = std::min(space[i].iov_len, stream.size() - done);
                std::memcpy(space[i].iov_base, stream.data() + done, piece);
                done += piece;
                got += piece;
            }
            if (in.received(got) != engine::inbound_error::none)
                return state.SkipWithError("the bytes were refused");
        }
        core::frame message;
        while (reader.in.peek(message)) {
            benchmark::DoNotOptimize(message.data);
            reader.in.pop();
        }
    }
    report(state, body_bytes);
}
BENCHMARK(decode_read)->Arg(64)->Arg(256)->Arg(1024)->Arg(64 * 1024);

} // namespace
