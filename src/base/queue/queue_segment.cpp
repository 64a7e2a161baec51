// SPDX-License-Identifier: Apache-2.0
#include "base/queue/queue_segment.hpp"

#include "base/tuning.hpp"

namespace zlink::base {

void queue_segment::free(queue_segment* unused) noexcept
{
    if (unused->owner)
        unused->owner->drop_reference();
    if (unused->is_root)
        unused->owner = nullptr;
    else
        delete unused;
}

void queue_segment::free_list(queue_segment* first) noexcept
{
    while (first) {
        queue_segment* const next = first->next.load(std::memory_order_relaxed);
        free(first);
        first = next;
    }
}

void returned_segments::stack::push(queue_segment* passed) noexcept
{
    queue_segment* first = first_.load(std::memory_order_relaxed);
    do
        passed->next.store(first, std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(first, passed, std::memory_order_release,
                                         std::memory_order_relaxed));
}

void returned_segments::give_back(queue_segment* passed) noexcept
{
    end_position_.store(passed->end.load(std::memory_order_relaxed), std::memory_order_relaxed);
    if (passed->owner) {
        if (!passed->is_body && !passed->is_shared && passed->owner->unique() &&
            passed->owner->size_class != buffer::rotating &&
            chunks_.load(std::memory_order_relaxed) < tuning::queue::kept_chunks) {
            chunks_.fetch_add(1, std::memory_order_relaxed);
            with_chunk_.push(passed);
            return;
        }
        passed->owner->drop_reference();
        passed->owner = nullptr;
    }
    bare_.push(passed);
}

} // namespace zlink::base
