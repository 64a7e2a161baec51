// SPDX-License-Identifier: Apache-2.0
// ROUTER to DEALER, SERVER to CLIENT: each peer has a stream of its own. It says hello, gets
// what is meant for it and closes.
#include <thread>
#include <vector>

#include "crowd_stage.hpp"

namespace zlink::test {
namespace {

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
                          {.routing_id = to.routing_id}))
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

} // namespace

std::unique_ptr<crowd_scene> scene_to_each(crowd_stage& stage)
{
    return std::make_unique<addressed>(stage);
}

} // namespace zlink::test
