// SPDX-License-Identifier: Apache-2.0
// Large bodies over inproc, for which a sender waits a moment (docs/decisions 0015).
#include "core/pipe/pipe.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace zlink::core {
namespace {

class Lending : public ::testing::Test {
protected:
    Lending()
    {
        writing_->set_inproc();
        reading_->set_inproc();
        writing_->set_other_end(reading_);
    }
    ~Lending() override
    {
        box_->close([](auto&&...) {});
    }

    /// Sends one body after the other, each once the one before was read, until one was lent, or so
    /// many were sent.
    bool lends(int bodies)
    {
        bool was_lent = false;
        for (int sent = 0; sent < bodies && !was_lent; ++sent) {
            const std::vector<std::byte> body(1'000'000, std::byte(sent));
            std::jthread reader([&] {
                frame part;
                while (!reading_->in.peek(part))
                    std::this_thread::yield();
                was_lent |= part.lent();
                std::vector<std::byte> got(body.size());
                copy_out(part, got.data(), got.size());
                EXPECT_TRUE(got == body);
                reading_->in.pop();
            });
            EXPECT_TRUE(writing_->out.write({.data = body.data(),
                                             .size = body.size(),
                                             .owner = nullptr,
                                             .flags = 0,
                                             .lendable = true,
                                             .routing_id = 0}));
        }
        return was_lent;
    }

    static constexpr int many_bodies = 20'000; ///< one of them meets its reader

    std::shared_ptr<base::mailbox> box_ = std::make_shared<base::mailbox>();
    std::shared_ptr<channel_pair> channels_ = std::make_shared<channel_pair>();
    std::shared_ptr<pipe_end> writing_ = make_pipe_end(channels_, true, nullptr);
    std::shared_ptr<pipe_end> reading_ = make_pipe_end(channels_, false, box_);
};

TEST_F(Lending, goes_to_the_reader_of_the_only_pipe)
{
    writing_->out.wait_for_reader(true, false);
    EXPECT_TRUE(lends(many_bodies));
}

TEST_F(Lending, goes_to_the_reader_of_one_of_several_pipes)
{
    writing_->out.wait_for_reader(true, true);
    EXPECT_TRUE(lends(many_bodies));
}

TEST_F(Lending, does_not_go_to_a_reader_that_is_not_waited_for)
{
    writing_->out.wait_for_reader(false, true);
    EXPECT_FALSE(lends(20));
}

} // namespace
} // namespace zlink::core
