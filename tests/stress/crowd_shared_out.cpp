// SPDX-License-Identifier: Apache-2.0
// PUSH to PULL: each message to one of them. The hub disconnects from a peer that is to leave,
// which closes when all that was sent before has arrived somewhere.
#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>
#include <vector>

#include "crowd_stage.hpp"

namespace zlink::test {
namespace {

class shared_out : public crowd_scene {
public:
    explicit shared_out(crowd_stage& stage) : stage_(stage), seen_(stage.cell().count) {}

    void launch() override;
    void check() override
    {
        if (low_ != count())
            throw crowd_failure(text_of({1, low_}) + " has not come");
    }

    std::uint64_t count() const { return stage_.cell().count; }
    const std::string& address() const { return address_; }
    crowd_offers& offers() { return offers_; }
    void present() { ++present_; }
    /// Notes what has arrived. False if it has before.
    bool mark(std::uint64_t number)
    {
        const std::lock_guard lock(mutex_);
        if (number >= count() || seen_[number])
            return false;
        seen_[number] = true;
        std::uint64_t low = low_;
        while (low < count() && seen_[low])
            ++low;
        low_ = low;
        return true;
    }
    /// All below this have arrived.
    std::uint64_t low() const { return low_; }

private:
    void find_all(test_socket& hub, crowd_record& record)
    {
        record.state = "sending probes";
        while (present_ < stage_.cell().peers) {
            send_word(hub, "probe");
            if (stage_.failed())
                return;
        }
    }

    void send_all(test_socket& hub, crowd_record& record)
    {
        std::deque<crowd_offers::offer> members;
        const auto peers = std::size_t(stage_.cell().peers);
        const auto welcome = [&] {
            while (auto one = offers_.take()) {
                hub.connect(one->address);
                members.push_back(*std::move(one));
            }
        };
        if (stage_.cell().come_and_go) {
            stage_.await(record, "waiting for peers", [&] { return offers_.size() == peers; });
            welcome();
        } else {
            find_all(hub, record);
        }
        record.state = "sending";
        const std::uint64_t turn =
            std::max<std::uint64_t>(1, messages_per_life(stage_.cell())); // one leaves in each
        for (std::uint64_t number = 0; number < count(); ++number) {
            if (stage_.cell().come_and_go && number % turn == turn - 1) {
                if (members.size() > (peers + 1) / 2) {
                    record.state = "disconnecting";
                    hub.disconnect(members.front().address);
                    members.front().tell_to_leave(number);
                    members.pop_front();
                }
                record.state = "connecting";
                welcome();
                record.state = "sending";
            }
            send_message(hub, stage_.cell().body, {1, number});
            ++record.sent;
        }
    }

    crowd_stage& stage_;
    std::string address_;
    crowd_offers offers_;
    std::atomic<int> present_{0};
    std::mutex mutex_;
    std::vector<bool> seen_;
    std::atomic<std::uint64_t> low_{0};
};

class pull_peer : public crowd_peer {
public:
    pull_peer(crowd_stage& stage, shared_out& scene, int)
        : crowd_peer(stage, ZMQ_PULL, "pull " + std::to_string(stage.new_stream())), scene_(scene)
    {}

    void begin() override
    {
        record().state = "receiving";
        if (!stage_.cell().come_and_go)
            return socket_.connect(scene_.address());
        scene_.offers().put(
            {stage_.bind(socket_), [end = end_](std::uint64_t sent) { *end = sent; }});
    }
    bool take(int flags) override
    {
        const auto first = receive_part(socket_, flags);
        if (!first)
            return false;
        if (first->bytes.size() <= largest_word_bytes) {
            if (!std::exchange(present_, true))
                scene_.present();
            return true;
        }
        const message_key key = receive_rest(socket_, stage_.cell().body, *first);
        if (key.number + 1 <= above_)
            complain(text_of(key) + " has come after " + text_of({1, above_ - 1}));
        above_ = key.number + 1;
        if (!scene_.mark(key.number))
            complain(text_of(key) + " has come twice");
        ++record().received;
        return true;
    }
    bool done() const override { return scene_.low() >= std::min(end_->load(), scene_.count()); }
    std::unique_ptr<crowd_peer> successor() override
    {
        return scene_.low() == scene_.count() ? nullptr
                                              : std::make_unique<pull_peer>(stage_, scene_, 1);
    }

private:
    shared_out& scene_;
    const std::shared_ptr<std::atomic<std::uint64_t>> end_ =
        std::make_shared<std::atomic<std::uint64_t>>(std::numeric_limits<std::uint64_t>::max());
    std::uint64_t above_ = 0; ///< numbers that may come
    bool present_ = false;
};

void shared_out::launch()
{
    auto hub = std::make_shared<test_socket>(stage_.open_hub(ZMQ_PUSH));
    if (!stage_.cell().come_and_go)
        address_ = stage_.bind(*hub);
    launch_all<pull_peer>(stage_, *this, "pulls'");
    stage_.launch("push", [this, hub = std::move(hub)](crowd_record& record) mutable {
        send_all(*hub, record);
        hub->close();
    });
}

} // namespace

std::unique_ptr<crowd_scene> scene_to_any(crowd_stage& stage)
{
    return std::make_unique<shared_out>(stage);
}

} // namespace zlink::test
