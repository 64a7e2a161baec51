// SPDX-License-Identifier: Apache-2.0
// Input: setup (see mechanism_fuzz.hpp), how often there are random bytes (1 byte, 0: always), then
// acts for a server of CURVE. Acts of its own:
//
//   4  HELLO: a counter (8 bytes), then the text of the box (64 bytes, if it ends earlier zeros).
//   5  INITIATE: see curve_server_judge::sealed_initiate().
//   6  so many seconds (1 byte) pass.

#include "curve_fuzz.hpp"
#include "engine/handshake/mechanisms/curve.hpp"

namespace {

using namespace zlink;
using namespace zlink::fuzz;

constexpr std::uint8_t hello_act = act::special;
constexpr std::uint8_t initiate_act = act::special + 1;
constexpr std::uint8_t time_act = act::special + 2;

using clock_time = engine::curve_server::clock::time_point;
clock_time now;

/// Another client.
const key other_secret = counted_key(0xa0);
const key other_public = curve::public_key_of(other_secret);

class curve_server_judge final : public judge {
public:
    using judge::judge;

    bool accept(byte_view body) override
    {
        const std::string_view text = engine::as_text(body);
        if (text.starts_with("\5HELLO") && step_ == step::await_hello)
            return accept_hello(body);
        if (text.starts_with("\10INITIATE") && step_ == step::await_initiate)
            return accept_initiate(body);
        return false;
    }
    void sent(byte_view body) override
    {
        if (step_ == step::send_welcome) {
            check_welcome(body);
            step_ = step::await_initiate;
        } else {
            fuzz_check(step_ == step::send_ready && is_admitted());
            check_ready(body);
            const auto known = this->known();
            properties_.insert(properties_.begin(), known.begin(), known.end());
            step_ = step::ready;
        }
    }
    bool is_ready() const override { return step_ == step::ready; }

    static byte_vector sealed_hello(input from)
    {
        const std::uint64_t counter = from.number(curve::counter_bytes);
        byte_vector body = body_of("HELLO");
        body.push_back(std::byte{1});
        body.resize(80);
        append(body, client_short_term);
        append_counter(body, counter);
        append(body, box(from.padded(64), curve::counted_nonce("CurveZMQHELLO---", counter),
                         *shared_key(server_public, client_short_term_secret)));
        return body;
    }
    /// Modes (2 bytes) and what they call for, in this order; the rest is metadata.
    /// Bits 0-1: the cookie is that of WELCOME (0), the same with a byte changed (1; which one and
    /// by what in 2 bytes), 64 bytes sealed with the right key (2), or 96 bytes (3).
    /// Bit 2: any counter (8 bytes), else 2. Bit 3: the client is another one than usual.
    /// Bit 4: the vouch is sealed by the one of the two that the client is not.
    /// Bits 5-6: the vouch says what it must (0), is for 32 bytes instead of the server (1), says
    /// any 64 bytes (2), or is 80 bytes (3). Bit 7: the client is whose public key follows
    /// (32 bytes). Bit 8: the rest is the whole text of the box.
    byte_vector sealed_initiate(input from) const
    {
        const auto modes = static_cast<unsigned>(from.number(2));
        byte_vector body = body_of("INITIATE");
        append(body, some_cookie(modes, from));
        const std::uint64_t counter = modes & 4 ? from.number(curve::counter_bytes) : 2;
        append_counter(body, counter);
        byte_vector text;
        if (!(modes & 256))
            append_client(text, modes, from);
        append(text, from.rest());
        append(body, box(text, curve::counted_nonce("CurveZMQINITIATE", counter), conversation_));
        return body;
    }
    traffic begin_traffic(std::shared_ptr<engine::frame_cipher> cipher) const
    {
        return {std::move(cipher), conversation_, false, {.sent = 1, .received = received_}};
    }

private:
    enum class step : std::uint8_t { await_hello, send_welcome, await_initiate, send_ready, ready };

    byte_vector cookie_text() const
    {
        byte_vector text(client_short_term_.begin(), client_short_term_.end());
        append(text, server_short_term_secret);
        return text;
    }
    byte_vector some_cookie(unsigned modes, input& from) const
    {
        byte_vector cookie = cookie_;
        switch (modes & 3) {
        case 1: {
            const std::size_t at = from.byte();
            cookie[at % cookie.size()] ^= static_cast<std::byte>(from.byte());
            return cookie;
        }
        case 2:
            cookie.resize(16);
            append(cookie, box(from.padded(64), random_nonce("COOKIE--", cookie), cookie_key));
            return cookie;
        case 3:
            return from.padded(96);
        default:
            return cookie;
        }
    }
    void append_client(byte_vector& text, unsigned modes, input& from) const
    {
        const bool is_other = (modes & 8) != 0;
        const bool is_sealed_by_other = is_other != ((modes & 16) != 0);
        const byte_vector nonce(16, std::byte{0x80});
        byte_vector vouch(client_short_term_.begin(), client_short_term_.end());
        switch (modes >> 5 & 3) {
        case 0:
            append(vouch, server_public);
            break;
        case 1:
            append(vouch, from.padded(32));
            break;
        default:
            vouch = from.padded((modes >> 5 & 3) == 2 ? 64 : 80);
        }
        if (vouch.size() == 64)
            vouch = box(
                vouch, random_nonce("VOUCH---", nonce),
                *shared_key(server_short_term, is_sealed_by_other ? other_secret : client_secret));
        append(text, modes & 128 ? to_key(from.padded(32))
                     : is_other  ? other_public
                                 : client_public);
        append(text, nonce);
        append(text, vouch);
    }

