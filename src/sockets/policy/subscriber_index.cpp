// SPDX-License-Identifier: Apache-2.0
#include "subscriber_index.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace zlink::sockets {
namespace {

bool precedes(std::span<const std::byte> first, std::span<const std::byte> second) noexcept
{
    const std::size_t shared = std::min(first.size(), second.size());
    const int order = shared == 0 ? 0 : std::memcmp(first.data(), second.data(), shared);
    return order != 0 ? order < 0 : first.size() < second.size();
}

} // namespace

subscriber_index::addition subscriber_index::add(std::span<const std::byte> prefix, subscriber who)
{
    make_room_for(who);
    const auto [entry, fresh] = tree_.insert(prefix);
    const auto place = place_of(*entry, who);
    if (holds(*entry, place, who)) {
        return addition::duplicate;
    }
    try {
        enlist(*entry, place, who);
    } catch (...) {
        if (fresh) {
            tree_.erase(entry);
        }
        throw;
    }
    return fresh ? addition::first_for_topic : addition::added;
}

subscriber_index::removal subscriber_index::remove(std::span<const std::byte> prefix,
                                                   subscriber who) noexcept
{
    topic* const entry = tree_.find(prefix);
    if (entry == nullptr) {
        return removal::unknown;
    }
    const auto place = place_of(*entry, who);
    if (!holds(*entry, place, who)) {
        return removal::unknown;
    }
    forget_in_list(*place);
    return leave(entry, place) ? removal::last_for_topic : removal::removed;
}

subscriber_index::departure::departure(subscriber_index& from, subscriber leaving) noexcept
    : index(from), who(leaving)
{
    if (who < index.topics_of_.size()) {
        topics = std::exchange(index.topics_of_[who], {});
    }
    std::sort(topics.begin(), topics.end(), [](const topic* first, const topic* second) {
        return precedes(first->key(), second->key());
    });
}

subscriber_index::departure::~departure()
{
    for (topic* const at : topics) {
        index.leave(at, place_of(*at, who));
    }
}

/// Where `who` is, or would have to be inserted, in the audience of a topic.
subscriber_index::audience::iterator subscriber_index::place_of(topic& of, subscriber who) noexcept
{
    return std::lower_bound(
        of.value.begin(), of.value.end(), who,
        [](const membership& member, subscriber wanted) { return member.who < wanted; });
}

bool subscriber_index::holds(const topic& of, audience::const_iterator place,
                             subscriber who) noexcept
{
    return place != of.value.end() && place->who == who;
}

void subscriber_index::make_room_for(subscriber who)
{
    const std::size_t needed = std::size_t{who} + 1;
    if (last_matched_.size() < needed) {
        last_matched_.resize(needed);
    }
    if (topics_of_.size() < needed) {
        topics_of_.resize(needed);
    }
}

void subscriber_index::enlist(topic& to, audience::iterator place, subscriber who)
{
    auto& own = topics_of_[who];
    own.push_back(&to);
    try {
        to.value.insert(place, {who, static_cast<std::uint32_t>(own.size() - 1)});
    } catch (...) {
        own.pop_back();
        throw;
    }
}

/// Closes the gap in the subscriber's list with its last topic, whose position changes.
void subscriber_index::forget_in_list(const membership& member) noexcept
{
    auto& own = topics_of_[member.who];
    topic* const moved = own.back();
    own[member.position] = moved;
    place_of(*moved, member.who)->position = member.position;
    own.pop_back();
}

/// Takes a subscriber from the audience of a topic; true if it was the last one.
bool subscriber_index::leave(topic* from, audience::iterator place) noexcept
{
    from->value.erase(place);
    if (!from->value.empty()) {
        return false;
    }
    tree_.erase(from);
    return true;
}

} // namespace zlink::sockets
