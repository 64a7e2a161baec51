// SPDX-License-Identifier: Apache-2.0
#include "core/pace/held_wakeups.hpp"

#include "base/tuning.hpp"

#include "base/memory/thread_own.hpp"
#include "core/pace/burst_time.hpp"

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace zlink::core {
namespace {

struct own_news {
    bool held = false; ///< there is a held_wakeups
    struct reader {
        std::shared_ptr<void> object;
        void (*tell)(void*) noexcept;
    };
    std::vector<reader> readers;
    burst_clock::time_point since{}; ///< the first of them
};
using news_of_thread = base::thread_own<own_news>;
const news_of_thread keep_news_of_thread;

void tell_all(own_news& own) noexcept
{
    for (const auto& reader : own.readers)
        reader.tell(reader.object.get());
    own.readers.clear();
}

void tell_overdue(own_news& own, burst_clock::time_point now) noexcept
{
    if (!own.readers.empty() && now - own.since >= tuning::batching::max_delay)
        tell_all(own);
}

} // namespace

held_wakeups::held_wakeups() noexcept
{
    own_news* const own = news_of_thread::find_or_make();
    if (!own || own->held)
        return;
    try {
        own->readers.reserve(tuning::batching::max_held_readers);
    } catch (const std::bad_alloc&) {
        return;
    }
    own->held = begun_ = true;
}

held_wakeups::~held_wakeups()
{
    if (!begun_)
        return;
    own_news* const own = news_of_thread::find();
    tell_all(*own);
    own->held = false;
}

bool held_wakeups::is_held() noexcept
{
    const own_news* const own = news_of_thread::find();
    return own && own->held;
}

void held_wakeups::add(std::shared_ptr<void> reader, tell_function tell) noexcept
{
    own_news* const own = news_of_thread::find();
    const auto now = burst_clock::now();
    if (own->readers.size() == tuning::batching::max_held_readers)
        tell_all(*own);
    else
        tell_overdue(*own, now);
    if (own->readers.empty())
        own->since = now;
    own->readers.push_back({std::move(reader), tell}); // there is room
}

void held_wakeups::look() noexcept
{
    if (own_news* const own = news_of_thread::find(); own && !own->readers.empty())
        tell_overdue(*own, burst_clock::now());
}

void held_wakeups::tell() noexcept
{
    if (own_news* const own = news_of_thread::find())
        tell_all(*own);
}

} // namespace zlink::core
