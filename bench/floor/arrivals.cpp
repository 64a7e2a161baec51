// SPDX-License-Identifier: Apache-2.0
#include "floor/arrivals.hpp"

#include "worker/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace zlink::bench {

arrivals_checker::arrivals_checker(const record_format& format, std::vector<bare::channel*> from,
                                   const senders& expected)
    : format_(format),
      from_(std::move(from)),
      expected_(expected),
      reader_(format.bytes()),
      begun_(from_.size()),
      next_(from_.size() * (expected.is_own_party ? 1 : expected.parties))
{
    for (std::size_t index = 0; index < from_.size(); ++index) {
        from_[index]->stop_waiting();
        ready_.add(from_[index]->handle(), index);
    }
}

void arrivals_checker::receive(std::uint64_t count)
{
    while (count != 0) {
        for (const bare::watcher::event& each : ready_.wait()) {
            const auto take = [&](const char* first, std::size_t records) {
                if (records > count) {
                    throw std::runtime_error("more messages arrived than were sent");
                }
                count -= records;
                for (std::size_t i = 0; i < records; ++i) {
                    check(each.index, first + i * format_.bytes());
                }
            };
            reader_.read_ready(*from_[each.index], begun_[each.index], take);
        }
    }
}

void arrivals_checker::check(std::size_t index, const char* record)
{
    const worker::message_number number = format_.number_of(record);
    const std::size_t party =
        expected_.is_own_party ? number.party - expected_.first_party - index : number.party;
    if (party >= (expected_.is_own_party ? 1 : expected_.parties)) {
        throw std::runtime_error(
            fmt::format("a message of party {} arrived at connection {}", number.party, index));
    }
    std::uint64_t& next = next_[expected_.is_own_party ? index : index * expected_.parties + party];
    if (number.sequence != next) {
        throw std::runtime_error(fmt::format("connection {}, party {}: message {} instead of {}",
                                             index, number.party, number.sequence, next));
    }
    ++next;
    if (const std::int64_t from_ns = format_.time_of(record); from_ns != 0) {
        latencies_ns_.push_back(worker::now_ns() - from_ns);
    }
}

void arrivals_checker::require_complete(std::uint64_t each) const
{
    if (std::ranges::any_of(next_, [each](std::uint64_t next) { return next != each; })) {
        throw std::runtime_error("a connection had more messages than another");
    }
}

} // namespace zlink::bench
