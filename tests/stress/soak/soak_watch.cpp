// SPDX-License-Identifier: Apache-2.0
#include "soak_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <malloc.h>
#include <unistd.h>

#include "support/sanitizers.hpp"
#include "support/wait.hpp"

namespace zlink::test {
namespace {

constexpr std::size_t mebi = 1024 * 1024;
/// Threads that ended, and chunks that are kept for the next user, come and go.
constexpr std::size_t most_more_resident_bytes = 48 * mebi;
constexpr std::size_t most_more_allocated_bytes = 8 * mebi;

std::size_t entries(const char* directory)
{
    const std::filesystem::directory_iterator begin(directory);
    return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator{}));
}

} // namespace

soak_footprint soak_footprint::now()
{
    ::malloc_trim(0);
    soak_footprint print;
    print.descriptors = entries("/proc/self/fd");
    print.threads = entries("/proc/self/task");
    std::ifstream statm("/proc/self/statm");
    std::size_t total_pages = 0;
    std::size_t resident_pages = 0;
    statm >> total_pages >> resident_pages;
    print.resident_bytes = resident_pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto heap = ::mallinfo2();
    print.allocated_bytes = heap.uordblks + heap.hblkhd;
    return print;
}

std::string soak_watch::look(bool is_warm)
{
    // A thread that was joined may be there for a moment.
    wait_until(
        [&] {
            last_ = soak_footprint::now();
            return last_.descriptors <= begin_.descriptors && last_.threads <= begin_.threads;
        },
        std::chrono::seconds{5});
    std::string wrong;
    if (last_.descriptors > begin_.descriptors)
        wrong += fmt::format("{} descriptors are left; ", last_.descriptors - begin_.descriptors);
    if (last_.threads > begin_.threads)
        wrong += fmt::format("{} threads are left; ", last_.threads - begin_.threads);
    if (!is_warm) {
        warm_.resident_bytes = std::max(warm_.resident_bytes, last_.resident_bytes);
        warm_.allocated_bytes = std::max(warm_.allocated_bytes, last_.allocated_bytes);
        return wrong;
    }
    if (is_sanitized()) // which keeps what was freed
        return wrong;
    if (last_.resident_bytes > warm_.resident_bytes + most_more_resident_bytes ||
        last_.allocated_bytes > warm_.allocated_bytes + most_more_allocated_bytes)
        wrong += "memory grows: " + summary();
    return wrong;
}

std::string soak_watch::summary() const
{
    const auto mebibytes = [](std::size_t bytes) { return double(bytes) / double(mebi); };
    return fmt::format(
        "{} descriptors and {} threads as at the beginning ({}, {}); resident {:.1f} "
        "MiB, after the warm-up {:.1f}; allocated {:.2f} MiB, after the warm-up {:.2f}",
        last_.descriptors, last_.threads, begin_.descriptors, begin_.threads,
        mebibytes(last_.resident_bytes), mebibytes(warm_.resident_bytes),
        mebibytes(last_.allocated_bytes), mebibytes(warm_.allocated_bytes));
}

} // namespace zlink::test
