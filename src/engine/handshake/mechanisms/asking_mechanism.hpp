// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/authenticator.hpp"
#include "engine/handshake/mechanism.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace zlink::engine {

/// Base of the mechanisms whose peer an authenticator may have to admit: it waits for the answer,
/// and ends if that is a refusal.
class asking_mechanism : public mechanism {
public:
    mechanism_status status() const noexcept final
    {
        if (admission_.is_waiting())
            return mechanism_status::waiting;
        return is_ready() ? mechanism_status::ready : mechanism_status::handshaking;
    }
    void on_resumed(std::function<void()> resumed) final
    {
        admission_.on_answered(std::move(resumed));
    }
    void connection_ended() noexcept final { admission_.withdraw(); }
    handshake_error error() const noexcept override { return admission_.refusal(); }

protected:
    /// Null: every peer is admitted.
    explicit asking_mechanism(std::shared_ptr<authenticator> asked) : admission_(std::move(asked))
    {}

    /// Were all handshake commands sent and received?
    virtual bool is_ready() const noexcept = 0;

    admission admission_;
};

} // namespace zlink::engine
