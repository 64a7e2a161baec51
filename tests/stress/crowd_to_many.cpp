// SPDX-License-Identifier: Apache-2.0
// One socket that sends to many.
#include <algorithm>
#include <deque>
#include <limits>

#include "crowd_stage.hpp"

namespace zlink::test {
namespace {

/// Makes as many peers as the cell has.
template <typename Peer, typename Scene>
void launch_all(crowd_stage& stage, Scene& scene, const char* name)
{
    std::vector<std::unique_ptr<crowd_peer>> peers;
    for (int i = 0; i < stage.cell().peers; ++i)
        peers.push_back(std::make_unique<Peer>(stage, scene, generations(stage.cell())));
    launch_peers(stage, name, std::move(peers));
}

// --- ROUTER to DEALER, SERVER to CLIENT: each peer has a stream of its own. It says hello, gets
// what is meant for it and closes.

class addressed : public crowd_scene {
public:
    explicit addressed(crowd_stage& stage)
        : stage_(stage), is_server_(stage.cell().what == scene::server_client)
    {}

    void launch() override;

    const std::string& address() const { return address_; }
    int peer_type() const { return is_server_ ? ZMQ_CLIENT : ZMQ_DEALER; }
    void announce() { ++announced_; }

private:
    struct member {
        std::string id;
        std::uint32_t routing_id = 0;
        std::uint32_t stream = 0;
        std::uint64_t left = 0;
        std::uint64_t next = 0;
    };

    member greet(test_socket& hub) const
    {
        member fresh;
        std::string word;
        if (is_server_) {
            draft_message message;
            receive(hub, message);
            fresh.routing_id = message.routing_id();
            word = message.body();
        } else {
            fresh.id = receive_part(hub).value().bytes;
            word = receive_next_part(hub).bytes;
        }
        fresh.stream = static_cast<std::uint32_t>(std::stoul(word));
        fresh.left = quota_of(stage_.cell(), fresh.stream);
        return fresh;
    }

    bool send(test_socket& hub, member& to) const
    {
        const message_key key{to.stream, to.next};
        if (!is_server_)
            send_word(hub, to.id, ZMQ_SNDMORE);
        // A SERVER does not wait.
        if (!send_message(hub, stage_.cell().body, key, is_server_ ? ZMQ_DONTWAIT : 0,
                          to.routing_id))
            return false;
        ++to.next;
        --to.left;
        return true;
    }

    void send_all(test_socket& hub, crowd_record& record)
    {
        std::vector<member> members;
        std::size_t greeted = 0;
        const std::size_t all = std::size_t(stage_.cell().peers * generations(stage_.cell()));
        while (greeted < all || !members.empty()) {
            if (members.empty())
                stage_.await(record, "waiting for peers", [&] { return announced_ > greeted; });
            // Not by looking at the socket, which would end a burst.
            for (record.state = "receiving a hello"; greeted < announced_; ++greeted)
                members.push_back(greet(hub));
            record.state = "sending";
            bool moved = false;
            for (member& each : members)
                if (send(hub, each)) {
                    ++record.sent;
                    moved = true;
                }
            if (!moved)
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            std::erase_if(members, [](const member& each) { return each.left == 0; });
        }
    }

    crowd_stage& stage_;
    const bool is_server_;
    std::string address_;
    std::atomic<std::size_t> announced_{0};
};

class addressed_peer : public crowd_peer {
public:
    addressed_peer(crowd_stage& stage, addressed& scene, int lives)
        : addressed_peer(stage, scene, lives, stage.new_stream())
    {}

