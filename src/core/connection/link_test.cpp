// SPDX-License-Identifier: Apache-2.0
#include "core/connection/link.hpp"

#include "base/sync/asymmetric_fence.hpp"
#include "core/pipe/pipe.hpp"
#include "support/memory_stream.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace zlink::core {
namespace {

using request = link::request;

/// A session that does what it is asked for to the link only.
class recording_owner final : public link_owner {
public:
    explicit recording_owner(link& served) : served_(served) {}
    void serve(request what) override
    {
        served.push_back(what);
        if (what == request::drain)
            served_.out().drain();
    }

    std::vector<request> served;

private:
    link& served_;
};

class Link : public ::testing::Test {
protected:
    using requests = std::vector<request>;

    Link()
    {
        EXPECT_EQ(0, thread_.start(0, {.cpus = {}, .name_prefix = {}, .stepped = true}));
        link_->set_owner(&owner_);
        link_->out().attach(stream_, {});
        link_->out().drain();
        sender_ = std::make_shared<pipe_end>(link_->channels(), true, nullptr);
        sender_->set_connection(*link_, *link_);
    }
    void send(std::size_t bytes)
    {
        ASSERT_TRUE(sender_->out.write(frame_of(std::string(bytes, 'x'), false)));
        sent_bytes_ += bytes + 2;
    }
    /// What the I/O thread is asked for by now; it does that.
    requests asked()
    {
        while (thread_.step()) {
        }
        return std::exchange(owner_.served, {});
    }
    /// The next message is sent in this cadence.
    void send_in(cadence how)
    {
        shared_->begin_message(1, flush_list::clock::now);
        shared_->of_message([&] { return how; });
    }

    runtime::io_thread thread_;
    test::memory_stream stream_;
    std::shared_ptr<fan_out_writes> shared_ = std::make_shared<fan_out_writes>();
    std::shared_ptr<link> link_ = std::make_shared<link>(thread_, shared_, true);
    recording_owner owner_{*link_};
    std::shared_ptr<pipe_end> sender_;
    std::size_t sent_bytes_ = 0;
};

TEST_F(Link, lets_the_sending_thread_write_to_an_idle_connection)
{
    send_in(cadence::sparse);
    send(10);
    EXPECT_EQ(sent_bytes_, stream_.written.size());
    EXPECT_EQ(requests{}, asked());
    const traffic_counts counts = link_->counts();
    EXPECT_EQ(1U, counts.direct_writes);
    EXPECT_EQ(0U, counts.batch_writes + counts.io_writes);
    EXPECT_EQ(sent_bytes_, counts.written_bytes);
    EXPECT_EQ(1U, counts.written_messages);
}

TEST_F(Link, lets_the_io_thread_write_what_a_connection_does_not_take)
{
    send_in(cadence::sparse);
    shared_->connections = 2; // nobody waits for one of many
    shared_->sends_to_many = true;
    stream_.room = 5;
    send(10);
    EXPECT_EQ(5U, stream_.written.size());
    stream_.room = SIZE_MAX;
    EXPECT_EQ(requests{request::drain}, asked());
    EXPECT_EQ(sent_bytes_, stream_.written.size());
    const traffic_counts counts = link_->counts();
    EXPECT_EQ(1U, counts.direct_writes);
    EXPECT_EQ(1U, counts.io_writes);
    EXPECT_EQ(1U, counts.io_requests);
}

TEST_F(Link, waits_for_one_of_several_connections_that_soon_takes_more)
{
    send_in(cadence::sparse);
    shared_->connections = 2;
    stream_.pauses = 2;
    send(10);
    EXPECT_EQ(sent_bytes_, stream_.written.size());
    EXPECT_EQ(requests{}, asked());
    EXPECT_EQ(0U, link_->counts().io_writes);
    EXPECT_LE(2U, link_->counts().write_retries);
}

TEST_F(Link, coalesces_what_follows_quickly_until_the_thread_waits)
{
    if (!base::has_heavy_fence())
        GTEST_SKIP() << "without membarrier() the I/O thread makes the batches";
    send_in(cadence::stream);
    send(10);
    send(10);
    EXPECT_EQ(0U, stream_.writes.size());
    sender_->out.flush_before_sleep();
    EXPECT_EQ(1U, stream_.writes.size());
    EXPECT_EQ(sent_bytes_, stream_.written.size());
    const traffic_counts counts = link_->counts();
    EXPECT_EQ(1U, counts.batch_writes);
    EXPECT_EQ(1U, counts.wait_flushes);
    EXPECT_EQ(0U, counts.direct_writes);
    EXPECT_EQ(2U, counts.written_messages);
}

TEST_F(Link, batches_nothing_where_only_the_newest_message_counts)
{
    link_ = std::make_shared<link>(thread_, shared_, false);
    recording_owner owner(*link_);
    link_->set_owner(&owner);
    link_->out().attach(stream_, {});
    link_->out().drain();
    send_in(cadence::stream);
    link_->channels()->a_to_b.queue.wake();
    EXPECT_EQ(writer_is::io_thread, link_->committed().who);
    while (thread_.step()) {
    }
    EXPECT_EQ(requests{request::drain}, owner.served);
    link_->set_owner(nullptr);
}

TEST_F(Link, hands_over_to_the_io_thread_what_goes_to_many)
{
    shared_->sends_to_many = true;
    shared_->begin_message(100, flush_list::clock::now);
    while (shared_->takes_turn()) {
    }
    EXPECT_EQ(writer_is::io_thread, link_->committed().who);
    EXPECT_EQ(requests{request::drain}, asked());
}

TEST_F(Link, asks_once_until_the_io_thread_comes_to_it)
{
    link_->ask_to_read();
    link_->ask_to_read();
    link_->made_room();
    link_->made_room();
    EXPECT_EQ((requests{request::grant_lease, request::read}), asked());
    EXPECT_EQ(1U, link_->counts().lease_requests);
    link_->lease().begin_answer();
    link_->ask_to_read();
    EXPECT_EQ(requests{request::grant_lease}, asked());
}

TEST_F(Link, asks_nobody_once_its_owner_has_gone)
{
    link_->made_room();
    link_->set_owner(nullptr);
    EXPECT_EQ(requests{}, asked());
    link_->made_room();
    EXPECT_EQ(requests{}, asked());
}

// A thread may be overtaken between its decision to write and the lock that it needs for it: by
// then the session may have let go of this link, and of the one after it.
TEST_F(Link, lasts_as_long_as_a_thread_waits_to_write)
{
    std::atomic<bool> is_writing{false};
    std::atomic<bool> goes_on{false};
    stream_.on_write = [&] {
        is_writing.store(true);
        is_writing.notify_all();
        goes_on.wait(false);
    };
    // The I/O thread is in the middle of a write.
    std::thread writing([kept = link_.get()] {
        kept->out().send_command({engine::traffic_command_kind::ping, {}, 0});
    });
    is_writing.wait(false);
    std::atomic<bool> begins{false};
    std::thread sending([&, out = static_cast<outlet*>(link_.get()), end = sender_]() mutable {
        begins.store(true);
        begins.notify_all();
        out->flush(flush_reason::full); // waits for the lock
        end.reset();
    });
    begins.wait(false);
    sender_.reset();
    goes_on.store(true);
    goes_on.notify_all();
    writing.join();
    const std::weak_ptr<link> last = link_;
    link_->set_owner(nullptr);
    link_.reset(); // as a session does that gets another pipe
    sending.join();
    EXPECT_TRUE(last.expired());
}

} // namespace
} // namespace zlink::core
