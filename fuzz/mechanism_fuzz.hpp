// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/commands/command.hpp"
#include "engine/handshake/authenticator.hpp"
#include "engine/handshake/command_frames.hpp"
#include "engine/handshake/handshake.hpp"
#include "engine/handshake/mechanism.hpp"
#include "engine/handshake/socket_types.hpp"
#include "engine/handshake/zap.hpp"
#include "fuzz_check.hpp"
#include "live_memory.hpp"

/// What the fuzz targets of the security mechanisms share. The input of each is one byte of setup
/// (see setup), then acts (see act). A target has a judge that says what the mechanism must do;
/// the conversation checks at every step that it does.
namespace zlink::fuzz {

using byte_view = std::span<const std::byte>;
using byte_vector = std::vector<std::byte>;

/// Reads the bytes of the fuzzer. At the end there are zeros, and empty spans.
class input {
public:
    explicit input(byte_view bytes) noexcept : left_(bytes) {}

    bool empty() const noexcept { return left_.empty(); }
    std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
    /// Big-endian.
    std::uint64_t number(std::size_t bytes)
    {
        std::uint64_t result = 0;
        const byte_view taken = take(bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            result =
                result << 8 | (i < taken.size() ? std::to_integer<std::uint64_t>(taken[i]) : 0);
        return result;
    }
    byte_view take(std::size_t most)
    {
        const byte_view taken = left_.first(std::min(most, left_.size()));
        left_ = left_.subspan(taken.size());
        return taken;
    }
    /// Exactly so many, with zeros at the end.
    byte_vector padded(std::size_t bytes)
    {
        const byte_view taken = take(bytes);
        byte_vector result(taken.begin(), taken.end());
        result.resize(bytes);
        return result;
    }
    byte_view rest() { return take(left_.size()); }

private:
    byte_view left_;
};

/// Bits 0-4: the own socket type; bit 5: there is no authenticator; bits 6-7: how what the peer
/// sends is cut into pieces.
struct setup {
    int socket_type = 0;
    bool is_unasked = false;
    std::size_t piece_bytes = SIZE_MAX;

