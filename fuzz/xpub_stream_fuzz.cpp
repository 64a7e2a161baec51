// SPDX-License-Identifier: Apache-2.0
// An XPUB and what four subscribers send to it, against a map of who holds which topic. Input: one
// byte with VERBOSE (bit 0), VERBOSER (bit 1), MANUAL (bit 2); then acts: a byte (bits 0-3: the
// kind, bits 4-5: the subscriber, bit 6: the message goes on), a size (1 byte), and so many bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <zmq.h>

#include "core/pipe/pipe.hpp"
#include "engine/bytes.hpp"
#include "engine/commands/traffic_commands.hpp"
#include "fuzz_check.hpp"
#include "mechanism_fuzz.hpp"
#include "sockets/xpub.hpp"

namespace {

using namespace zlink;

constexpr std::size_t subscribers = 4;

class host final : public core::pattern_host {
public:
    void drop(core::pipe_end& pipe) override { dropped.insert(&pipe); }
    void refuse(core::pipe_end&) override { fuzz_check(false); }
    void ignore_arrivals(core::pipe_end&) override {}
    void begin_message_to_many(std::size_t) override {}
    void end_message_to_many() override {}
    const core::socket_options& options() const noexcept override { return options_; }

    std::set<core::pipe_end*> dropped;

private:
    core::socket_options options_;
};

struct part {
    std::string text;
    bool more = false;
    friend bool operator==(const part&, const part&) = default;
};

/// Who holds which topic, as plainly as can be, and what the application is told of it.
class model {
public:
    model(bool verbose, bool verboser, bool manual)
        : verbose_(verbose), verboser_(verboser), manual_(manual)
    {}

    void subscribe(std::size_t who, const std::string& topic)
    {
        const bool is_first = !anybody_holds(topic);
        holds_[who].insert(topic);
        if (is_first || verbose_ || manual_)
            tell('\1', topic, who);
    }
    void cancel(std::size_t who, const std::string& topic)
    {
        const bool held = holds_[who].erase(topic) != 0;
        if (manual_ || verboser_ || (held && !anybody_holds(topic)))
            tell('\0', topic, who);
    }
    void message_part(std::size_t who, part next)
    {
        auto& begun = begun_[who];
        const bool goes_on = next.more;
        begun.push_back(std::move(next));
        if (goes_on)
            return;
        for (part& each : begun)
            upstream.push_back({std::move(each), no_subscription});
        begun.clear();
    }
    bool in_message(std::size_t who) const { return !begun_[who].empty(); }
    void leave(std::size_t who)
    {
        // One after the other, as the last one to leave is told of.
        while (!holds_[who].empty()) {
            const std::string topic = *holds_[who].begin();
            holds_[who].erase(holds_[who].begin());
            if (manual_ || verboser_ || !anybody_holds(topic))
                tell('\0', topic, who);
        }
        applied_[who].clear();
        begun_[who].clear();
    }
    /// The application does what it is asked for, or the contrary.
    void apply(bool subscribe, std::size_t who, const std::string& topic)
    {
        if (subscribe)
            applied_[who].insert(topic);
        else
            applied_[who].erase(topic);
    }
    bool wants(std::size_t who, const std::string& message) const
    {
        for (const std::string& topic : in_force(who))
            if (message.starts_with(topic))
                return true;
        return false;
    }
    std::size_t topics() const
    {
        std::set<std::string> all;
        for (std::size_t who = 0; who < subscribers; ++who)
            all.insert(in_force(who).begin(), in_force(who).end());
        return all.size();
    }

    static constexpr std::size_t no_subscription = subscribers + 1;
    struct told {
        part what;
        std::size_t from; ///< `subscribers`: one who is gone
    };
    std::deque<told> upstream;

private:
    const std::set<std::string>& in_force(std::size_t who) const
    {
        return manual_ ? applied_[who] : holds_[who];
    }
    bool anybody_holds(const std::string& topic) const
    {
        for (const auto& each : holds_)
            if (each.contains(topic))
                return true;
        return false;
    }
    void tell(char what, const std::string& topic, std::size_t who)
    {
        upstream.push_back({{what + topic, false}, who});
    }

