// SPDX-License-Identifier: Apache-2.0
// Clients and workers, and a proxy between them. If they come and go, the proxy is paused and
// resumed all the time, and now and then it ends, workers are replaced, and it goes on.
#include <algorithm>
#include <deque>
#include <set>

#include "crowd_worker.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class broker : public crowd_scene, public worker_place {
public:
    explicit broker(crowd_stage& stage)
        : stage_(stage),
          front_(stage.open_hub(ZMQ_ROUTER)),
          back_(stage.open_hub(ZMQ_DEALER)),
          clients_left_(stage.cell().peers)
    {}

    void launch() override;

    std::string address() const override { return back_address_; }
    const std::string& front_address() const { return front_address_; }
    void client_ended() { --clients_left_; }

    /// How many requests a client may have under way: the ROUTER drops replies for which there is
    /// no room, and may find a queue full before as much is in it as the high-water mark says.
    std::uint64_t window() const
    {
        constexpr std::uint64_t most = 100;
        const auto hwm = std::uint64_t(stage_.cell().hwm);
        return hwm == 0 ? most : std::clamp<std::uint64_t>(hwm / 4, 1, most);
    }
    /// A client asks whether it may send a request; if so, it tells when the reply has come.
    bool may_ask()
    {
        ++under_way_;
        if (!on_hold_)
            return true;
        --under_way_;
        return false;
    }
    void answered() { --under_way_; }

private:
    int workers() const { return std::max(2, stage_.cell().peers / 4); }

    void run_proxy()
    {
        stage_.launch("proxy", [this](crowd_record& record) {
            record.state = "in the proxy";
            const int result = zmq_proxy_steerable(front_, back_, nullptr, control_);
            if (result != 0 && !closing())
                throw call_failed("zmq_proxy_steerable");
            proxy_ended_ = true;
        });
    }
    void run_plain_proxy()
    {
        stage_.launch("proxy", [this](crowd_record& record) {
            record.state = "in the proxy";
            zmq_proxy(front_, back_, nullptr);
            if (!closing())
                throw call_failed("zmq_proxy");
            front_.close();
            back_.close();
        });
    }

    void manage(crowd_record& record)
    {
        if (stage_.cell().come_and_go)
            steer(record);
        else
            stage_.await(record, "waiting for the clients", [this] { return clients_left_ == 0; });
        close();
        // The end of the workers is waited for by the stage; that of a plain proxy comes with its
        // context.
        if (!stage_.cell().come_and_go) {
            stage_.await(record, "waiting for the workers",
                         [this] { return count_left() == workers(); });
            zmq_ctx_shutdown(stage_.hub_context());
        }
    }

    void steer(crowd_record& record)
    {
        const auto nap = [](auto time) { std::this_thread::sleep_for(time); };
        for (unsigned turn = 1; clients_left_ != 0 && !stage_.failed(); ++turn) {
            send_word(hand_, "PAUSE");
            nap(500us);
            send_word(hand_, "RESUME");
            nap(2ms);
            if (turn % 4 != 0)
                continue;
            on_hold_ = true;
            stage_.await(record, "waiting for the replies", [this] { return under_way_ == 0; });
            end_proxy(record);
            change();
            proxy_ended_ = false;
            run_proxy();
            on_hold_ = false;
        }
        end_proxy(record);
        front_.close();
        back_.close();
        control_.close();
        hand_.close();
    }
    void end_proxy(crowd_record& record)
    {
        send_word(hand_, "TERMINATE");
        stage_.await(record, "waiting for the proxy", [this] { return proxy_ended_.load(); });
    }

    /// Nobody has a request now.
    void change()
    {
        if (members_.size() > std::size_t(workers() + 1) / 2) {
            back_.disconnect(members_.front().address);
            members_.front().tell_to_leave(0);
            members_.pop_front();
        }
        welcome();
    }
    void welcome()
    {
        while (auto one = offers().take()) {
            back_.connect(one->address);
            members_.push_back(*std::move(one));
        }
    }

    crowd_stage& stage_;
    test_socket front_;
    test_socket back_;
    test_socket control_;
    test_socket hand_;
    std::string front_address_;
    std::string back_address_;
    std::deque<crowd_offers::offer> members_;
    std::atomic<int> clients_left_;
    std::atomic<int> under_way_{0};
    std::atomic<bool> on_hold_{false};
    std::atomic<bool> proxy_ended_{false};
};