    explicit setup(std::uint8_t byte)
        : socket_type(byte & 31),
          is_unasked((byte & 32) != 0),
          piece_bytes(std::array<std::size_t, 4>{SIZE_MAX, 1, 7, 300}[byte >> 6])
    {}
    engine::local_peer local() const { return {socket_type, "id", {{"X-Key", "value"}}}; }
};

/// What happens. On the input: a byte with the kind (bits 0-3) and whether the end of the data is
/// repeated (bit 7), the size of what follows (2 bytes), and that: the data; if its end is
/// repeated, the size of the end (1 byte) and how often it comes (2 bytes) in front.
struct act {
    enum kind : std::uint8_t {
        bytes,   ///< The peer sends the data.
        command, ///< The peer sends a frame with the data as its body.
        answer,  ///< The handler of ZAP answers: see answer_parts().
        reply,   ///< The handler of ZAP sends any parts: see reply_parts().
        special, ///< This and what follows: of the mechanism.
    };
    std::uint8_t what = 0;
    byte_vector data;
};

/// Beyond the largest command by some.
inline constexpr std::size_t most_act_bytes = engine::max_handshake_command_bytes + 1000;

inline act next_act(input& from)
{
    act result;
    const std::uint8_t head = from.byte();
    result.what = head & 15;
    input fields(from.take(from.number(2)));
    const std::size_t end_bytes = head & 128 ? fields.byte() : 0;
    std::size_t times = head & 128 ? fields.number(2) : 0;
    engine::append_bytes(result.data, fields.rest());
    const std::size_t size = result.data.size();
    const byte_vector end(result.data.end() -
                              static_cast<std::ptrdiff_t>(std::min(end_bytes, size)),
                          result.data.end());
    for (; times > 1 && result.data.size() + end.size() <= most_act_bytes; --times)
        engine::append_bytes(result.data, end);
    return result;
}

/// A status, 0 to 3 for 200 to 500, otherwise a wrong one (1 byte); a user id (its size in 1 byte
/// in front); the rest is metadata.
inline std::vector<std::string> answer_parts(input from)
{
    constexpr std::array<std::string_view, 5> statuses{"200", "300", "400", "500", "201"};
    const auto status = statuses[std::min<std::size_t>(from.byte(), statuses.size() - 1)];
    const auto user_id = engine::as_text(from.take(from.byte()));
    return {"",
            "1.0",
            "1",
            std::string(status),
            "text",
            std::string(user_id),
            std::string(engine::as_text(from.rest()))};
}

/// Parts, the size of each in 2 bytes in front.
inline std::vector<std::string> reply_parts(input from)
{
    std::vector<std::string> parts;
    while (!from.empty() && parts.size() < 20)
        parts.emplace_back(engine::as_text(from.take(from.number(2))));
    return parts;
}

/// Reads a list of properties as RFC 23 lays it out. Nothing if it is none.
inline std::optional<std::vector<engine::property>> properties_of(byte_view list)
{
    std::vector<engine::property> result;
    for (input from(list); !from.empty();) {
        const std::size_t name_bytes = from.byte();
        const byte_view name = from.take(name_bytes);
        const byte_view length = from.take(4);
        const std::size_t value_bytes = input(length).number(4);
        const byte_view value = from.take(value_bytes);
        if (name.size() < name_bytes || length.size() < 4 || value.size() < value_bytes)
            return std::nullopt;
        result.push_back({std::string(engine::as_text(name)), std::string(engine::as_text(value))});
    }
    return result;
}

/// The first one counts.
inline const std::string* value_of(const std::vector<engine::property>& properties,
                                   std::string_view name)
{
    const auto found = std::ranges::find(properties, name, &engine::property::name);
    return found == properties.end() ? nullptr : &found->value;
}

inline bool fits(int socket_type, const std::vector<engine::property>& properties)
{
    const std::string* const type = value_of(properties, "Socket-Type");
    return !type || engine::compatible_socket_types(socket_type, engine::socket_type_number(*type));
}

/// What a reply has to lead to.
inline engine::verdict verdict_of(const std::vector<std::string>& parts)
{
    using engine::handshake_error;
    if (parts.size() != 7)
        return {.refusal = handshake_error::malformed_reply};
    if (!parts[0].empty())
        return {.refusal = handshake_error::unspecified_reply};
    if (parts[1] != "1.0")
        return {.refusal = handshake_error::wrong_reply_version};
    if (parts[2] != "1")
        return {.refusal = handshake_error::wrong_reply_request_id};
    engine::verdict result{.refusal = parts[3] == "200"   ? handshake_error::none
                                      : parts[3] == "300" ? handshake_error::denied_for_now
                                      : parts[3] == "400" ? handshake_error::denied
                                      : parts[3] == "500" ? handshake_error::authentication_failed
                                                          : handshake_error::invalid_reply_status};
    if (result.refusal == handshake_error::invalid_reply_status)
        return result;
    const auto metadata = properties_of(engine::as_bytes(parts[6]));
    if (!metadata)
        return {.refusal = handshake_error::invalid_reply_metadata};
    result.user_id = parts[5];
    result.properties = *metadata;
    return result;
}

/// An authenticator with a handler of ZAP whose replies are acts. The first one is the reply, be it
/// early or late.
class acted_authenticator final : public engine::authenticator {
public:
    explicit acted_authenticator(int socket_type) : socket_type_(socket_type) {}

    void ask(const engine::credentials& shown, std::function<void(engine::verdict)> told) override
    {
        const memory_counting off(false);
        fuzz_check(!was_asked_ && !was_cancelled_);
        was_asked_ = true;
        std::vector<std::string> presented{std::string(shown.mechanism)};
        presented.insert(presented.end(), shown.parts.begin(), shown.parts.end());
        fuzz_check(presented == expected);
        fuzz_check(shown.address == "192.0.2.1");
        const memory_counting on(true);
        told_ = std::move(told);
        if (early_)
            reply(*std::exchange(early_, std::nullopt));
    }
    void cancel() noexcept override
    {
        was_cancelled_ = true;
        told_ = nullptr;
    }

