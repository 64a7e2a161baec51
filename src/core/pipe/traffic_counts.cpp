// SPDX-License-Identifier: Apache-2.0
#include "core/pipe/traffic_counts.hpp"

namespace zlink::core {
namespace {

struct row {
    std::string_view name;
    std::uint64_t traffic_counts::*count;
};

constexpr row rows[] = {
    {"direct_writes", &traffic_counts::direct_writes},
    {"batch_writes", &traffic_counts::batch_writes},
    {"io_writes", &traffic_counts::io_writes},
    {"write_retries", &traffic_counts::write_retries},
    {"written_bytes", &traffic_counts::written_bytes},
    {"written_messages", &traffic_counts::written_messages},
    {"full_flushes", &traffic_counts::full_flushes},
    {"age_checks", &traffic_counts::age_checks},
    {"backlog_flushes", &traffic_counts::backlog_flushes},
    {"wait_flushes", &traffic_counts::wait_flushes},
    {"lease_requests", &traffic_counts::lease_requests},
    {"leases", &traffic_counts::leases},
    {"leased_reads", &traffic_counts::leased_reads},
    {"io_requests", &traffic_counts::io_requests},
    {"good_spins", &traffic_counts::good_spins},
    {"failed_spins", &traffic_counts::failed_spins},
    {"sleeps", &traffic_counts::sleeps},
    {"due_flushes", &traffic_counts::due_flushes},
    {"ended_batches", &traffic_counts::ended_batches},
    {"guard_rounds", &traffic_counts::guard_rounds},
    {"hand_overs", &traffic_counts::hand_overs},
};
static_assert(sizeof(rows) / sizeof(row) * sizeof(std::uint64_t) == sizeof(traffic_counts));

} // namespace

traffic_counts& traffic_counts::operator+=(const traffic_counts& other) noexcept
{
    for (const row& each : rows)
        this->*each.count += other.*each.count;
    return *this;
}

std::string describe(const traffic_counts& counts)
{
    std::string text;
    for (const row& each : rows) {
        if (!text.empty())
            text += ' ';
        text.append(each.name).append("=").append(std::to_string(counts.*each.count));
    }
    return text;
}

} // namespace zlink::core