    void begin() override
    {
        socket_.connect(scene_.address());
        record().state = "saying hello";
        send_word(socket_, std::to_string(stream_));
        record().state = "receiving";
        scene_.announce();
    }
    bool take(int flags) override
    {
        const auto first = receive_part(socket_, flags);
        if (!first)
            return false;
        const message_key key = receive_rest(socket_, stage_.cell().body, *first);
        if (key.stream != stream_ || key.number != next_)
            complain(text_of(key) + " has come instead of " + text_of({stream_, next_}));
        ++next_;
        ++record().received;
        if (done() && receive_part(socket_, ZMQ_DONTWAIT))
            complain("more has come than was sent");
        if (done() && lives_ > 1 && scene_.peer_type() == ZMQ_DEALER && stream_ % 2 == 0)
            return_as_another();
        return true;
    }
    bool done() const override { return next_ == quota_; }
    std::unique_ptr<crowd_peer> successor() override
    {
        return lives_ == 1 ? nullptr : std::make_unique<addressed_peer>(stage_, scene_, lives_ - 1);
    }

private:
    addressed_peer(crowd_stage& stage, addressed& scene, int lives, std::uint32_t stream)
        : crowd_peer(stage, scene.peer_type(), "peer " + std::to_string(stream)),
          scene_(scene),
          lives_(lives),
          stream_(stream)
    {
        take_stream(stream);
    }

    void take_stream(std::uint32_t stream)
    {
        stream_ = stream;
        quota_ = quota_of(stage_.cell(), stream);
        next_ = 0;
        if (scene_.peer_type() == ZMQ_DEALER)
            socket_.set(ZMQ_ROUTING_ID, "peer" + std::to_string(stream));
    }
    /// With the same socket, another connection and another id.
    void return_as_another()
    {
        record().state = "disconnecting";
        socket_.disconnect(scene_.address());
        --lives_;
        take_stream(stage_.new_stream());
        begin();
    }

    addressed& scene_;
    int lives_;
    std::uint32_t stream_;
    std::uint64_t quota_ = 0;
    std::uint64_t next_ = 0;
};

void addressed::launch()
{
    auto hub = std::make_shared<test_socket>(stage_.open_hub(is_server_ ? ZMQ_SERVER : ZMQ_ROUTER));
    if (!is_server_)
        hub->set(ZMQ_ROUTER_MANDATORY, 1);
    address_ = stage_.bind(*hub);
    launch_all<addressed_peer>(stage_, *this, "peers'");
    stage_.launch("hub", [this, hub = std::move(hub)](crowd_record& record) mutable {
        send_all(*hub, record);
        hub->close();
    });
}

// --- PUSH to PULL: each message to one of them. The hub disconnects from a peer that is to leave,
// which closes when all that was sent before has arrived somewhere.

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

// --- PUB to SUB: each message to all. Those that come learn from an XPUB from where on they must
// get all; they leave when they like.

class published : public crowd_scene {
public:
    explicit published(crowd_stage& stage) : stage_(stage) {}

    void launch() override;

    std::uint64_t count() const
    {
        return std::max<std::uint64_t>(20,
                                       stage_.cell().count / std::uint64_t(stage_.cell().peers));
    }
    const std::string& address() const { return address_; }
    void present() { ++present_; }
    /// To be called before a subscriber comes. False if it is too late.
    bool announce()
    {
        const std::lock_guard lock(mutex_);
        announced_ += closing_ ? 0 : 1;
        return !closing_;
    }

private:
    void publish(test_socket& hub, crowd_record& record)
    {
        if (stage_.cell().come_and_go)
            welcome_all(hub, record, 0);
        for (record.state = "sending probes"; present_ < stage_.cell().peers;) {
            if (stage_.cell().come_and_go)
                break;
            send_word(hub, "probe");
            if (stage_.failed())
                return;
        }
        record.state = "sending";
        for (std::uint64_t number = 0; number < count(); ++number) {
            send_message(hub, stage_.cell().body, {1, number});
            ++record.sent;
            if (stage_.cell().come_and_go && number % 8 == 7)
                welcome_all(hub, record, number + 1);
        }
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
        }
        if (stage_.cell().come_and_go)
            welcome_all(hub, record, count());
        send_word(hub, "end");
        hub.close();
    }

    /// Tells each new subscriber which message is the first that it must get.
    void welcome_all(test_socket& hub, crowd_record& record, std::uint64_t next)
    {
        record.state = "waiting for subscriptions";
        while (const auto word = receive_part(hub, welcomed_ < announced_ ? 0 : ZMQ_DONTWAIT)) {
            if (word->bytes.size() < 2 || word->bytes[0] != 1)
                continue; // one goes, or wants everything
            send_word(hub, word->bytes.substr(1) + ":" + std::to_string(next));
            ++welcomed_;
        }
        record.state = "sending";
    }

