// SPDX-License-Identifier: Apache-2.0
#include "core/connection/opening.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace zlink::core {
namespace {

constexpr std::size_t read_bytes = 512;
// More than an exchange has to say at once. While a peer lets more than this wait, nothing is read
// from it: it could ask for ever, such as by pings, and read no answer.
constexpr std::size_t most_unsent_bytes = 64 * 1024;
// At most this is read while the handshake waits, to find out that the peer has left. Peers say
// little before they are admitted.
constexpr std::size_t most_pending_bytes = 8 * 1024;

} // namespace

using state = transport::exchange::state;

opening::opening(boost::asio::io_context& io, std::unique_ptr<transport::stream>& stream,
                 transport::upgrades upgrades, std::unique_ptr<engine::handshake> handshake,
                 frame_function frame)
    : io_(io),
      stream_(stream),
      upgrades_(std::move(upgrades)),
      handshake_(std::move(handshake)),
      frame_(std::move(frame))
{}

opening::~opening() = default;

void opening::start(int limit_ms, handlers to, first_look look)
{
    const auto self = shared_from_this();
    to_ = std::move(to);
    limit_ = std::chrono::milliseconds(limit_ms);
    if (!is_reaching()) {
        to_.reached();
        limit(limit_);
    }
    if (is_over())
        return;
    begin_stage();
    if (look == first_look::none || !pending_.empty() || read())
        pump();
}

void opening::stop() noexcept
{
    to_ = {};
    timer_.reset();
    if (handshake_)
        handshake_->connection_ended();
}

void opening::lift_time_limit() noexcept
{
    limit_ = {};
    if (!is_reaching())
        timer_.reset();
}

bool opening::is_reaching() const noexcept
{
    const auto left = std::span(upgrades_).subspan(std::min(stage_, upgrades_.size()));
    return std::ranges::any_of(left, [](const auto& each) { return each->reaches_peer(); });
}

transport::upgrade* opening::current_upgrade() const noexcept
{
    return stage_ < upgrades_.size() ? upgrades_[stage_].get() : nullptr;
}

transport::exchange& opening::current() const noexcept
{
    if (transport::upgrade* const upgrade = current_upgrade())
        return *upgrade;
    return *handshake_;
}

// The protocol that was agreed on last.
std::string_view opening::protocol() const noexcept
{
    for (auto upgrade = upgrades_.rbegin(); upgrade != upgrades_.rend(); ++upgrade)
        if (const auto name = (*upgrade)->protocol(); !name.empty())
            return name;
    return {};
}

void opening::begin_stage()
{
    transport::exchange& at = current();
    if (const auto* const upgrade = current_upgrade(); upgrade && is_reaching())
        limit(upgrade->limit());
    at.on_resumed([weak = weak_from_this()] {
        if (const auto self = weak.lock())
            self->attempt([&self] { self->pump(); });
    });
    if (!current_upgrade()) {
        handshake_->on_connection_asked_for([this] { return stream_->info(); });
        if (frame_)
            handshake_->frame_by(frame_(protocol()));
    }
    at.start();
}

// The stage is done, and its output sent.
void opening::next_stage()
{
    const bool was_reaching = is_reaching();
    if (transport::upgrade* const upgrade = current_upgrade())
        stream_ = upgrade->wrap(std::move(stream_), io_);
    ++stage_;
    waiting_to_read_ = waiting_to_write_ = false; // for what is below the stream now
    if (was_reaching && !is_reaching()) {
        to_.reached();
        if (is_over())
            return;
        limit(limit_);
    }
    if (stage_ < stages())
        begin_stage();
}

void opening::limit(std::chrono::milliseconds time)
{
    timer_.reset();
    if (time.count() <= 0)
        return;
    timer_.emplace(io_, time);
    timer_->async_wait([self = shared_from_this()](const transport::error_code& error) {
        if (!error && !self->is_over())
            self->end_broken(self->is_reaching() ? ETIMEDOUT : EAGAIN);
    });
}

// The answer to what was written takes its time: the stream is waited for, not read at once.
void opening::pump()
{
    while (!is_over()) {
        const state before = current().current_state();
        if (ends_unwritten(before) || !write() || !advance(before))
            return;
    }
}

// Ends the opening if its state asks for that, whatever is left to write. The output of a finished
// handshake goes along with the first messages.
bool opening::ends_unwritten(state at)
{
    if (at == state::failed)
        end_failed();
    else if (at == state::done && current_upgrade() && current_upgrade()->is_for_another())
        end({.kind = end_kind::passed_on});
    else if (at == state::done && is_last() && handshake_)
        end_succeeded();
    return is_over();
}

// Goes on after the output was written as far as there was room. False if the stage has to wait.
bool opening::advance(state from)
{
    const std::size_t unsent_bytes = current().output().size();
    if (from == state::done) {
        if (unsent_bytes != 0)
            return false;
        next_stage();
        if (!is_over() && stage_ == stages())
            end_succeeded();
        return true;
    }
    const bool waits = from == state::waiting;
    if (!waits && unsent_bytes > most_unsent_bytes)
        return false; // the stage goes on once there is room
    if (!waits && !pending_.empty()) {
        take(std::exchange(pending_, {}));
        return true;
    }
    if (!waits || (!current_upgrade() && pending_.size() < most_pending_bytes))
        wait(transport::direction::read);
    return false;
}

