// SPDX-License-Identifier: Apache-2.0
#include "base/memory/secret.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace zlink::test {
namespace {

using base::secret;
using base::secret_memory;

TEST(secret_memory, gives_zeros_and_wipes_what_comes_back)
{
    for (const std::size_t bytes : {16U, 64U, 65U, 256U, 512U}) {
        auto* const block = static_cast<unsigned char*>(secret_memory::allocate(bytes));
        EXPECT_TRUE(std::all_of(block, block + bytes, [](unsigned char c) { return c == 0; }));
        std::memset(block, 0xaa, bytes);
        secret_memory::release(block, bytes);
        EXPECT_EQ(std::count(block + sizeof(void*), block + bytes, 0xaa), 0) << bytes;
    }
}

TEST(secret_memory, has_no_larger_blocks)
{
    EXPECT_THROW(secret_memory::allocate(secret_memory::max_bytes + 1), std::bad_alloc);
}

TEST(secret_memory, blocks_do_not_overlap)
{
    std::set<unsigned char*> blocks;
    for (int i = 0; i < 200; ++i)
        blocks.insert(static_cast<unsigned char*>(secret_memory::allocate(64)));
    ASSERT_EQ(blocks.size(), 200U);
    unsigned char* before = nullptr;
    for (unsigned char* const block : blocks) {
        if (before) {
            EXPECT_GE(block - before, 64);
        }
        before = block;
    }
    for (unsigned char* const block : blocks)
        secret_memory::release(block, 64);
}

#ifdef __linux__
// The flags of the mapping that an address lies in.
std::string mapping_flags(const void* address)
{
    std::ifstream maps("/proc/self/smaps");
    std::string line;
    bool inside = false;
    while (std::getline(maps, line)) {
        unsigned long begin = 0;
        unsigned long end = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
            const auto at = reinterpret_cast<unsigned long>(address);
            inside = at >= begin && at < end;
        } else if (inside && line.starts_with("VmFlags:")) {
            return line;
        }
    }
    return {};
}

TEST(secret_memory, is_left_out_of_core_dumps)
{
    void* const block = secret_memory::allocate(32);
    const std::string flags = mapping_flags(block);
    secret_memory::release(block, 32);
    ASSERT_FALSE(flags.empty());
    EXPECT_NE(flags.find(" dd"), std::string::npos) << flags;
}
#endif

TEST(secret, copies_share_their_bytes)
{
    const secret password(std::string_view("correct horse"));
    const secret copy = password; // NOLINT
    EXPECT_EQ(copy.text(), "correct horse");
    EXPECT_EQ(copy.bytes().data(), password.bytes().data());
    EXPECT_TRUE(secret().empty());
    EXPECT_TRUE(secret(std::string_view()).empty());
}

TEST(secret, is_wiped_with_its_last_copy)
{
    const unsigned char* at = nullptr;
    {
        const secret password(std::string(64, 'x'));
        at = reinterpret_cast<const unsigned char*>(password.bytes().data());
        ASSERT_EQ(at[63], 'x');
    }
    EXPECT_EQ(std::count(at + sizeof(void*), at + 64, 'x'), 0); // its page is kept
}

} // namespace
} // namespace zlink::test
