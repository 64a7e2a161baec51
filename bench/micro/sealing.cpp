// SPDX-License-Identifier: Apache-2.0
// What a message costs that CURVE seals and opens, beside a box of libsodium of the same size.
#if ZLINK_HAS_CURVE

#include "engine/curve/cipher.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using namespace zlink::engine;

const std::array<std::byte, curve::key_bytes> shared_key{std::byte{1}, std::byte{2}};
// libsodium chooses its fastest code in it.
const bool is_ready = curve::is_available();

void seal_message(benchmark::State& state)
{
    curve::cipher client(curve::cipher::role::client, shared_key, 0, 0);
    const std::vector<std::byte> body(static_cast<std::size_t>(state.range(0)));
    std::vector<std::byte> sealed(client.sealed_bytes(body.size()));
    for (auto _ : state)
        benchmark::DoNotOptimize(client.seal(0, body, sealed));
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void seal_and_open_message(benchmark::State& state)
{
    curve::cipher client(curve::cipher::role::client, shared_key, 0, 0);
    curve::cipher server(curve::cipher::role::server, shared_key, 0, 0);
    const std::vector<std::byte> body(static_cast<std::size_t>(state.range(0)));
    std::vector<std::byte> sealed(client.sealed_bytes(body.size()));
    for (auto _ : state) {
        benchmark::DoNotOptimize(client.seal(0, body, sealed));
        if (server.open(0, sealed).fault != cipher_fault::none)
            state.SkipWithError("a message cannot be opened");
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void seal_box(benchmark::State& state)
{
    const std::vector<std::byte> text(static_cast<std::size_t>(state.range(0)) + 1);
    std::vector<std::byte> sealed(text.size() + curve::mac_bytes);
    std::uint64_t counter = 0;
    if (!is_ready)
        state.SkipWithError("there is no libsodium");
    for (auto _ : state)
        curve::seal(sealed, text, curve::counted_nonce("CurveZMQMESSAGEC", ++counter), shared_key);
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

} // namespace

BENCHMARK(seal_message)->Arg(64)->Arg(256)->Arg(1024)->Arg(65536)->Arg(262144);
BENCHMARK(seal_and_open_message)->Arg(64)->Arg(256)->Arg(1024)->Arg(65536)->Arg(262144);
BENCHMARK(seal_box)->Arg(64)->Arg(256)->Arg(1024)->Arg(65536)->Arg(262144);

#endif
