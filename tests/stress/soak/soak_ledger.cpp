// SPDX-License-Identifier: Apache-2.0
#include "soak_ledger.hpp"

#include <algorithm>
#include <limits>

#include "stress/crowd_message.hpp"

namespace zlink::test {
namespace {

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

// No two cells have the same streams, so that a message that comes to another cell is noticed.
std::atomic<std::uint32_t> streams_of_process{0};
constexpr std::uint32_t most_streams = 1u << 20;

} // namespace

std::uint32_t soak_ledger::open_stream(int ears)
{
    const std::uint32_t stream = ++streams_of_process % most_streams;
    const std::lock_guard lock(mutex_);
    for (int ear = 0; ear < ears; ++ear) {
        ear_account& account = streams_[stream].ears[ear];
        account.due_from = never;
        account.has_begun = true;
    }
    return stream;
}

void soak_ledger::add_ear(std::uint32_t stream, int ear)
{
    const std::lock_guard lock(mutex_);
    streams_[stream].ears[ear].due_from = never;
}

void soak_ledger::drop_ear(std::uint32_t stream, int ear)
{
    const std::lock_guard lock(mutex_);
    stream_account& account = streams_[stream];
    const auto found = account.ears.find(ear);
    if (found == account.ears.end())
        return;
    const ear_account& gone = found->second;
    of_dropped_.arrived += gone.count;
    of_dropped_.sent += gone.end - gone.begin;
    of_dropped_.lost += gone.end - gone.begin - gone.count;
    account.ears.erase(found);
    ++steps_;
}

void soak_ledger::offer(std::uint32_t stream, std::uint64_t number)
{
    const std::lock_guard lock(mutex_);
    streams_[stream].offered = number + 1;
}

void soak_ledger::accepted(std::uint32_t stream, std::uint64_t number)
{
    const std::lock_guard lock(mutex_);
    streams_[stream].accepted = number + 1;
    ++steps_;
}

// A connection brings an increasing sequence. The fewest such sequences that explain what has come
// are found by putting each number behind the highest one that is lower.
void soak_ledger::check_order(ear_account& ear, int receiver, std::uint64_t number,
                              std::size_t most) const
{
    std::vector<std::uint64_t>& last = ear.last_of_run[receiver]; // descending
    const auto place =
        std::find_if(last.begin(), last.end(), [&](std::uint64_t each) { return each < number; });
    if (place != last.end()) {
        *place = number;
        return;
    }
    last.push_back(number);
    if (last.size() > most)
        throw crowd_failure("order: message " + std::to_string(number) + " came too late after " +
                            std::to_string(breaks_) + " breaks");
}

void soak_ledger::arrived(std::uint32_t stream, std::uint64_t number, int ear, int receiver)
{
    const std::lock_guard lock(mutex_);
    ++steps_;
    const auto found = streams_.find(stream);
    const std::string text = text_of({stream, number});
    if (found == streams_.end() || number >= found->second.offered)
        throw crowd_failure("wrong: " + text + " was not sent here");
    const auto place = found->second.ears.find(ear);
    if (place == found->second.ears.end())
        throw crowd_failure("wrong: " + text + " was not sent to this receiver");
    ear_account& account = place->second;
    if (!account.has_begun) {
        account.has_begun = true;
        account.begin = number;
    }
    if (number < account.begin) // later over the connection of before
        account.begin = number;
    if (account.seen.size() <= number)
        account.seen.resize(std::max<std::size_t>(number + 1, 2 * account.seen.size()));
    if (account.seen[number])
        throw crowd_failure("twice: " + text);
    account.seen[number] = true;
    ++account.count;
    account.end = std::max(account.end, number + 1);
    // What comes back has been put into another order by the way there, too.
    const std::size_t connections = 1 + breaks_;
    check_order(account, receiver, number, ear == 0 ? connections : connections * connections);
}

void soak_ledger::all_is_due(std::uint32_t stream, std::uint64_t number)
{
    const std::lock_guard lock(mutex_);
    for (auto& [name, ear] : streams_[stream].ears)
        ear.due_from = number;
    ++steps_;
}

bool soak_ledger::have_all(std::uint32_t stream, std::uint64_t number) const
{
    const std::lock_guard lock(mutex_);
    const stream_account& account = streams_.at(stream);
    return std::all_of(account.ears.begin(), account.ears.end(), [&](const auto& each) {
        return number < each.second.seen.size() && each.second.seen[number];
    });
}

bool soak_ledger::all_have_begun(std::uint32_t stream) const
{
    const std::lock_guard lock(mutex_);
    const stream_account& account = streams_.at(stream);
    return std::all_of(account.ears.begin(), account.ears.end(),
                       [](const auto& each) { return each.second.has_begun; });
}

std::uint64_t soak_ledger::in_flight(std::uint32_t stream) const
{
    const std::lock_guard lock(mutex_);
    const stream_account& account = streams_.at(stream);
    std::uint64_t most = 0;
    for (const auto& [name, ear] : account.ears)
        if (ear.has_begun && ear.end < account.accepted)
            most = std::max(most, account.accepted - ear.end);
    return most;
}

std::uint64_t soak_ledger::missing_of(const stream_account& stream, const ear_account& ear,
                                      bool all, std::uint64_t& first)
{
    const std::uint64_t from = all ? ear.begin : std::max(ear.due_from, ear.begin);
    std::uint64_t count = 0;
    first = never;
    for (std::uint64_t number = from; number < stream.accepted; ++number)
        if (number >= ear.seen.size() || !ear.seen[number]) {
            first = std::min(first, number);
            ++count;
        }
    return count;
}

bool soak_ledger::is_complete(bool all) const
{
    const std::lock_guard lock(mutex_);
    std::uint64_t first = 0;
    for (const auto& [name, stream] : streams_)
        for (const auto& [number, ear] : stream.ears) {
            // Most often all has come, and nothing has to be looked for.
            if (ear.has_begun &&
                ear.count == stream.accepted - std::min(ear.begin, stream.accepted))
                continue;
            if (missing_of(stream, ear, all, first) != 0)
                return false;
        }
    return true;
}

std::string soak_ledger::missing(bool all) const
{
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& [name, stream] : streams_)
        for (const auto& [number, ear] : stream.ears) {
            std::uint64_t first = 0;
            const std::uint64_t count = missing_of(stream, ear, all, first);
            if (count != 0)
                text += "lost: " + std::to_string(count) + " of " +
                        std::to_string(stream.accepted) + " messages of stream " +
                        std::to_string(name) + " to " + std::to_string(number) + ", the first is " +
                        std::to_string(first) + ", the last that came " + std::to_string(ear.end) +
                        " - 1; ";
        }
    return text;
}

soak_ledger::totals soak_ledger::sum() const
{
    const std::lock_guard lock(mutex_);
    totals all = of_dropped_;
    for (const auto& [name, stream] : streams_)
        for (const auto& [number, ear] : stream.ears) {
            const std::uint64_t due = stream.accepted - std::min(ear.begin, stream.accepted);
            all.sent += due;
            all.arrived += ear.count;
            all.lost += due - std::min(due, ear.count);
        }
    return all;
}

} // namespace zlink::test
