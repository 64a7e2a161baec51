// SPDX-License-Identifier: Apache-2.0
// Input: setup (see mechanism_fuzz.hpp), how often there are random bytes (1 byte, 0: always), then
// acts for a client of CURVE. It never asks. Acts of its own:
//
//   4  WELCOME: modes (1 byte: bit 0: any text, bit 1: of any size), a nonce (16 bytes), then the
//      text of the box, or only its cookie (96 bytes).
//   5  READY: modes (1 byte: bit 0: any counter, which follows in 8 bytes), then the metadata.

#include "curve_fuzz.hpp"
#include "engine/handshake/mechanisms/curve.hpp"

namespace {

using namespace zlink;
using namespace zlink::fuzz;

constexpr std::uint8_t welcome_act = act::special;
constexpr std::uint8_t ready_act = act::special + 1;

class curve_client_judge final : public judge {
public:
    explicit curve_client_judge(const setup& how)
        : judge(how, nullptr), hello_key_(*shared_key(client_short_term, server_secret))
    {}

    bool accept(byte_view body) override
    {
        const std::string_view text = engine::as_text(body);
        if (text.starts_with("\7WELCOME") && step_ == step::await_welcome)
            return accept_welcome(body);
        if (text.starts_with("\5READY") && step_ == step::await_ready)
            return accept_ready(body);
        return false;
    }
    void sent(byte_view body) override
    {
        if (step_ == step::send_hello) {
            check_hello(body);
            step_ = step::await_welcome;
        } else {
            fuzz_check(step_ == step::send_initiate);
            check_initiate(body);
            step_ = step::await_ready;
        }
    }
    bool is_ready() const override { return step_ == step::ready; }

    byte_vector sealed_welcome(input from) const
    {
        const std::uint8_t modes = from.byte();
        const byte_vector nonce = from.padded(16);
        byte_vector text;
        if (!(modes & 1))
            append(text, server_short_term);
        const byte_vector end = modes & 2 ? byte_vector() : from.padded(128 - text.size());
        append(text, modes & 2 ? from.rest() : byte_view(end));
        byte_vector body = body_of("WELCOME", nonce);
        append(body, box(text, random_nonce("WELCOME-", nonce), hello_key_));
        return body;
    }
    byte_vector sealed_ready(input from) const
    {
        const std::uint64_t counter = from.byte() & 1 ? from.number(curve::counter_bytes) : 1;
        byte_vector body = body_of("READY");
        append_counter(body, counter);
        append(body,
               box(from.rest(), curve::counted_nonce("CurveZMQREADY---", counter), conversation_));
        return body;
    }
    traffic begin_traffic(std::shared_ptr<engine::frame_cipher> cipher) const
    {
        return {std::move(cipher), conversation_, true, {.sent = 2, .received = received_}};
    }

private:
    enum class step : std::uint8_t { send_hello, await_welcome, send_initiate, await_ready, ready };

    void check_hello(byte_view body) const
    {
        fuzz_check(body.size() == 200 && engine::as_text(body).starts_with("\5HELLO\1"));
        fuzz_check(to_key(body.subspan(80)) == client_short_term && counter_at(body, 112) == 1);
        const auto text =
            unbox(body.subspan(120), curve::counted_nonce("CurveZMQHELLO---", 1), hello_key_);
        fuzz_check(text == byte_vector(64));
    }
    bool accept_welcome(byte_view body)
    {
        if (body.size() != 168)
            return false;
        const auto text =
            unbox(body.subspan(24), random_nonce("WELCOME-", body.subspan(8)), hello_key_);
        if (!text)
            return false;
        server_short_term_ = to_key(*text);
        cookie_.assign(text->begin() + 32, text->end());
        const auto conversation = shared_key(server_short_term_, client_short_term_secret);
        if (!conversation)
            return false;
        conversation_ = *conversation;
        step_ = step::send_initiate;
        return true;
    }
    void check_initiate(byte_view body) const
    {
        fuzz_check(engine::as_text(body).starts_with("\10INITIATE"));
        fuzz_check(std::ranges::equal(body.subspan(9, 96), cookie_) && counter_at(body, 105) == 2);
        const auto opened =
            unbox(body.subspan(113), curve::counted_nonce("CurveZMQINITIATE", 2), conversation_);
        fuzz_check(opened && opened->size() >= 128 && to_key(*opened) == client_public);
        const byte_view text(*opened);
        const auto vouch_key = shared_key(server_short_term_, client_secret);
        const auto vouch =
            unbox(text.subspan(48, 80), random_nonce("VOUCH---", text.subspan(32)), *vouch_key);
        fuzz_check(vouch && to_key(*vouch) == client_short_term);
        fuzz_check(to_key(byte_view(*vouch).subspan(32)) == server_public);
        fuzz_check(std::ranges::equal(text.subspan(128), local_metadata()));
    }
    bool accept_ready(byte_view body)
    {
        if (body.size() < 30)
            return false;
        received_ = counter_at(body, 6);
        const auto metadata = unbox(
            body.subspan(14), curve::counted_nonce("CurveZMQREADY---", received_), conversation_);
        if (!metadata || !take_metadata(*metadata, {}))
            return false;
        step_ = step::ready;
        return true;
    }

    const key hello_key_;
    key server_short_term_{};
    byte_vector cookie_;
    key conversation_{};
    std::uint64_t received_ = 0;
    step step_ = step::send_hello;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    input from(std::as_bytes(std::span(data, size)));
    const setup how(from.byte());
    const int random_calls = from.byte();
    curve_client_judge judge(how);
    conversation talk(
        how,
        std::make_unique<engine::curve_client>(
            client_public, base::secret(client_secret), server_public,
            counted_random{0, 0x20, 0x80, random_calls == 0 ? 1000 : random_calls - 1}),
        judge, nullptr);
    std::optional<traffic> frames;
    while (!from.empty()) {
        const act next = next_act(from);
        if (talk.perform(next))
            continue;
        if (next.what == welcome_act)
            talk.receive_command(judge.sealed_welcome(input(next.data)));
        else if (next.what == ready_act)
            talk.receive_command(judge.sealed_ready(input(next.data)));
        if (talk.is_done() && !frames)
            frames.emplace(judge.begin_traffic(talk.subject().make_cipher()));
        if (frames)
            frames->perform(next);
    }
    return 0;
}
