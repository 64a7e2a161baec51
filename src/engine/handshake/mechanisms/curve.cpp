// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/mechanisms/curve.hpp"

#include "engine/bytes.hpp"
#include "engine/commands/command.hpp"
#include "engine/curve/cipher.hpp"
#include "engine/curve/counter.hpp"
#include "engine/handshake/command_frames.hpp"

#include <algorithm>
#include <utility>

namespace zlink::engine {
namespace {

using curve::key_bytes;
using curve::mac_bytes;

// The commands as RFC 26 lays them out. Offsets count from the length of the name.
constexpr std::size_t random_bytes = 16;
constexpr std::size_t cookie_bytes = random_bytes + mac_bytes + 2 * key_bytes;
constexpr std::size_t vouch_bytes = mac_bytes + 2 * key_bytes;

namespace hello {
enum layout : std::size_t {
    version_at = 6,
    key_at = 80,
    counter_at = 112,
    box_at = 120,
    text_bytes = 64, // zeros, so that the answer is not larger than the question
    all_bytes = box_at + mac_bytes + text_bytes,
};
static_assert(all_bytes == 200);
} // namespace hello

namespace welcome {
enum layout : std::size_t {
    nonce_at = 8,
    box_at = 24,
    text_bytes = key_bytes + cookie_bytes,
    all_bytes = box_at + mac_bytes + text_bytes,
};
static_assert(all_bytes == 168);
} // namespace welcome

namespace initiate {
enum layout : std::size_t {
    cookie_at = 9,
    counter_at = cookie_at + cookie_bytes,
    box_at = counter_at + curve::counter_bytes,
    text_bytes = key_bytes + random_bytes + vouch_bytes, // then the metadata
    least_bytes = box_at + mac_bytes + text_bytes,
};
static_assert(least_bytes == 257);
} // namespace initiate

namespace ready {
enum layout : std::size_t {
    counter_at = 6,
    box_at = counter_at + curve::counter_bytes,
    least_bytes = box_at + mac_bytes,
};
static_assert(least_bytes == 30);
} // namespace ready

constexpr std::string_view hello_prefix = "CurveZMQHELLO---";
constexpr std::string_view welcome_prefix = "WELCOME-";
constexpr std::string_view cookie_prefix = "COOKIE--";
constexpr std::string_view initiate_prefix = "CurveZMQINITIATE";
constexpr std::string_view vouch_prefix = "VOUCH---";
constexpr std::string_view ready_prefix = "CurveZMQREADY---";

using key = std::array<std::byte, key_bytes>;

curve::public_key key_at(std::span<const std::byte> body, std::size_t at) noexcept
{
    curve::public_key result{};
    std::ranges::copy(body.subspan(at, key_bytes), result.begin());
    return result;
}

void load(key& to, const base::secret& from) noexcept
{
    std::ranges::copy(from.bytes().first(std::min(from.size(), to.size())), to.begin());
}

void append_counter(std::vector<std::byte>& body, std::uint64_t counter)
{
    body.resize(body.size() + curve::counter_bytes);
    curve::put_counter(body.data() + body.size() - curve::counter_bytes, counter);
}

void append_box(std::vector<std::byte>& body, std::span<const std::byte> text,
                const curve::nonce& nonce, const key& with)
{
    body.resize(body.size() + mac_bytes + text.size());
    curve::seal(std::span(body).last(mac_bytes + text.size()), text, nonce, with);
}

std::array<std::byte, random_bytes> random_part(const curve::random_source& source, bool& ok)
{
    std::array<std::byte, random_bytes> result{};
    ok = source(result) && ok;
    return result;
}

} // namespace

// --- client ------------------------------------------------------------------------------------

curve_client::curve_client(const curve::public_key& own, const base::secret& secret,
                           const curve::public_key& server, curve::random_source random)
    : own_(own), server_(server), random_(std::move(random))
{
    load(secrets_->long_term, secret);
    if (!curve::is_available())
        error_ = handshake_error::no_random_bytes;
}

bool curve_client::next_command(negotiation& state, std::vector<std::byte>& body)
{
    switch (step_) {
    case step::send_hello:
        if (error_ != handshake_error::none || !append_hello(body))
            return false;
        step_ = step::await_welcome;
        return true;
    case step::send_initiate:
        if (error_ != handshake_error::none || !append_initiate(state, body))
            return false;
        step_ = step::await_ready;
        return true;
    default:
        return false;
    }
}

bool curve_client::append_hello(std::vector<std::byte>& body)
{
    secrets& keys = *secrets_;
    if (!random_(keys.short_term)) {
        error_ = handshake_error::no_random_bytes;
        return false;
    }
    short_term_ = curve::public_key_of(keys.short_term);
    if (!curve::share(keys.hello, server_, keys.short_term)) {
        error_ = handshake_error::not_authentic; // that is nobody's public key
        return false;
    }
    append_command_body(body, "HELLO");
    body.push_back(std::byte{1}); // version 1.0
    body.resize(hello::key_at);
    append_bytes(body, short_term_);
    append_counter(body, ++sent_);
    const std::array<std::byte, hello::text_bytes> zeros{};
    append_box(body, zeros, curve::counted_nonce(hello_prefix, sent_), keys.hello);
    return true;
}

bool curve_client::append_initiate(const negotiation& state, std::vector<std::byte>& body)
{
    secrets& keys = *secrets_;
    bool ok = true;
    const auto vouch_nonce = random_part(random_, ok);
    base::secret_object<key> vouch_key; // shared by c and S'
    if (!ok || !curve::share(*vouch_key, server_short_term_, keys.long_term)) {
        error_ = ok ? handshake_error::not_authentic : handshake_error::no_random_bytes;
        return false;
    }
    std::vector<std::byte> vouch_text;
    append_bytes(vouch_text, short_term_);
    append_bytes(vouch_text, server_);
    std::vector<std::byte> text;
    append_bytes(text, own_);
    append_bytes(text, vouch_nonce);
    append_box(text, vouch_text, curve::random_nonce(vouch_prefix, vouch_nonce), *vouch_key);
    append_local_metadata(text, state.local);

    append_command_body(body, "INITIATE");
    append_bytes(body, cookie_);
    append_counter(body, ++sent_);
    append_box(body, text, curve::counted_nonce(initiate_prefix, sent_), keys.conversation);
    return true;
}

handshake_error curve_client::process_command(negotiation& state, std::span<const std::byte> body)
{
    const auto command = parse_command(body);
    if (!command || body.size() <= 1)
        return handshake_error::malformed_command;
    if (command->name == "ERROR")
        return read_error_command(command->data, state.peer_reason);
    if (command->name == "WELCOME" && step_ == step::await_welcome)
        return process_welcome(body);
    if (command->name == "READY" && step_ == step::await_ready)
        return process_ready(state, body);
    return handshake_error::unexpected_command;
}

handshake_error curve_client::process_welcome(std::span<const std::byte> body)
{
    if (body.size() != welcome::all_bytes)
        return handshake_error::malformed_welcome;
    secrets& keys = *secrets_;
    const auto nonce =
        curve::random_nonce(welcome_prefix, body.subspan<welcome::nonce_at, random_bytes>());
    std::array<std::byte, welcome::text_bytes> text{};
    if (!curve::open(text, body.subspan(welcome::box_at), nonce, keys.hello))
        return handshake_error::not_authentic;
    server_short_term_ = key_at(text, 0);
    std::ranges::copy(std::span(text).subspan<key_bytes>(), cookie_.begin());
    if (!curve::share(keys.conversation, server_short_term_, keys.short_term))
        return handshake_error::not_authentic;
    base::wipe(&keys.short_term, sizeof keys.short_term);
    step_ = step::send_initiate;
    return handshake_error::none;
}

handshake_error curve_client::process_ready(negotiation& state, std::span<const std::byte> body)
{
    if (body.size() < ready::least_bytes)
        return handshake_error::malformed_ready;
    received_ = curve::get_counter(body.data() + ready::counter_at);
    std::vector<std::byte> metadata(body.size() - ready::least_bytes);
    if (!curve::open(metadata, body.subspan(ready::box_at),
                     curve::counted_nonce(ready_prefix, received_), secrets_->conversation))
        return handshake_error::not_authentic;
    step_ = step::ready;
    const auto error = accept_remote_metadata(metadata, state.local, state.remote);
    return error == handshake_error::invalid_metadata ? handshake_error::invalid_ready_metadata
                                                      : error;
}

mechanism_status curve_client::status() const noexcept
{
    return step_ == step::ready ? mechanism_status::ready : mechanism_status::handshaking;
}

std::shared_ptr<frame_cipher> curve_client::make_cipher()
{
    return std::make_shared<curve::cipher>(curve::cipher::role::client, secrets_->conversation,
                                           sent_, received_);
}

// --- server ------------------------------------------------------------------------------------

curve_server::curve_server(const base::secret& secret, std::shared_ptr<authenticator> asked,
                           curve::random_source random, clock::time_point (*now)())
    : asking_mechanism(std::move(asked)), random_(std::move(random)), now_(now)
{
    load(secrets_->long_term, secret);
    if (!curve::is_available())
        error_ = handshake_error::no_random_bytes;
}

bool curve_server::next_command(negotiation& state, std::vector<std::byte>& body)
{
    if (admission_.next_error_command(body))
        return true;
    switch (step_) {
    case step::send_welcome:
        if (error_ != handshake_error::none || !append_welcome(body))
            return false;
        step_ = step::await_initiate;
        return true;
    case step::send_ready:
        if (!admission_.is_granted())
            return false;
        admission_.tell(state.remote);
        append_ready(state, body);
        step_ = step::ready;
        return true;
    default:
        return false;
    }
}

handshake_error curve_server::process_command(negotiation& state, std::span<const std::byte> body)
{
    const auto command = parse_command(body);
    if (!command || body.size() <= 1)
        return handshake_error::malformed_command;
    if (command->name == "HELLO" && step_ == step::await_hello)
        return process_hello(body);
    if (command->name == "INITIATE" && step_ == step::await_initiate)
        return process_initiate(state, body);
    if (command->name == "ERROR")
        return read_error_command(command->data, state.peer_reason);
    return handshake_error::unexpected_command;
}

handshake_error curve_server::process_hello(std::span<const std::byte> body)
{
    if (body.size() != hello::all_bytes || body[hello::version_at] != std::byte{1} ||
        body[hello::version_at + 1] != std::byte{0})
        return handshake_error::malformed_hello;
    secrets& keys = *secrets_;
    client_short_term_ = key_at(body, hello::key_at);
    const auto counter = curve::get_counter(body.data() + hello::counter_at);
    std::array<std::byte, hello::text_bytes> text{};
    if (!curve::share(keys.hello, client_short_term_, keys.long_term) ||
        !curve::open(text, body.subspan(hello::box_at), curve::counted_nonce(hello_prefix, counter),
                     keys.hello))
        return handshake_error::not_authentic;
    step_ = step::send_welcome;
    return handshake_error::none;
}

bool curve_server::append_welcome(std::vector<std::byte>& body)
{
    secrets& keys = *secrets_;
    bool ok = random_(keys.short_term) && random_(keys.cookie);
    const auto cookie_nonce = random_part(random_, ok);
    const auto welcome_nonce = random_part(random_, ok);
    if (!ok || !curve::share(keys.conversation, client_short_term_, keys.short_term)) {
        error_ = ok ? handshake_error::not_authentic : handshake_error::no_random_bytes;
        return false;
    }
    const auto end = std::ranges::copy(client_short_term_, keys.cookie_text.begin()).out;
    std::ranges::copy(keys.short_term, end);
    std::vector<std::byte> text;
    append_bytes(text, curve::public_key_of(keys.short_term));
    append_bytes(text, cookie_nonce);
    append_box(text, keys.cookie_text, curve::random_nonce(cookie_prefix, cookie_nonce),
               keys.cookie);
    cookie_made_ = now_();

    append_command_body(body, "WELCOME");
    append_bytes(body, welcome_nonce);
    append_box(body, text, curve::random_nonce(welcome_prefix, welcome_nonce), keys.hello);
    return true;
}

handshake_error curve_server::process_initiate(negotiation& state, std::span<const std::byte> body)
{
    if (body.size() < initiate::least_bytes)
        return handshake_error::malformed_initiate;
    secrets& keys = *secrets_;
    const auto cookie = body.subspan(initiate::cookie_at, cookie_bytes);
    const auto cookie_nonce = curve::random_nonce(cookie_prefix, cookie.subspan<0, random_bytes>());
    if (now_() - cookie_made_ > cookie_lifetime ||
        !curve::open(keys.opened_cookie, cookie.subspan(random_bytes), cookie_nonce, keys.cookie) ||
        !curve::are_same(keys.opened_cookie, keys.cookie_text))
        return handshake_error::not_authentic;
    base::wipe(&keys.cookie, sizeof keys.cookie); // it serves one client, once

    received_ = curve::get_counter(body.data() + initiate::counter_at);
    std::vector<std::byte> text(body.size() - initiate::box_at - mac_bytes);
    if (!curve::open(text, body.subspan(initiate::box_at),
                     curve::counted_nonce(initiate_prefix, received_), keys.conversation))
        return handshake_error::not_authentic;
    const curve::public_key client = key_at(text, 0);
    const std::span<const std::byte> opened(text);
    const auto vouch_nonce =
        curve::random_nonce(vouch_prefix, opened.subspan<key_bytes, random_bytes>());
    std::array<std::byte, 2 * key_bytes> vouch{};
    if (!curve::share(keys.vouch, client, keys.short_term) ||
        !curve::open(vouch, opened.subspan(key_bytes + random_bytes, vouch_bytes), vouch_nonce,
                     keys.vouch))
        return handshake_error::not_authentic;
    if (!curve::are_same(std::span(vouch).first<key_bytes>(), client_short_term_))
        return handshake_error::wrong_key;
    step_ = step::send_ready;
    if (const auto error =
            accept_remote_metadata(opened.subspan(initiate::text_bytes), state.local, state.remote);
        error != handshake_error::none)
        return error;
    const std::string_view shown[] = {as_text(client)};
    admission_.ask(state, name(), shown);
    return handshake_error::none;
}

void curve_server::append_ready(const negotiation& state, std::vector<std::byte>& body)
{
    std::vector<std::byte> metadata;
    append_local_metadata(metadata, state.local);
    append_command_body(body, "READY");
    append_counter(body, ++sent_);
    append_box(body, metadata, curve::counted_nonce(ready_prefix, sent_), secrets_->conversation);
}

handshake_error curve_server::error() const noexcept
{
    return error_ != handshake_error::none ? error_ : asking_mechanism::error();
}

std::shared_ptr<frame_cipher> curve_server::make_cipher()
{
    return std::make_shared<curve::cipher>(curve::cipher::role::server, secrets_->conversation,
                                           sent_, received_);
}

} // namespace zlink::engine
