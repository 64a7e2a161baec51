// SPDX-License-Identifier: Apache-2.0
#include "core/connection/zap_conversation.hpp"

#include "core/connection/inproc.hpp"
#include "engine/handshake/zap.hpp"

#include <new>
#include <utility>

namespace zlink::core {

namespace zap = engine::zap;

zap_conversation::zap_conversation(runtime::io_thread& thread, std::shared_ptr<socket_side> side,
                                   std::shared_ptr<const socket_options> options,
                                   authentication how)
    : thread_(thread), side_(std::move(side)), options_(std::move(options)), how_(how)
{}

zap_conversation::~zap_conversation() = default;

void zap_conversation::ask(const engine::credentials& presented,
                           std::function<void(engine::verdict)> decided)
{
    decided_ = std::move(decided);
    if (how_ == authentication::impossible)
        return decide(engine::handshake_error::no_authenticator);
    const auto channels = side_->inproc->channels_for_question();
    if (!channels)
        return decide(engine::handshake_error::denied_for_now);
    end_ = make_pipe_end(channels, true, nullptr);
    end_->set_limits(0, 0);
    const auto handler_end = side_->inproc->connect_to_handler(std::string(zap::handler_name),
                                                               channels, shared_from_this());
    if (!handler_end) {
        end_.reset();
        return decide(how_ == authentication::if_handled
                          ? engine::handshake_error::none
                          : engine::handshake_error::no_authenticator);
    }
    end_->set_other_end(handler_end);
    const auto parts =
        zap::request_parts({options_->security.zap_domain, options_->routing_id}, presented);
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (!end_->out.write(frame_of(parts[i], i + 1 < parts.size())))
            throw std::bad_alloc();
    read_reply(); // so that the handler's thread tells when there is one
}

void zap_conversation::cancel() noexcept
{
    const bool takes_back = std::exchange(decided_, nullptr) != nullptr;
    if (const auto end = std::exchange(end_, nullptr)) {
        end->set_refused(takes_back);
        end->close(0);
    }
    side_.reset();
}

void zap_conversation::on_readable() noexcept
{
    thread_.ask(*this, static_cast<unsigned>(request::read_reply), shared_from_this());
}

void zap_conversation::on_ended(pipe_ending how, int) noexcept
{
    if (how == pipe_ending::left || how == pipe_ending::output_ended)
        return;
    thread_.ask(*this, static_cast<unsigned>(request::end_without_reply), shared_from_this());
}

void zap_conversation::do_request(unsigned number)
{
    try {
        read_reply();
    } catch (const std::bad_alloc&) { // it may be gone: the peer is to try again
        return decide(engine::handshake_error::denied_for_now);
    }
    if (static_cast<request>(number) == request::end_without_reply && end_) {
        end_->mark_other_gone();
        decide(engine::handshake_error::no_authenticator);
    }
}

void zap_conversation::read_reply()
{
    frame part;
    while (end_ && end_->in.peek(part)) {
        const bool more = part.more();
        if (parts_.size() <= zap::reply_parts) // one too many is as wrong as a thousand
            parts_.emplace_back(part.text());
        end_->in.pop();
        if (!more)
            return decide(zap::read_reply(std::exchange(parts_, {})));
    }
}

void zap_conversation::decide(engine::handshake_error refusal)
{
    decide(engine::verdict{.refusal = refusal});
}

void zap_conversation::decide(engine::verdict verdict)
{
    const auto self = shared_from_this(); // who is told may let go of it
    const auto decided = std::exchange(decided_, nullptr);
    cancel();
    if (decided)
        decided(std::move(verdict));
}

} // namespace zlink::core