    const bool verbose_;
    const bool verboser_;
    const bool manual_;
    std::array<std::set<std::string>, subscribers> holds_;   ///< what it has asked for
    std::array<std::set<std::string>, subscribers> applied_; ///< with MANUAL
    std::array<std::vector<part>, subscribers> begun_;
};

class publisher {
public:
    explicit publisher(std::uint8_t setup)
        : manual_((setup & 4) != 0),
          model_((setup & 3) != 0, (setup & 2) != 0, manual_),
          box_(std::make_shared<base::mailbox>()),
          pattern_(host_)
    {
        if (setup & 1)
            set(ZMQ_XPUB_VERBOSE);
        if (setup & 2)
            set(ZMQ_XPUB_VERBOSER);
        if (manual_)
            set(ZMQ_XPUB_MANUAL);
        for (std::size_t who = 0; who < subscribers; ++who)
            come(who);
    }
    ~publisher()
    {
        for (std::size_t who = 0; who < subscribers; ++who)
            leave(who);
        box_->close([](const auto&...) {});
    }
    publisher(const publisher&) = delete;
    publisher& operator=(const publisher&) = delete;

    void act(std::uint8_t head, const std::string& data)
    {
        const std::size_t who = head >> 4 & 3;
        switch (head & 15) {
        case 0:
        case 1:
            command(who, (head & 1) != 0, data);
            break;
        case 2:
        case 3:
            send_up(who, std::string(1, static_cast<char>(head & 1)) + data, (head & 64) != 0);
            break;
        case 4:
            send_up(who, data, (head & 64) != 0);
            break;
        case 5:
            read();
            break;
        case 6:
            read_all();
            break;
        case 7:
            leave(who);
            come(who);
            break;
        case 8:
            apply((head & 64) != 0, data);
            break;
        default:
            publish(data);
        }
    }

    void finish()
    {
        read_all();
        publish("");
        for (std::size_t who = 0; who < subscribers; ++who)
            leave(who);
        read_all();
        publish("");
        fuzz_check(topics() == 0);
    }

private:
    struct connection {
        std::shared_ptr<core::pipe_end> peer;
        std::shared_ptr<core::pipe_end> own;
        std::vector<part> begun; ///< not visible to the publisher before the last part
    };

    void set(int option)
    {
        const int on = 1;
        fuzz_check(pattern_.set_option(option, &on, sizeof on) == 0);
    }
    std::size_t topics()
    {
        int count = 0;
        std::size_t bytes = sizeof count;
        fuzz_check(pattern_.get_option(ZMQ_TOPICS_COUNT, &count, &bytes) == 0);
        return static_cast<std::size_t>(count);
    }

    void come(std::size_t who)
    {
        const auto channels = std::make_shared<core::channel_pair>();
        connection& made = connections_[who];
        made.own = core::make_pipe_end(channels, true, box_);
        made.peer = core::make_pipe_end(channels, false, box_);
        made.own->slot.number = static_cast<std::uint32_t>(who);
        pattern_.attach(*made.own);
    }
    void leave(std::size_t who)
    {
        connection& gone = connections_[who];
        if (!gone.own)
            return;
        gone.own->out.close();
        pattern_.peer_closed(*gone.own);
        pattern_.detach(*gone.own);
        gone.own->close(0);
        gone.peer->close(0);
        box_->collect([](const auto&...) {});
        gone = {};
        model_.leave(who);
        if (last_ == who)
            last_ = subscribers;
        for (auto& each : model_.upstream)
            if (each.from == who)
                each.from = subscribers;
        host_.dropped.clear();
    }

    void look(std::size_t who)
    {
        core::frame next;
        connection& from = connections_[who];
        do {
            pattern_.begin_mail();
            pattern_.readable(*from.own);
        } while (from.own->in.peek(next));
        box_->collect([](const auto&...) {});
        fuzz_check(host_.dropped.empty());
        fuzz_check(topics() == model_.topics());
    }

