// SPDX-License-Identifier: Apache-2.0
// One DEALER that asks many.
#include <deque>
#include <set>

#include "crowd_worker.hpp"

namespace zlink::test {
namespace {

class requests : public crowd_scene, public worker_place {
public:
    explicit requests(crowd_stage& stage) : stage_(stage) {}

    void launch() override
    {
        auto hub = std::make_shared<test_socket>(stage_.open_hub(ZMQ_DEALER));
        if (!stage_.cell().come_and_go)
            address_ = stage_.bind(*hub);
        std::vector<std::unique_ptr<crowd_peer>> workers;
        const int type = stage_.cell().what == scene::dealer_rep ? ZMQ_REP : ZMQ_ROUTER;
        for (int i = 0; i < stage_.cell().peers; ++i)
            workers.push_back(std::make_unique<crowd_worker>(stage_, *this, type));
        launch_peers(stage_, "workers'", std::move(workers));
        stage_.launch("hub", [this, hub = std::move(hub)](crowd_record& record) mutable {
            ask_all(*hub, record);
            close();
            hub->close();
        });
    }

    std::string address() const override { return address_; }

private:
    void ask_all(test_socket& hub, crowd_record& record)
    {
        const std::uint64_t count = stage_.cell().count;
        const auto peers = std::size_t(stage_.cell().peers);
        const std::uint64_t window = 4 * peers;
        const std::uint64_t turn = messages_per_life(stage_.cell());
        if (stage_.cell().come_and_go) {
            stage_.await(record, "waiting for workers", [&] { return offers().size() == peers; });
            welcome(hub);
        }
        std::uint64_t next_change = turn;
        for (std::uint64_t next = 0; next < count || !unanswered_.empty();) {
            const bool changes = stage_.cell().come_and_go && next >= next_change;
            record.state = "asking";
            while (next < count && unanswered_.size() < window && !changes) {
                if (!ask(hub, next))
                    break;
                ++next;
                ++record.sent;
            }
            record.state = "receiving replies";
            const std::size_t enough = changes || next == count ? 0 : window / 2;
            do {
                if (!unanswered_.empty())
                    take_reply(hub, record);
            } while (unanswered_.size() > enough);
            if (changes) {
                record.state = "changing workers";
                change(hub);
                next_change += turn;
            }
        }
    }

    bool ask(test_socket& hub, std::uint64_t number)
    {
        if (zmq_send(hub, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
            if (zmq_errno() == EAGAIN)
                return false;
            throw call_failed("zmq_send");
        }
        send_message(hub, stage_.cell().body, {1, number});
        unanswered_.insert(number);
        return true;
    }

    void take_reply(test_socket& hub, crowd_record& record)
    {
        if (!receive_part(hub).value().bytes.empty())
            throw crowd_failure("a reply has no envelope");
        const reply_stamp stamp = parse_stamp(receive_next_part(hub));
        const message_key key = receive_rest(hub, stage_.cell().body, receive_next_part(hub));
        if (unanswered_.erase(key.number) != 1)
            throw crowd_failure("the reply to " + text_of(key) + " has come twice");
        order_.note(stamp.worker, stamp.number);
        ++record.received;
    }

    /// Nobody has a request now.
    void change(test_socket& hub)
    {
        if (members_.size() > std::size_t(stage_.cell().peers + 1) / 2) {
            hub.disconnect(members_.front().address);
            members_.front().tell_to_leave(0);
            members_.pop_front();
        }
        welcome(hub);
    }
    void welcome(test_socket& hub)
    {
        while (auto one = offers().take()) {
            hub.connect(one->address);
            members_.push_back(*std::move(one));
        }
    }

    crowd_stage& stage_;
    std::string address_;
    std::deque<crowd_offers::offer> members_;
    std::set<std::uint64_t> unanswered_;
    rising_order order_;
};

} // namespace

std::unique_ptr<crowd_scene> scene_of_requests(crowd_stage& stage)
{
    return std::make_unique<requests>(stage);
}

} // namespace zlink::test
