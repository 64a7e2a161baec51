// SPDX-License-Identifier: Apache-2.0
#include "core/options/shared_options.hpp"

#include "base/memory/lasting.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>

namespace zlink::core {
namespace {

/// As many as are looked through for each option that a socket sets.
struct known_options {
    static constexpr std::size_t count = 8;
    std::mutex mutex;
    std::weak_ptr<const socket_options> all[count];
    std::size_t oldest = 0;
};

} // namespace

std::shared_ptr<const socket_options>
share_options(std::shared_ptr<const socket_options> own) noexcept
{
    static base::lasting<known_options> made;
    known_options& known = made.value;
    const std::lock_guard lock(known.mutex);
    std::weak_ptr<const socket_options>* place = nullptr;
    for (auto& each : known.all) {
        auto other = each.lock();
        if (other && *other == *own)
            return other;
        if (!other && !place)
            place = &each; // sockets that set several options leave many behind
    }
    if (!place) {
        place = &known.all[known.oldest];
        known.oldest = (known.oldest + 1) % known_options::count;
    }
    *place = own;
    return own;
}

} // namespace zlink::core
