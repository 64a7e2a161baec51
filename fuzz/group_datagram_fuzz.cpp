// SPDX-License-Identifier: Apache-2.0
// A sender and a receiver of groups in datagrams, over datagram sockets in memory, against a model.
// Input: one byte with the receiver's high-water mark (bits 0-3, 0: none) and whether the receiver
// has a limit of 100 bytes for a message (bit 4); then acts: a byte (bits 0-2: the kind, bit 3: the
// system takes or has no datagram at this time), the size of what follows (2 bytes), and that.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/connection/datagram_session.hpp"
#include "engine/codec/group_datagram.hpp"
#include "fuzz_check.hpp"
#include "mechanism_fuzz.hpp"
#include "runtime/io_thread.hpp"

namespace {

using namespace zlink;
using fuzz::byte_view;

constexpr std::int64_t size_limit_bytes = 100;
constexpr std::size_t largest_sent_bytes = 8192;

struct group_message {
    std::string group;
    std::string body;
    friend bool operator==(const group_message&, const group_message&) = default;
};

struct arrived {
    std::string bytes;
    bool truncated = false;
};

/// What the system has for a socket, and has got from it.
struct network {
    std::deque<arrived> to_receive;
    std::deque<std::string> sent;
    bool blocked = false;
    transport::datagram_socket::wait_handler reader;
    transport::datagram_socket::wait_handler writer;

    void call_waiting()
    {
        if (blocked)
            return;
        for (auto* const each : {&reader, &writer})
            if (const auto handler = std::exchange(*each, nullptr))
                handler({});
    }
};

class memory_datagrams final : public transport::datagram_socket {
public:
    explicit memory_datagrams(network& through) : network_(through) {}

    int receive(std::span<std::byte> buffer, transport::datagram& out) noexcept override
    {
        if (network_.blocked || network_.to_receive.empty())
            return EAGAIN;
        const arrived next = std::move(network_.to_receive.front());
        network_.to_receive.pop_front();
        fuzz_check(buffer.size() >= next.bytes.size());
        if (!next.bytes.empty())
            std::memcpy(buffer.data(), next.bytes.data(), next.bytes.size());
        out.content = buffer.first(next.bytes.size());
        out.truncated = next.truncated;
        return 0;
    }
    int send(std::span<const iovec> pieces, const transport::datagram_peer* to) noexcept override
    {
        fuzz_check(!to);
        if (network_.blocked)
            return EAGAIN;
        std::string all;
        for (const iovec& piece : pieces)
            all.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
        network_.sent.push_back(std::move(all));
        return 0;
    }
    void async_wait(transport::direction which, wait_handler handler) override
    {
        (which == transport::direction::read ? network_.reader : network_.writer) =
            std::move(handler);
    }
    void close() noexcept override { network_.reader = network_.writer = nullptr; }
    const std::string& endpoint() const noexcept override { return endpoint_; }
    std::optional<transport::datagram_peer> parse_peer(std::string_view) const override
    {
        return std::nullopt;
    }
    std::string peer_text(const transport::datagram_peer&) const override { return {}; }

private:
    network& network_;
    const std::string endpoint_ = "udp://memory";
};

/// A pipe of a socket, and its session. Nobody but run() does the work of the I/O thread.
class side {
public:
    side(core::endpoint_role role, core::socket_options options)
    {
        side_->box = std::make_shared<base::mailbox>();
        const auto settings = std::make_shared<const core::socket_options>(std::move(options));
        session_ = std::make_shared<core::datagram_session>(
            thread_, side_, settings, core::datagram_head::group, role,
            std::make_unique<memory_datagrams>(system));
        pipe = session_->make_pipe();
        pipe->set_limits(settings->send_hwm, settings->receive_hwm);
        session_->start();
        run();
    }
    ~side()
    {
        pipe->close(0);
        run();
        side_->box->close([](const auto&...) {});
    }
    side(const side&) = delete;
    side& operator=(const side&) = delete;

    void run()
    {
        do {
            thread_.context().restart();
            system.call_waiting();
        } while (thread_.context().poll() != 0);
    }

    network system;

private:
    runtime::io_thread thread_;
    std::shared_ptr<core::socket_side> side_ = std::make_shared<core::socket_side>();
    std::shared_ptr<core::datagram_session> session_;

public:
    std::shared_ptr<core::pipe_end> pipe;
};

/// The format, told a second time.
std::optional<group_message> read(const std::string& datagram)
{
    if (datagram.empty())
        return std::nullopt;
    const auto group_bytes = static_cast<unsigned char>(datagram[0]);
    if (datagram.size() < 1u + group_bytes)
        return std::nullopt;
    return group_message{datagram.substr(1, group_bytes), datagram.substr(1u + group_bytes)};
}

std::string written(const group_message& message)
{
    return static_cast<char>(message.group.size()) + message.group + message.body;
}

class conversation {
public:
    explicit conversation(std::uint8_t setup)
        : limited_((setup & 16) != 0),
          receiver_(core::endpoint_role::bound, receiver_options(setup)),
          sender_(core::endpoint_role::connected, {})
    {}