// Bytes that the stage does not take are for the next stage, or wait with this one.
void opening::take(std::span<const std::byte> bytes)
{
    bytes = bytes.subspan(current().feed(bytes));
    pending_.assign(bytes.begin(), bytes.end());
}

// Reads once, and keeps the bytes while the handshake waits. False if the opening has ended.
bool opening::read()
{
    std::byte buffer[read_bytes];
    const iovec space{buffer, std::min(sizeof buffer, current().most_input_bytes())};
    const bool waits = !current_upgrade() && current().current_state() == state::waiting;
    if (space.iov_len == 0 || (!waits && current().current_state() != state::running))
        return true;
    const auto result = stream_->read_some(&space, 1);
    if (result.would_block())
        return true;
    if (result.failed() || result.bytes == 0) {
        if (waits)
            handshake_->hear_last_words(pending_);
        if (current().current_state() == state::failed)
            end_failed();
        else
            end_broken(result.error ? result.error : is_reaching() ? ECONNRESET : EPIPE);
        return false;
    }
    if (waits)
        pending_.insert(pending_.end(), buffer, buffer + result.bytes);
    else
        take({buffer, result.bytes});
    return true;
}

// False if the connection is broken.
bool opening::write()
{
    transport::exchange& at = current();
    bool held = false;
    while (!at.output().empty()) {
        const auto output = at.output();
        const iovec bytes{const_cast<std::byte*>(output.data()), output.size()};
        const auto result = stream_->write_some(&bytes, 1);
        if (result.failed()) {
            output_failed(result.error);
            return false;
        }
        at.consume_output(result.bytes);
        held = result.more;
        if (result.would_block()) {
            wait(transport::direction::write);
            return true;
        }
    }
    return !held || flush();
}

// Writes what the stream holds back. False if the connection is broken.
bool opening::flush()
{
    const auto result = stream_->flush();
    if (result.failed())
        end_broken(result.error);
    else if (result.would_block())
        wait(transport::direction::write);
    return !result.failed();
}

// A peer that refuses closes the connection, but may have said why before.
void opening::output_failed(int error)
{
    has_output_failed_ = true;
    if (!read())
        return;
    if (current().current_state() == state::failed)
        return end_failed();
    end_broken(error);
}

void opening::wait(transport::direction which)
{
    const bool to_read = which == transport::direction::read;
    bool& waiting = to_read ? waiting_to_read_ : waiting_to_write_;
    if (std::exchange(waiting, true))
        return;
    stream_->async_wait(which, [self = shared_from_this(), to_read,
                                stage = stage_](const transport::error_code& error) {
        if (self->is_over() || stage != self->stage_)
            return;
        (to_read ? self->waiting_to_read_ : self->waiting_to_write_) = false;
        if (error)
            return self->end_broken(error.value());
        self->attempt([&] {
            if (to_read ? self->read() : self->flush())
                self->pump();
        });
    });
}

template <class Body>
void opening::attempt(Body body) noexcept
{
    try {
        body();
    } catch (const std::bad_alloc&) {
        if (!is_over())
            end_broken(ENOMEM);
    }
}

void opening::end_failed()
{
    const auto output = current().output();
    const iovec bytes{const_cast<std::byte*>(output.data()), output.size()};
    if (bytes.iov_len != 0 && !has_output_failed_)
        stream_->write_some(&bytes, 1); // the peer may be told why
    const transport::upgrade* const upgrade = current_upgrade();
    if (upgrade && upgrade->was_violated() && !is_reaching())
        return end({.kind = end_kind::refused, .refusal = engine::handshake_error::no_upgrade});
    if (upgrade)
        return end_broken(upgrade->error());
    end({.kind = end_kind::refused,
         .refusal = handshake_->error(),
         .reason = handshake_->peer_reason()});
}

void opening::end_broken(int error)
{
    end({.kind = is_reaching() ? end_kind::unreached : end_kind::broken, .error = error});
}

void opening::end_succeeded()
{
    if (!handshake_)
        return end({.kind = end_kind::succeeded,
                    .codec = frame_ ? frame_(protocol()).codec : nullptr,
                    .rest = pending_});
    const auto output = handshake_->output();
    end({.kind = end_kind::succeeded,
         .remote = handshake_->remote(),
         .codec = handshake_->own_codec(),
         .cipher = handshake_->make_cipher(),
         .unsent = {output.begin(), output.end()},
         .rest = pending_});
}

void opening::end(const ending& how)
{
    const auto self = shared_from_this(); // the handler may let go of it
    timer_.reset();
    if (handshake_ && how.kind != end_kind::succeeded)
        handshake_->connection_ended(); // before anybody hears of it
    std::exchange(to_, {}).ended(how);
}

} // namespace zlink::core
