// SPDX-License-Identifier: Apache-2.0
#include "core/connection/datagram_session.hpp"

#include "base/tuning.hpp"

#include "engine/codec/group_datagram.hpp"

#include <cerrno>
#include <new>

namespace zlink::core {
namespace {

namespace group_datagram = engine::group_datagram;
namespace zmtp3 = engine::zmtp3;

constexpr std::size_t largest_datagram_bytes = 64 * 1024;

iovec piece_of(const void* data, std::size_t bytes)
{
    return {const_cast<void*>(data), bytes};
}

} // namespace

std::optional<datagram_head> datagram_head_for(const socket_type_traits& type,
                                               endpoint_role role) noexcept
{
    const auto use = role == endpoint_role::bound ? bound_datagrams : connected_datagrams;
    return type.datagrams & use ? std::optional(type.head) : std::nullopt;
}

datagram_session::datagram_session(runtime::io_thread& thread, std::shared_ptr<socket_side> side,
                                   std::shared_ptr<const socket_options> options,
                                   datagram_head head, endpoint_role role,
                                   std::unique_ptr<transport::datagram_socket> socket)
    : thread_(thread),
      io_(thread.context()),
      side_(std::move(side)),
      options_(std::move(options)),
      head_(head),
      role_(role),
      socket_(std::move(socket))
{
    ++thread_.load();
}

std::shared_ptr<pipe_end> datagram_session::make_pipe()
{
    const auto channels = std::make_shared<channel_pair>();
    auto socket_end = make_pipe_end(channels, true, side_->box);
    auto end = make_pipe_end(channels, false, nullptr);
    socket_end->origin.connected_side = role_ == endpoint_role::connected;
    socket_end->origin.endpoint = socket_->endpoint();
    socket_end->origin.takes_all_groups =
        role_ == endpoint_role::connected && head_ == datagram_head::group;
    end->set_other_end(socket_end);
    socket_end->set_other_end(shared_from_this());
    socket_end_ = std::move(socket_end);
    end_ = std::move(end);
    return socket_end_;
}

void datagram_session::ask(request what) noexcept
{
    thread_.ask(*this, static_cast<unsigned>(what), shared_from_this());
}

void datagram_session::ask_later(request what) noexcept
{
    thread_.ask_later(*this, static_cast<unsigned>(what), shared_from_this());
}

// What runs out of memory is asked for again: nothing that counts was changed by then.
void datagram_session::do_request(unsigned number)
{
    switch (static_cast<request>(number)) {
    case request::send:
        return send();
    case request::receive:
        return receive();
    case request::close:
        return begin_close(linger_ms_.load(std::memory_order_relaxed));
    case request::settle:
        if (!finished_ && !closing_) // there was no memory to begin with that
            return ask_later(request::settle);
        settled_.store(true);
        return settled_.notify_all();
    }
}

void datagram_session::start() noexcept
{
    ask(request::send);
    if (role_ == endpoint_role::bound)
        ask(request::receive);
}

void datagram_session::on_readable() noexcept
{
    ask(request::send);
}

void datagram_session::on_writable() noexcept
{
    ask(request::receive);
}

// --- sending -----------------------------------------------------------------------------------

// At the end all goes out in one call: see settle().
void datagram_session::send()
{
    for (int datagrams = 0; closing_ || datagrams < tuning::turn::operations_per_call;
         ++datagrams) {
        if (finished_ || waiting_to_write_)
            return;
        if (!send_next()) {
            if (closing_ && !waiting_to_write_)
                finish();
            return;
        }
    }
    ask(request::send);
}

// Takes one part from the pipe. False if there is none, or if the system takes no datagram now.
bool datagram_session::send_next()
{
    frame part;
    if (!end_->in.peek(part))
        return false;
    if (part.command()) { // JOIN and LEAVE: nobody is told
        end_->in.pop();
        return true;
    }
    if (!has_next_head_) {
        next_head_.assign(part.text());
        has_next_head_ = part.more();
        end_->in.pop();
        return true;
    }
    if (send_message(part) == EAGAIN) {
        wait(transport::direction::write);
        return false;
    }
    has_next_head_ = false;
    std::size_t max_parts = SIZE_MAX;
    end_->in.skip_message(max_parts);
    return true;
}

// EAGAIN if the system takes none now; every other failure costs this message alone.
int datagram_session::send_message(const frame& body)
{
    const iovec content = piece_of(body.data, body.size);
    if (head_ == datagram_head::address) {
        const std::string_view text(next_head_.c_str()); // may end with a NUL
        const auto peer = socket_->parse_peer(text);
        return peer ? socket_->send({&content, 1}, &*peer) : EINVAL;
    }
    if (next_head_.size() > group_datagram::max_group_bytes ||
        1 + next_head_.size() + body.size > group_datagram::max_bytes)
        return EMSGSIZE;
    const auto group_bytes = static_cast<unsigned char>(next_head_.size());
    const iovec pieces[] = {piece_of(&group_bytes, 1),
                            piece_of(next_head_.data(), next_head_.size()), content};
    return socket_->send(pieces, nullptr);
}

// --- receiving ---------------------------------------------------------------------------------

void datagram_session::receive()
{
    if (role_ != endpoint_role::bound)
        return;
    if (buffer_.empty())
        buffer_.resize(largest_datagram_bytes);
    for (int datagrams = 0; datagrams < tuning::turn::operations_per_call; ++datagrams) {
        if (finished_ || closing_ || waiting_to_read_ || !end_->out.can_write())
            return; // on_writable() goes on
        transport::datagram got;
        const int error = socket_->receive(buffer_, got);
        if (error)
            return wait(transport::direction::read);
        if (!got.truncated)
            deliver(got);
    }
    ask(request::receive);
}

void datagram_session::deliver(const transport::datagram& got)
{
    if (head_ == datagram_head::address) {
        std::string from = socket_->peer_text(got.from);
        from.push_back('\0');
        return put(from, got.content);
    }
    if (const auto message = group_datagram::parse(got.content))
        put({reinterpret_cast<const char*>(message->group.data()), message->group.size()},
            message->body);
}

void datagram_session::put(std::string_view head, std::span<const std::byte> body)
{
    const auto most = options_->max_message_bytes;
    if (most >= 0 && body.size() > static_cast<std::uint64_t>(most))
        return;
    if (end_->out.write(frame_of(head, true)))
        end_->out.write({.data = body.data(), .size = body.size()});
}

void datagram_session::wait(transport::direction which)
{
    bool datagram_session::*const waiting = which == transport::direction::read
                                                ? &datagram_session::waiting_to_read_
                                                : &datagram_session::waiting_to_write_;
    socket_->async_wait(
        which, [self = shared_from_this(), which, waiting](const transport::error_code& error) {
            (*self).*waiting = false;
            if (error || self->finished_)
                return;
            const bool reads = which == transport::direction::read;
            try {
                reads ? self->receive() : self->send();
            } catch (const std::bad_alloc&) {
                self->ask_later(reads ? request::receive : request::send);
            }
        });
    this->*waiting = true;
}

// --- the end -----------------------------------------------------------------------------------

void datagram_session::on_ended(pipe_ending how, int linger_ms) noexcept
{
    if (how == pipe_ending::left || how == pipe_ending::output_ended)
        return; // there is no peer that would have to hear of it
    linger_ms_.store(how == pipe_ending::closed ? linger_ms : 0, std::memory_order_relaxed);
    ask(request::close);
}

void datagram_session::begin_close(int linger_ms)
{
    if (finished_)
        return;
    if (closing_) // there was no memory to send all
        return send();
    if (linger_ms > 0) {
        linger_.emplace(io_);
        linger_->expires_after(std::chrono::milliseconds(linger_ms));
        linger_->async_wait([self = shared_from_this()](const transport::error_code& error) {
            if (!error)
                self->finish();
        });
    }
    closing_ = true;
    if (linger_ms == 0)
        return finish();
    send();
}

void datagram_session::settle() noexcept
{
    ask(request::settle); // after begin_close()
    settled_.wait(false);
}

void datagram_session::finish()
{
    if (finished_)
        return;
    finished_ = true;
    --thread_.load();
    linger_.reset();
    socket_->close();
    // What was not sent may be memory of the application.
    frame unsent;
    while (end_->in.peek(unsent))
        end_->in.pop();
    end_.reset();
    socket_end_.reset();
    side_.reset();
}

} // namespace zlink::core