    void act(std::uint8_t head, fuzz::input data)
    {
        for (side* const each : {&receiver_, &sender_})
            each->system.blocked = (head & 8) != 0;
        switch (head & 7) {
        case 0:
        case 1:
            arrive(std::string(engine::as_text(data.rest())), (head & 1) != 0);
            break;
        case 2:
            send(data);
            break;
        case 3:
            pass_on(data);
            break;
        case 4:
            take_message();
            break;
        default:
            break;
        }
        receiver_.run();
        sender_.run();
    }

    void finish()
    {
        for (side* const each : {&receiver_, &sender_}) {
            each->system.blocked = false;
            each->run();
        }
        while (take_message())
            receiver_.run();
        fuzz_check(to_come_.empty());
        fuzz_check(receiver_.system.to_receive.empty());
        check_sent();
        fuzz_check(to_go_.empty());
    }

private:
    static core::socket_options receiver_options(std::uint8_t setup)
    {
        core::socket_options options;
        options.receive_hwm = setup & 15;
        options.send_hwm = options.receive_hwm;
        if (setup & 16)
            options.max_message_bytes = size_limit_bytes;
        return options;
    }

    void arrive(std::string bytes, bool truncated)
    {
        const auto message = read(bytes);
        const auto parsed = engine::group_datagram::parse(std::as_bytes(std::span(bytes)));
        fuzz_check(message.has_value() == parsed.has_value());
        if (message) {
            fuzz_check(engine::as_text(parsed->group) == message->group);
            fuzz_check(engine::as_text(parsed->body) == message->body);
            fuzz_check(written(*message) == bytes);
        }
        if (message && !truncated &&
            !(limited_ && message->body.size() > static_cast<std::size_t>(size_limit_bytes)))
            to_come_.push_back(*message);
        receiver_.system.to_receive.push_back({std::move(bytes), truncated});
    }

    /// The size of the group (1 byte), the body; both repeated up to the limits of what is sent.
    void send(fuzz::input& data)
    {
        group_message message;
        message.group = std::string(data.byte() + (data.byte() & 1), 'g');
        message.body = std::string(data.number(2) % (largest_sent_bytes + 300), 'b');
        message.body += engine::as_text(data.rest());
        if (!sender_.pipe->out.can_write())
            return;
        fuzz_check(sender_.pipe->out.write(core::frame_of(message.group, true)));
        fuzz_check(sender_.pipe->out.write(core::frame_of(message.body, false)));
        const bool fits = message.group.size() <= 255 &&
                          1 + message.group.size() + message.body.size() <= largest_sent_bytes;
        if (fits)
            to_go_.push_back(std::move(message));
    }

    /// What the sender has sent reaches the receiver, perhaps cut short.
    void pass_on(fuzz::input& data)
    {
        check_sent();
        const std::size_t kept = data.empty() ? SIZE_MAX : data.number(2);
        while (!passed_.empty()) {
            arrive(passed_.front().substr(0, kept), false);
            passed_.pop_front();
        }
    }

    void check_sent()
    {
        for (; !sender_.system.sent.empty(); sender_.system.sent.pop_front()) {
            fuzz_check(!to_go_.empty() && sender_.system.sent.front() == written(to_go_.front()));
            to_go_.pop_front();
            passed_.push_back(sender_.system.sent.front());
        }
    }

    bool take_message()
    {
        core::pipe_end& pipe = *receiver_.pipe;
        core::frame part;
        if (!pipe.in.peek(part))
            return false;
        group_message got;
        fuzz_check(part.more());
        got.group = part.text();
        pipe.in.pop();
        fuzz_check(pipe.in.peek(part) && !part.more());
        got.body = part.text();
        pipe.in.pop();
        fuzz_check(!to_come_.empty() && got == to_come_.front());
        to_come_.pop_front();
        return true;
    }

    const bool limited_;
    side receiver_;
    side sender_;
    std::deque<group_message> to_come_; ///< to the receiver's application
    std::deque<group_message> to_go_;   ///< as datagrams of the sender
    std::deque<std::string> passed_;    ///< sent, and not on the way yet
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input from(std::as_bytes(std::span(data, size)));
    conversation talk(from.byte());
    for (int acts = 0; !from.empty() && acts < 200; ++acts) {
        const std::uint8_t head = from.byte();
        talk.act(head, fuzz::input(from.take(from.number(2))));
    }
    talk.finish();
    return 0;
}
