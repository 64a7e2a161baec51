// SPDX-License-Identifier: Apache-2.0
#include "floor/batch.hpp"

#include <algorithm>

namespace zlink::bench {

namespace {

void write_all(std::vector<batch>& batches)
{
    for (batch& each : batches) {
        each.write();
    }
}

/// From when the next message counts.
std::int64_t wait_until_due(std::vector<batch>& batches, worker::pace& paced)
{
    if (const auto from_ns = paced.take_due()) {
        return *from_ns;
    }
    write_all(batches);
    return paced.wait();
}

} // namespace

std::size_t batch_limit_bytes(std::size_t record_bytes, std::uint64_t messages, int hwm)
{
    constexpr std::size_t best_write_bytes = 62 * 1024;
    constexpr std::uint64_t fewest_writes = 4;
    std::uint64_t most = std::max<std::uint64_t>(1, messages / fewest_writes);
    if (hwm != 0) {
        most = std::min(most, static_cast<std::uint64_t>(hwm));
    }
    return std::max(record_bytes, std::min(best_write_bytes, most * record_bytes));
}

void send_rounds(std::vector<batch>& through, const rounds& wanted, worker::pace* paced)
{
    for (std::uint64_t round = wanted.first; round < wanted.first + wanted.count; ++round) {
        std::uint32_t party = wanted.first_party;
        for (batch& each : through) {
            const std::int64_t from_ns = paced == nullptr ? 0 : wait_until_due(through, *paced);
            each.append({party++, round}, from_ns);
        }
    }
    write_all(through);
}

} // namespace zlink::bench
