// SPDX-License-Identifier: Apache-2.0
#include "base/memory/rotation.hpp"

#include <gtest/gtest.h>

namespace zlink::base {
namespace {

TEST(Rotation, gives_back_what_has_waited_longest)
{
    rotation<int, 3> subject;
    int blocks[4] = {};
    EXPECT_EQ(nullptr, subject.take(0));
    for (int round = 0; round < 5; ++round) {
        EXPECT_TRUE(subject.give(&blocks[0]));
        EXPECT_TRUE(subject.give(&blocks[1]));
        EXPECT_EQ(&blocks[0], subject.take(0));
        EXPECT_EQ(&blocks[1], subject.take(1));
        EXPECT_EQ(nullptr, subject.take(0));
    }
}

TEST(Rotation, gives_nothing_before_enough_wait)
{
    rotation<int, 3> subject;
    int blocks[2] = {};
    subject.give(&blocks[0]);
    EXPECT_EQ(nullptr, subject.take(2));
    subject.give(&blocks[1]);
    EXPECT_EQ(&blocks[0], subject.take(2));
    EXPECT_EQ(nullptr, subject.take(2));
    EXPECT_EQ(&blocks[1], subject.take(1));
}

TEST(Rotation, keeps_no_more_than_it_has_room_for)
{
    rotation<int, 2> subject;
    int blocks[3] = {};
    EXPECT_TRUE(subject.give(&blocks[0]));
    EXPECT_TRUE(subject.give(&blocks[1]));
    EXPECT_FALSE(subject.give(&blocks[2]));
    EXPECT_EQ(&blocks[0], subject.take(0));
    EXPECT_TRUE(subject.give(&blocks[2]));
    EXPECT_EQ(&blocks[1], subject.take(0));
    EXPECT_EQ(&blocks[2], subject.take(0));
}

} // namespace
} // namespace zlink::base
