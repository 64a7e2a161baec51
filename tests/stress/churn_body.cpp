// SPDX-License-Identifier: Apache-2.0
#include "churn_body.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace zlink::test {
namespace {

std::atomic<long> in_use{0};

char letter_of(std::size_t bytes)
{
    return static_cast<char>('A' + bytes % 53);
}

} // namespace

void churn_body::fill(void* data, std::size_t bytes)
{
    if (bytes)
        std::memset(data, letter_of(bytes), bytes);
}

bool churn_body::whole(const void* data, std::size_t bytes)
{
    const auto* const first = static_cast<const char*>(data);
    return bytes < smallest_checked_bytes ||
           std::all_of(first, first + bytes, [=](char c) { return c == letter_of(bytes); });
}

bool churn_body::wrap(zmq_msg_t& message, std::size_t bytes)
{
    void* const data = std::malloc(bytes + 1);
    if (!data)
        return false;
    fill(data, bytes);
    ++in_use;
    const auto give_back = [](void* memory, void*) {
        std::free(memory);
        --in_use;
    };
    if (zmq_msg_init_data(&message, data, bytes, give_back, nullptr) == 0)
        return true;
    give_back(data, nullptr);
    return false;
}

long churn_body::outstanding()
{
    return in_use;
}

} // namespace zlink::test
