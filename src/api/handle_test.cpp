// SPDX-License-Identifier: Apache-2.0
#include "api/handle.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <sys/mman.h>
#include <vector>

namespace zlink::api {
namespace {

struct thing {
    int number = 0;
};

struct gate {};

// As large as the largest table, so that its addresses come round to the first ones.
using things = handle_table<thing, gate>;

std::uint64_t eight_bytes_at(const void* handle)
{
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, handle, sizeof bytes);
    return bytes;
}

TEST(HandleTable, gives_every_object_a_handle_of_its_own_until_it_is_full)
{
    const auto table = std::make_unique<things>();
    const auto owner = std::make_shared<thing>();
    std::vector<thing> objects(handle_limit<thing>);
    std::vector<void*> handles;
    for (std::size_t i = 0; i < objects.size(); ++i) {
        handles.push_back(table->add(owner, objects[i], i % 2 != 0));
        ASSERT_NE(nullptr, handles.back()) << "handle " << i;
    }
    EXPECT_EQ(nullptr, table->add(owner, objects[0], false));
    EXPECT_EQ(handles.size(), std::set<void*>(handles.begin(), handles.end()).size());
    for (std::size_t i = 0; i < objects.size(); ++i) {
        ASSERT_EQ(&objects[i], table->get(handles[i]));
        ASSERT_EQ(i % 2 != 0, things::is_shared(handles[i]));
        ASSERT_EQ(0u, eight_bytes_at(handles[i]));
    }
    EXPECT_TRUE(table->remove(handles[7]));
    EXPECT_EQ(nullptr, table->get(handles[7]));
    void* const again = table->add(owner, objects[7], false);
    EXPECT_NE(handles[7], again);
    EXPECT_EQ(&objects[7], table->get(again));
    EXPECT_EQ(nullptr, table->get(handles[7]));
}

TEST(HandleTable, knows_no_address_that_it_has_not_given)
{
    const auto table = std::make_unique<things>();
    EXPECT_EQ(nullptr, table->get(nullptr));
    void* const handle = table->add(std::make_shared<thing>());
    auto* const bytes = static_cast<std::byte*>(handle);
    constexpr std::ptrdiff_t far = std::ptrdiff_t{1} << 40; // the same low bits
    for (const std::ptrdiff_t distance : {std::ptrdiff_t{1}, std::ptrdiff_t{16},
                                          std::ptrdiff_t{1} << 14, std::ptrdiff_t{1} << 18, far}) {
        const auto made_up =
            reinterpret_cast<std::uintptr_t>(bytes) + static_cast<std::uintptr_t>(distance);
        EXPECT_EQ(nullptr, table->get(reinterpret_cast<void*>(made_up))) << distance;
    }
    EXPECT_NE(nullptr, table->get(handle));
}

// What lies where the next range would begin is left alone.
TEST(HandleAddresses, make_way_for_other_mappings)
{
    constexpr std::size_t ranges = 4;
    constexpr std::size_t size = 16 * 1024;
    constexpr std::size_t range_bytes = size * 16;
    handle_addresses<ranges, size> addresses;
    const std::uint32_t first = addresses.add_range();
    ASSERT_GT(ranges, first);
    std::vector<void*> in_the_way;
    auto* below = static_cast<std::byte*>(addresses.at(first, 0));
    for (std::size_t i = 0; i < 2 * ranges; ++i) {
        below -= range_bytes;
        in_the_way.push_back(
            ::mmap(below, range_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        ASSERT_NE(MAP_FAILED, in_the_way.back());
        std::memset(in_the_way.back(), 1, range_bytes);
    }
    std::set<std::uint32_t> given{first};
    for (std::size_t i = 1; i < ranges; ++i) {
        const std::uint32_t added = addresses.add_range();
        ASSERT_GT(ranges, added);
        EXPECT_TRUE(given.insert(added).second);
        void* const last = addresses.at(added, size - 1);
        EXPECT_EQ(0u, eight_bytes_at(last));
        EXPECT_EQ(added, addresses.range_of(last));
        EXPECT_EQ(size - 1, addresses.number_of(last));
    }
    EXPECT_EQ((handle_addresses<ranges, size>::no_range), addresses.add_range());
    for (void* const other : in_the_way) {
        EXPECT_EQ(0x0101010101010101u, eight_bytes_at(other));
        ::munmap(other, range_bytes);
    }
}

} // namespace
} // namespace zlink::api