    bool accept_hello(byte_view body)
    {
        if (body.size() != 200 || body[6] != std::byte{1} || body[7] != std::byte{0})
            return false;
        client_short_term_ = to_key(body.subspan(80));
        const auto hello_key = shared_key(client_short_term_, server_secret);
        const auto nonce = curve::counted_nonce("CurveZMQHELLO---", counter_at(body, 112));
        if (!hello_key || !unbox(body.subspan(120), nonce, *hello_key))
            return false;
        hello_key_ = *hello_key;
        conversation_ = *shared_key(client_short_term_, server_short_term_secret);
        step_ = step::send_welcome;
        return true;
    }
    void check_welcome(byte_view body)
    {
        fuzz_check(body.size() == 168 && engine::as_text(body).starts_with("\7WELCOME"));
        const auto text =
            unbox(body.subspan(24), random_nonce("WELCOME-", body.subspan(8)), hello_key_);
        fuzz_check(text && to_key(*text) == server_short_term);
        cookie_.assign(text->begin() + 32, text->end());
        fuzz_check(opened_cookie(cookie_) == cookie_text());
        cookie_made_ = now;
    }
    static std::optional<byte_vector> opened_cookie(byte_view cookie)
    {
        return unbox(cookie.subspan(16), random_nonce("COOKIE--", cookie), cookie_key);
    }
    bool accept_initiate(byte_view body)
    {
        if (body.size() < 257 || now - cookie_made_ > std::chrono::seconds(60) ||
            opened_cookie(body.subspan(9, 96)) != cookie_text())
            return false;
        received_ = counter_at(body, 105);
        const auto opened = unbox(
            body.subspan(113), curve::counted_nonce("CurveZMQINITIATE", received_), conversation_);
        if (!opened)
            return false;
        const byte_view text(*opened);
        const key client = to_key(text);
        const auto vouch_key = shared_key(client, server_short_term_secret);
        const auto vouch = vouch_key ? unbox(text.subspan(48, 80),
                                             random_nonce("VOUCH---", text.subspan(32)), *vouch_key)
                                     : std::nullopt;
        if (!vouch || to_key(*vouch) != client_short_term_)
            return false;
        check_is_known(client);
        if (asked_)
            asked_->expected = {"CURVE", std::string(engine::as_text(client))};
        step_ = step::send_ready;
        return take_metadata(text.subspan(128), {});
    }
    /// Nobody can vouch with a key that is not theirs. The highest bit of public keys says nothing.
    static void check_is_known(key client)
    {
        client.back() &= std::byte{0x7f};
        fuzz_check(client == client_public || client == other_public);
    }
    void check_ready(byte_view body) const
    {
        fuzz_check(engine::as_text(body).starts_with("\5READY") && counter_at(body, 6) == 1);
        const auto metadata =
            unbox(body.subspan(14), curve::counted_nonce("CurveZMQREADY---", 1), conversation_);
        fuzz_check(metadata == local_metadata());
    }

    key client_short_term_{};
    key hello_key_{};
    byte_vector cookie_ = byte_vector(96);
    clock_time cookie_made_{};
    key conversation_{};
    std::uint64_t received_ = 0;
    step step_ = step::await_hello;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    input from(std::as_bytes(std::span(data, size)));
    const setup how(from.byte());
    const int random_calls = from.byte();
    now = clock_time(std::chrono::hours(1));
    const auto asked =
        how.is_unasked ? nullptr : std::make_shared<acted_authenticator>(how.socket_type);
    curve_server_judge judge(how, asked);
    conversation talk(how,
                      std::make_unique<engine::curve_server>(
                          base::secret(server_secret), asked,
                          counted_random{0x20, 0, 0, random_calls == 0 ? 1000 : random_calls - 1},
                          [] { return now; }),
                      judge, asked);
    std::optional<traffic> frames;
    while (!from.empty()) {
        const act next = next_act(from);
        if (talk.perform(next))
            continue;
        if (next.what == hello_act)
            talk.receive_command(judge.sealed_hello(input(next.data)));
        else if (next.what == initiate_act)
            talk.receive_command(judge.sealed_initiate(input(next.data)));
        else if (next.what == time_act)
            now += std::chrono::seconds(input(next.data).byte());
        if (talk.is_done() && !frames)
            frames.emplace(judge.begin_traffic(talk.subject().make_cipher()));
        if (frames)
            frames->perform(next);
    }
    return 0;
}