    void command(std::size_t who, bool subscribe, const std::string& topic)
    {
        if (!connections_[who].begun.empty())
            return; // a command does not come within a message here
        std::vector<std::byte> bytes;
        engine::append_traffic_command(bytes, {subscribe ? engine::traffic_command_kind::subscribe
                                                         : engine::traffic_command_kind::cancel,
                                               engine::as_bytes(topic)});
        engine::zmtp3::frame_header header;
        fuzz_check(engine::zmtp3::decode_header(bytes.data(), bytes.size(), header));
        fuzz_check(
            connections_[who].peer->out.write({.data = bytes.data() + header.header_bytes,
                                               .size = static_cast<std::size_t>(header.body_bytes),
                                               .flags = engine::zmtp3::flag_command}));
        if (subscribe)
            model_.subscribe(who, topic);
        else
            model_.cancel(who, topic);
        look(who);
    }

    void send_up(std::size_t who, const std::string& text, bool more)
    {
        connection& from = connections_[who];
        fuzz_check(from.peer->out.write(core::frame_of(text, more)));
        from.begun.push_back({text, more});
        if (more)
            return;
        for (part& each : std::exchange(from.begun, {}))
            arrive(who, std::move(each));
        look(who);
    }
    void arrive(std::size_t who, part what)
    {
        const bool is_subscription =
            !what.text.empty() && static_cast<unsigned char>(what.text[0]) < 2;
        if (!is_subscription || model_.in_message(who))
            return model_.message_part(who, std::move(what));
        if (what.text[0] == 1)
            model_.subscribe(who, what.text.substr(1));
        else
            model_.cancel(who, what.text.substr(1));
    }

    bool read()
    {
        core::frame got;
        fuzz_check(pattern_.can_receive() == !model_.upstream.empty());
        if (pattern_.receive(got) != 0) {
            fuzz_check(model_.upstream.empty());
            return false;
        }
        fuzz_check(!model_.upstream.empty());
        const auto wanted = std::move(model_.upstream.front());
        model_.upstream.pop_front();
        fuzz_check(part({std::string(got.text()), got.more()}) == wanted.what);
        pattern_.received();
        if (wanted.from != model::no_subscription)
            last_ = wanted.from;
        return true;
    }
    void read_all()
    {
        while (read()) {
        }
        fuzz_check(model_.upstream.empty());
    }

    void apply(bool subscribe, const std::string& topic)
    {
        const int error = pattern_.set_option(subscribe ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE,
                                              topic.data(), topic.size());
        fuzz_check((error == 0) == manual_);
        if (manual_ && last_ != subscribers)
            model_.apply(subscribe, last_, topic);
        fuzz_check(topics() == model_.topics());
    }

    void publish(const std::string& text)
    {
        fuzz_check(pattern_.send(core::frame_of(text, false)) == 0);
        for (std::size_t who = 0; who < subscribers; ++who) {
            if (!connections_[who].own)
                continue;
            core::frame got;
            const bool has_come = connections_[who].peer->in.peek(got);
            fuzz_check(has_come == model_.wants(who, text));
            if (!has_come)
                continue;
            fuzz_check(got.text() == text && !got.more());
            connections_[who].peer->in.pop();
            fuzz_check(!connections_[who].peer->in.peek(got));
        }
    }

    const bool manual_;
    model model_;
    host host_;
    std::shared_ptr<base::mailbox> box_;
    std::array<connection, subscribers> connections_;
    std::size_t last_ = subscribers; ///< MANUAL: whose subscription was read last; or nobody's
    sockets::xpub pattern_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input from(std::as_bytes(std::span(data, size)));
    publisher all(from.byte());
    for (int acts = 0; !from.empty() && acts < 300; ++acts) {
        const std::uint8_t head = from.byte();
        all.act(head, std::string(engine::as_text(from.take(from.byte()))));
    }
    all.finish();
    return 0;
}