/// Asks as many requests as are its share, and closes after the last reply.
class client : public crowd_peer {
public:
    client(crowd_stage& stage, broker& scene, int type, int lives)
        : client(stage, scene, type, lives, stage.new_stream())
    {}

    void begin() override
    {
        socket_.connect(scene_.front_address());
        look();
    }
    void look() override
    {
        record().state = "asking";
        const std::uint64_t window = type_ == ZMQ_REQ ? 1 : scene_.window();
        while (next_ < quota_ && unanswered_.size() < window && scene_.may_ask()) {
            if (type_ == ZMQ_DEALER)
                send_word(socket_, "", ZMQ_SNDMORE);
            unanswered_.insert(next_);
            send_message(socket_, stage_.cell().body, {stream_, next_});
            ++next_;
            ++record().sent;
        }
        record().state = "waiting for replies";
    }
    bool take(int flags) override
    {
        if (unanswered_.empty()) { // a REQ may not even try
            std::this_thread::sleep_for(flags == 0 ? 1ms : 0ms);
            return false;
        }
        std::optional<arrived_part> part = receive_part(socket_, flags);
        if (!part)
            return false;
        if (type_ == ZMQ_DEALER) {
            if (!part->bytes.empty())
                complain("a reply has no envelope");
            part = receive_next_part(socket_);
        }
        const reply_stamp stamp = parse_stamp(*part);
        const message_key key =
            receive_rest(socket_, stage_.cell().body, receive_next_part(socket_));
        if (key.stream != stream_)
            complain("the reply to " + text_of(key) + " has come");
        if (unanswered_.erase(key.number) != 1)
            complain("the reply to " + text_of(key) + " has come twice");
        order_.note(stamp.worker, stamp.number);
        scene_.answered();
        ++record().received;
        look();
        return true;
    }
    bool done() const override { return record_received_all(); }
    std::unique_ptr<crowd_peer> successor() override
    {
        if (lives_ > 1)
            return std::make_unique<client>(stage_, scene_, type_, lives_ - 1);
        scene_.client_ended();
        return nullptr;
    }

private:
    client(crowd_stage& stage, broker& scene, int type, int lives, std::uint32_t stream)
        : crowd_peer(stage, type, "client " + std::to_string(stream)),
          scene_(scene),
          type_(type),
          lives_(lives),
          stream_(stream),
          quota_(quota_of(stage.cell(), stream))
    {}

    bool record_received_all() const { return next_ == quota_ && unanswered_.empty(); }

    broker& scene_;
    const int type_;
    const int lives_;
    const std::uint32_t stream_;
    const std::uint64_t quota_;
    std::uint64_t next_ = 0;
    std::set<std::uint64_t> unanswered_;
    rising_order order_;
};

void broker::launch()
{
    const scene what = stage_.cell().what;
    const bool asks_by_req = what == scene::broker_req_rep || what == scene::broker_req_dealer;
    const bool has_rep = what == scene::broker_req_rep || what == scene::broker_dealer_rep;
    front_address_ = stage_.bind(front_);
    if (!stage_.cell().come_and_go)
        back_address_ = stage_.bind(back_);
    std::vector<std::unique_ptr<crowd_peer>> some;
    for (int i = 0; i < workers(); ++i)
        some.push_back(
            std::make_unique<crowd_worker>(stage_, *this, has_rep ? ZMQ_REP : ZMQ_DEALER));
    launch_peers(stage_, "workers'", std::move(some));
    some.clear();
    for (int i = 0; i < stage_.cell().peers; ++i)
        some.push_back(std::make_unique<client>(stage_, *this, asks_by_req ? ZMQ_REQ : ZMQ_DEALER,
                                                generations(stage_.cell())));
    if (stage_.cell().come_and_go) {
        control_ = stage_.open_hub(ZMQ_PAIR);
        hand_ = stage_.open_hub(ZMQ_PAIR);
        const std::string address = known_address(transport::inproc);
        control_.bind(address);
        hand_.connect(address);
    }
    launch_peers(stage_, "clients'", std::move(some));
    stage_.launch("manager", [this](crowd_record& record) {
        if (stage_.cell().come_and_go) {
            stage_.await(record, "waiting for workers",
                         [&] { return offers().size() == std::size_t(workers()); });
            welcome();
            run_proxy();
        } else {
            run_plain_proxy();
        }
        manage(record);
    });
}

} // namespace

std::unique_ptr<crowd_scene> scene_of_broker(crowd_stage& stage)
{
    return std::make_unique<broker>(stage);
}

} // namespace zlink::test