    void reply(const std::vector<std::string>& parts)
    {
        if (told_)
            decide(parts);
        else if (!was_asked_ && !early_)
            early_ = parts;
    }

    bool is_awaited() const noexcept { return was_asked_ && !verdict_; }
    bool was_cancelled() const noexcept { return was_cancelled_; }
    /// Has the handler admitted the peer?
    bool has_granted() const noexcept
    {
        return verdict_ && verdict_->refusal == engine::handshake_error::none;
    }
    engine::handshake_error refusal() const noexcept
    {
        return verdict_ ? verdict_->refusal : engine::handshake_error::none;
    }
    /// Is the peer to be told that it is refused, and as what?
    std::string_view told_refusal() const noexcept
    {
        return refusal() == engine::handshake_error::denied                  ? "400"
               : refusal() == engine::handshake_error::authentication_failed ? "500"
                                                                             : "";
    }
    /// What is known of an admitted peer.
    std::vector<engine::property> known() const
    {
        std::vector<engine::property> result{{"User-Id", verdict_->user_id}};
        result.insert(result.end(), verdict_->properties.begin(), verdict_->properties.end());
        return result;
    }
    std::size_t reply_bytes() const noexcept { return reply_bytes_; }

    std::vector<std::string> expected; ///< the mechanism, then the credentials

private:
    void decide(const std::vector<std::string>& parts)
    {
        {
            const memory_counting off(false);
            verdict_ = verdict_of(parts);
            if (verdict_->refusal == engine::handshake_error::none &&
                !fits(socket_type_, verdict_->properties))
                verdict_->refusal = engine::handshake_error::invalid_reply_metadata;
            for (const std::string& part : parts)
                reply_bytes_ += part.size();
        }
        const memory_counting on(true);
        std::exchange(told_, nullptr)(engine::zap::read_reply(parts));
    }

    const int socket_type_;
    std::function<void(engine::verdict)> told_;
    std::optional<std::vector<std::string>> early_;
    std::optional<engine::verdict> verdict_;
    std::size_t reply_bytes_ = 0;
    bool was_asked_ = false;
    bool was_cancelled_ = false;
};

/// Says what a mechanism has to do, as its RFC does.
class judge {
public:
    /// `asked`: null: nobody is.
    judge(const setup& how, std::shared_ptr<acted_authenticator> asked)
        : how_(how), asked_(std::move(asked))
    {}
    virtual ~judge() = default;

    /// Is this command of the peer to be accepted? From then on it is.
    virtual bool accept(byte_view body) = 0;
    /// The mechanism sends this, other than ERROR.
    virtual void sent(byte_view body) = 0;
    /// Is everything sent and received?
    virtual bool is_ready() const = 0;

    void sent_error(byte_view body)
    {
        fuzz_check(asked_ && !asked_->told_refusal().empty() && !is_refusal_sent_);
        fuzz_check(engine::as_text(body) == "\5ERROR\3" + std::string(asked_->told_refusal()));
        is_refusal_sent_ = true;
    }
    bool is_refusal_sent() const noexcept { return is_refusal_sent_; }
    const std::vector<engine::property>& properties() const noexcept { return properties_; }

protected:
    bool is_admitted() const { return !asked_ || asked_->has_granted(); }
    std::vector<engine::property> known() const
    {
        return asked_ ? asked_->known() : std::vector<engine::property>();
    }
    /// Takes the metadata of the peer, where `known` is what counts before it. False if it is none,
    /// or not that of a peer for this one.
    bool take_metadata(byte_view list, std::vector<engine::property> known)
    {
        auto own = properties_of(list);
        if (!own)
            return false;
        // Who the peer is, only an authenticator says.
        std::erase_if(*own, [](const auto& each) { return each.name == "User-Id"; });
        properties_ = std::move(known);
        properties_.insert(properties_.end(), own->begin(), own->end());
        const std::string* const id = value_of(properties_, "Identity");
        return (!id || id->size() <= 255) && fits(how_.socket_type, properties_);
    }
    byte_vector local_metadata() const
    {
        byte_vector result;
        engine::append_local_metadata(result, how_.local());
        return result;
    }
    /// A whole command.
    static byte_vector body_of(std::string_view name, byte_view data = {})
    {
        byte_vector result;
        engine::append_command_body(result, name, data);
        return result;
    }

