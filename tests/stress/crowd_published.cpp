// SPDX-License-Identifier: Apache-2.0
// PUB to SUB: each message to all. Those that come learn from an XPUB from where on they must
// get all; they leave when they like.
#include <algorithm>
#include <mutex>
#include <optional>

#include "crowd_stage.hpp"

namespace zlink::test {
namespace {

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

std::unique_ptr<crowd_scene> scene_to_all(crowd_stage& stage)
{
    return std::make_unique<published>(stage);
}

} // namespace zlink::test
