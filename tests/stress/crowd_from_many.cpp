// SPDX-License-Identifier: Apache-2.0
// Many sockets that send to one.
#include <algorithm>
#include <map>

#include "crowd_stage.hpp"

namespace zlink::test {
namespace {

class from_many : public crowd_scene {
public:
    explicit from_many(crowd_stage& stage)
        : stage_(stage), with_ids_(stage.cell().what == scene::many_dealer)
    {}

    void launch() override
    {
        auto hub =
            std::make_shared<test_socket>(stage_.open_hub(with_ids_ ? ZMQ_ROUTER : ZMQ_PULL));
        address_ = stage_.bind(*hub);
        const int peers = stage_.cell().peers;
        const int threads = std::min(peers, stage_.cell().threads == readers::own ? 4 : 2);
        for (int i = 0; i < threads; ++i) {
            const int sockets = peers / threads + (i < peers % threads ? 1 : 0);
            stage_.launch("sender " + std::to_string(i),
                          [this, sockets](crowd_record& record) { send_all(sockets, record); });
        }
        stage_.launch("hub", [this, hub = std::move(hub)](crowd_record& record) mutable {
            receive_all(*hub, record);
            hub->close();
        });
    }

private:
    struct source {
        test_socket socket;
        std::uint32_t stream;
        std::uint64_t left;
        std::uint64_t next = 0;
        int lives;
    };

    source open(int lives)
    {
        const std::uint32_t stream = stage_.new_stream();
        source fresh{stage_.open_peer(with_ids_ ? ZMQ_DEALER : ZMQ_PUSH), stream,
                     quota_of(stage_.cell(), stream), 0, lives};
        if (with_ids_)
            fresh.socket.set(ZMQ_ROUTING_ID, id_of(stream));
        fresh.socket.connect(address_);
        return fresh;
    }
    static std::string id_of(std::uint32_t stream) { return "source" + std::to_string(stream); }

    /// Sends with each socket in turn. Those that have sent all are closed at once if they are to
    /// be replaced; else they stay, and the thread makes no further call until all has arrived.
    void send_all(int sockets, crowd_record& record)
    {
        std::vector<source> sources;
        for (int i = 0; i < sockets; ++i)
            sources.push_back(open(generations(stage_.cell())));
        std::vector<source> finished;
        record.state = "sending";
        while (!sources.empty()) {
            for (source& each : sources) {
                send_message(each.socket, stage_.cell().body, {each.stream, each.next++});
                ++record.sent;
                if (--each.left != 0)
                    continue;
                if (!stage_.cell().come_and_go) {
                    finished.push_back(std::move(each));
                    continue;
                }
                each.socket.close();
                if (each.lives > 1)
                    each = open(each.lives - 1);
            }
            std::erase_if(sources, [](const source& each) { return each.left == 0; });
        }
        stage_.await(record, "waiting until all has arrived", [this] { return arrived_.load(); });
    }

    void receive_all(test_socket& hub, crowd_record& record)
    {
        record.state = "receiving";
        const auto all = std::size_t(stage_.cell().peers * generations(stage_.cell()));
        std::map<std::uint32_t, std::uint64_t> next;
        for (std::size_t ended = 0; ended < all;) {
            std::string id;
            if (with_ids_)
                id = receive_part(hub).value().bytes;
            const message_key key = receive_rest(
                hub, stage_.cell().body, with_ids_ ? receive_next_part(hub) : *receive_part(hub));
            if (with_ids_ && id != id_of(key.stream))
                throw crowd_failure(text_of(key) + " has come from " + id);
            if (const std::uint64_t expected = next[key.stream]++; expected != key.number)
                throw crowd_failure(text_of(key) + " has come instead of " +
                                    text_of({key.stream, expected}));
            ended += key.number + 1 == quota_of(stage_.cell(), key.stream) ? 1 : 0;
            ++record.received;
        }
        if (receive_part(hub, ZMQ_DONTWAIT))
            throw crowd_failure("more has come than was sent");
        arrived_ = true;
    }

    crowd_stage& stage_;
    const bool with_ids_;
    std::string address_;
    std::atomic<bool> arrived_{false};
};

} // namespace

std::unique_ptr<crowd_scene> scene_from_many(crowd_stage& stage)
{
    return std::make_unique<from_many>(stage);
}

} // namespace zlink::test