    const setup how_;
    const std::shared_ptr<acted_authenticator> asked_;
    std::vector<engine::property> properties_;

private:
    bool is_refusal_sent_ = false;
};

/// A mechanism beside its judge.
class judged_mechanism final : public engine::mechanism {
public:
    judged_mechanism(std::unique_ptr<engine::mechanism> subject, judge& judge)
        : subject_(std::move(subject)), judge_(judge)
    {}

    std::string_view name() const noexcept override { return subject_->name(); }
    bool as_server() const noexcept override { return subject_->as_server(); }
    bool next_command(engine::negotiation& state, byte_vector& body) override
    {
        fuzz_check(!is_over_ && body.empty());
        const bool is_sent = subject_->next_command(state, body);
        const memory_counting off(false);
        fuzz_check(is_sent != body.empty());
        if (engine::as_text(body).starts_with("\5ERROR"))
            judge_.sent_error(body);
        else if (is_sent)
            judge_.sent(body);
        return is_sent;
    }
    engine::handshake_error process_command(engine::negotiation& state, byte_view body) override
    {
        fuzz_check(!is_over_ && subject_->error() == engine::handshake_error::none);
        fuzz_check(status() == engine::mechanism_status::handshaking);
        bool is_expected = false;
        {
            const memory_counting off(false);
            is_expected = judge_.accept(body);
        }
        const engine::handshake_error error = subject_->process_command(state, body);
        is_over_ = error != engine::handshake_error::none;
        fuzz_check(is_over_ != is_expected);
        return error;
    }
    engine::mechanism_status status() const noexcept override { return subject_->status(); }
    void on_resumed(std::function<void()> resumed) override
    {
        subject_->on_resumed(std::move(resumed));
    }
    engine::handshake_error error() const noexcept override { return subject_->error(); }
    std::shared_ptr<engine::frame_cipher> make_cipher() override { return subject_->make_cipher(); }

private:
    const std::unique_ptr<engine::mechanism> subject_;
    judge& judge_;
    bool is_over_ = false;
};

/// A handshake from the greetings on, whose peer and handler of ZAP do what the acts say.
class conversation {
public:
    conversation(const setup& how, std::unique_ptr<engine::mechanism> subject, judge& judge,
                 std::shared_ptr<acted_authenticator> asked)
        : how_(how), judge_(judge), asked_(std::move(asked)), before_bytes_(live_bytes())
    {
        const std::string_view name = subject->name();
        const bool is_server = subject->as_server();
        {
            const memory_counting on(true);
            handshake_.emplace(how.local(),
                               std::make_unique<judged_mechanism>(std::move(subject), judge));
            handshake_->on_connection_asked_for(
                [] { return transport::stream_info{.peer_address = "192.0.2.1"}; });
            handshake_->on_resumed([this] { was_resumed_ = true; });
            handshake_->start();
        }
        std::string greeting = std::string("\xff\0\0\0\0\0\0\0\0\x7f\3\1", 12) + std::string(name);
        greeting.resize(64);
        greeting[32] = is_server ? 0 : 1;
        receive(engine::as_bytes(greeting));
    }
    ~conversation()
    {
        handshake_.reset();
        fuzz_check(live_bytes() == before_bytes_);
        fuzz_check(!asked_ || asked_->was_cancelled());
    }
    conversation(const conversation&) = delete;
    conversation& operator=(const conversation&) = delete;