    crowd_stage& stage_;
    std::string address_;
    std::atomic<int> present_{0};
    std::mutex mutex_;
    bool closing_ = false;
    std::atomic<std::uint64_t> announced_{0};
    std::uint64_t welcomed_ = 0;
};

class sub_peer : public crowd_peer {
public:
    sub_peer(crowd_stage& stage, published& scene, int) : sub_peer(stage, scene, stage.new_stream())
    {}

    void begin() override
    {
        record().state = "receiving";
        if (!stage_.cell().come_and_go) {
            socket_.set(ZMQ_SUBSCRIBE, "");
        } else if (!scene_.announce()) {
            done_ = true;
            return;
        } else {
            socket_.set(ZMQ_SUBSCRIBE, "");
            socket_.set(ZMQ_SUBSCRIBE, "w" + std::to_string(stream_));
        }
        socket_.connect(scene_.address());
    }
    bool take(int flags) override
    {
        const auto first = receive_part(socket_, flags);
        if (!first)
            return false;
        if (first->bytes.size() <= largest_word_bytes)
            return hear(first->bytes);
        const message_key key = receive_rest(socket_, stage_.cell().body, *first);
        if (!next_ && !stage_.cell().come_and_go)
            next_ = 0;
        if (next_.value_or(key.number) != key.number)
            complain(text_of(key) + " has come instead of " + text_of({1, *next_}));
        next_ = key.number + 1;
        ++record().received;
        done_ = stage_.cell().come_and_go && welcomed_ &&
                record().received >= quota_of(stage_.cell(), stream_);
        return true;
    }
    bool done() const override { return done_; }
    std::unique_ptr<crowd_peer> successor() override
    {
        return ended_ || !stage_.cell().come_and_go || record().received == 0
                   ? nullptr
                   : std::make_unique<sub_peer>(stage_, scene_, 1);
    }

private:
    sub_peer(crowd_stage& stage, published& scene, std::uint32_t stream)
        : crowd_peer(stage, ZMQ_SUB, "sub " + std::to_string(stream)),
          scene_(scene),
          stream_(stream)
    {}

    bool hear(const std::string& word)
    {
        const std::string own = "w" + std::to_string(stream_) + ":";
        if (word == "probe") {
            if (!std::exchange(present_, true))
                scene_.present();
        } else if (word == "end") {
            if (stage_.cell().come_and_go && !welcomed_)
                complain("was not welcomed");
            if (next_.value_or(0) != scene_.count())
                complain("the end has come instead of " + text_of({1, next_.value_or(0)}));
            done_ = ended_ = true;
        } else if (word.starts_with(own)) {
            const std::uint64_t from = std::stoull(word.substr(own.size()));
            if (next_.value_or(from) != from)
                complain("the welcome has come instead of " + text_of({1, *next_}));
            next_ = from;
            welcomed_ = true;
        }
        return true;
    }

    published& scene_;
    const std::uint32_t stream_;
    std::optional<std::uint64_t> next_;
    bool present_ = false;
    bool welcomed_ = false;
    bool ended_ = false;
    bool done_ = false;
};

void published::launch()
{
    auto hub = std::make_shared<test_socket>(
        stage_.open_hub(stage_.cell().come_and_go ? ZMQ_XPUB : ZMQ_PUB));
    hub->set(ZMQ_XPUB_NODROP, 1);
    address_ = stage_.bind(*hub);
    launch_all<sub_peer>(stage_, *this, "subs'");
    stage_.launch("publisher", [this, hub = std::move(hub)](crowd_record& record) mutable {
        if (stage_.cell().come_and_go)
            stage_.await(record, "waiting for peers",
                         [&] { return announced_ >= std::uint64_t(stage_.cell().peers); });
        publish(*hub, record);
    });
}

} // namespace

std::unique_ptr<crowd_scene> scene_to_many(crowd_stage& stage)
{
    switch (stage.cell().what) {
    case scene::push_pull:
        return std::make_unique<shared_out>(stage);
    case scene::pub_sub:
        return std::make_unique<published>(stage);
    default:
        return std::make_unique<addressed>(stage);
    }
}

} // namespace zlink::test
