// SPDX-License-Identifier: Apache-2.0
#include "floor/sealing.hpp"

#ifdef ZLINK_HAS_CURVE

#include <sodium.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <vector>

namespace zlink::bench {

namespace {

using clock = std::chrono::steady_clock;

template <class Call>
double ns_of(Call call)
{
    constexpr std::chrono::milliseconds enough(100);
    constexpr int calls_between_looks = 16;
    std::size_t calls = 0;
    const auto begin = clock::now();
    for (;;) {
        for (int i = 0; i < calls_between_looks; ++i) {
            if (call() != 0) {
                throw std::runtime_error("libsodium refuses a box");
            }
        }
        calls += calls_between_looks;
        const auto passed = clock::now() - begin;
        if (passed > enough) {
            return std::chrono::duration<double, std::nano>(passed).count() / double(calls);
        }
    }
}

} // namespace

std::optional<sealing_times> time_sealing(std::size_t bytes)
{
    if (sodium_init() < 0) {
        throw std::runtime_error("libsodium has no random numbers");
    }
    std::array<unsigned char, crypto_box_BEFORENMBYTES> key{};
    std::array<unsigned char, crypto_box_NONCEBYTES> nonce{};
    std::vector<unsigned char> plain(bytes);
    std::vector<unsigned char> sealed(bytes + crypto_box_MACBYTES);
    sealing_times times{};
    times.seal_ns = ns_of([&] {
        return crypto_box_easy_afternm(sealed.data(), plain.data(), plain.size(), nonce.data(),
                                       key.data());
    });
    times.open_ns = ns_of([&] {
        return crypto_box_open_easy_afternm(plain.data(), sealed.data(), sealed.size(),
                                            nonce.data(), key.data());
    });
    return times;
}

} // namespace zlink::bench

#else

namespace zlink::bench {

std::optional<sealing_times> time_sealing(std::size_t /*bytes*/)
{
    return std::nullopt;
}

} // namespace zlink::bench

#endif