    /// True if it was one that all mechanisms have.
    bool perform(const act& next)
    {
        switch (next.what) {
        case act::bytes:
            receive(next.data);
            return true;
        case act::command:
            receive_command(next.data);
            return true;
        case act::answer:
            reply(answer_parts(input(next.data)));
            return true;
        case act::reply:
            reply(reply_parts(input(next.data)));
            return true;
        default:
            return false;
        }
    }
    void receive_command(byte_view body)
    {
        byte_vector frame;
        engine::append_frame(frame, engine::zmtp3::flag_command, body, *engine::zmtp3_codec());
        receive(frame);
    }
    bool is_done() const { return handshake_->done(); }
    engine::handshake& subject() { return *handshake_; }

private:
    void receive(byte_view bytes)
    {
        if (is_over())
            return check_end();
        received_bytes_ = std::max(received_bytes_, bytes.size() + waiting_.size());
        engine::append_bytes(waiting_, bytes);
        feed();
    }
    void reply(const std::vector<std::string>& parts)
    {
        if (!asked_)
            return;
        const bool is_awaited = asked_->is_awaited();
        was_resumed_ = false;
        asked_->reply(parts);
        fuzz_check(was_resumed_ == is_awaited);
        check();
        feed();
    }
    /// As a connection does: not while the handshake waits for something else.
    void feed()
    {
        byte_view left(waiting_);
        while (!left.empty() && handshake_->current_state() == engine::handshake::state::running) {
            const byte_view piece = left.first(std::min(how_.piece_bytes, left.size()));
            const std::size_t taken = take(piece);
            fuzz_check(taken <= piece.size());
            left = left.subspan(taken);
            check();
            fuzz_check(taken == piece.size() ||
                       handshake_->current_state() != engine::handshake::state::running);
        }
        if (is_over())
            left = {};
        waiting_ = byte_vector(left.begin(), left.end());
    }
    std::size_t take(byte_view piece)
    {
        const memory_counting on(true);
        return handshake_->feed(piece);
    }
    bool is_over() const { return handshake_->done() || handshake_->failed(); }

    void check()
    {
        fuzz_check(handshake_->done() == judge_.is_ready());
        fuzz_check(!(handshake_->done() && handshake_->failed()));
        fuzz_check(handshake_->done() || !is_done_);
        if (handshake_->done() && !std::exchange(is_done_, true))
            fuzz_check(handshake_->remote().properties == judge_.properties());
        fuzz_check(error_ == engine::handshake_error::none || error_ == handshake_->error());
        error_ = handshake_->error();
        if (asked_) {
            fuzz_check(asked_->is_awaited() ==
                       (handshake_->current_state() == engine::handshake::state::waiting));
            fuzz_check(asked_->refusal() == engine::handshake_error::none ||
                       asked_->refusal() == error_);
            fuzz_check(judge_.is_refusal_sent() == !asked_->told_refusal().empty());
        }
        handshake_->consume_output(SIZE_MAX);
        check_memory();
    }
    void check_memory() const
    {
        fuzz_check(handshake_->buffered_bytes() <=
                   engine::max_handshake_command_bytes + engine::frame_codec::max_head_bytes);
        fuzz_check(handshake_->peer_reason().size() <= 255);
        fuzz_check(handshake_->remote().routing_id.size() <= engine::max_routing_id_bytes);
        // A property of five bytes takes 64.
        const std::size_t told_bytes =
            std::min(received_bytes_, engine::max_handshake_command_bytes) +
            (asked_ ? asked_->reply_bytes() : 0);
        fuzz_check(live_bytes() - before_bytes_ <= 8192 + 13 * told_bytes);
    }
    /// Nothing is taken any more.
    void check_end()
    {
        const std::byte more[] = {std::byte{4}, std::byte{0}};
        fuzz_check(take(more) == 0);
        check();
    }

    const setup how_;
    judge& judge_;
    const std::shared_ptr<acted_authenticator> asked_;
    const std::size_t before_bytes_;
    std::optional<engine::handshake> handshake_;
    byte_vector waiting_;            ///< what the peer has sent and the handshake has not taken
    std::size_t received_bytes_ = 0; ///< of the largest piece with at most one command
    engine::handshake_error error_ = engine::handshake_error::none;
    bool is_done_ = false;
    bool was_resumed_ = false;
};

} // namespace zlink::fuzz
