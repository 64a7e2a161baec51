// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/handshake_error.hpp"
#include "engine/handshake/metadata.hpp"
#include "engine/handshake/negotiation.hpp"
#include "engine/handshake/peer.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::engine {

/// What a peer presents to show who it is. Views, valid during the call.
struct credentials {
    std::string_view mechanism; ///< its name in the greeting
    std::string_view address;   ///< of the peer, without a port
    /// PLAIN: name and password; CURVE: the public key (32 bytes); NULL: what the transport has
    /// shown of the peer, if it has, as a list of properties (see metadata.hpp).
    std::span<const std::string_view> parts{};
};

/// Whether a peer is admitted, and what else is known of it then.
struct verdict {
    handshake_error refusal = handshake_error::none; ///< none: it is admitted
    std::string user_id{};
    std::vector<property> properties{};
};

/// Who decides whether the peer of one connection is admitted (RFC 27).
///
/// Thread safety: that of the handshake, the I/O thread of its connection.
class authenticator {
public:
    virtual ~authenticator() = default;
    /// Asks, once. `decided` is called once, perhaps before ask() returns, but not after cancel().
    virtual void ask(const credentials& presented, std::function<void(verdict)> decided) = 0;
    /// Nobody wants to know any more.
    virtual void cancel() noexcept = 0;
};

/// The question of one handshake whether its peer is admitted, for the mechanism that asks.
class admission {
public:
    /// Null: nobody is asked, and everybody is admitted.
    explicit admission(std::shared_ptr<authenticator> asked) noexcept : asked_(std::move(asked)) {}
    ~admission() { withdraw(); }
    admission(const admission&) = delete;
    admission& operator=(const admission&) = delete;

    /// Asks, once; the answer may be there at once. `mechanism` and `parts`: see credentials.
    void ask(const negotiation& about, std::string_view mechanism,
             std::span<const std::string_view> parts = {});
    /// Nobody wants to know any more; is_waiting() stays what it is.
    void withdraw() noexcept
    {
        if (asked_)
            asked_->cancel();
    }
    bool was_asked() const noexcept { return stage_ != stage::not_asked; }
    bool is_waiting() const noexcept { return stage_ == stage::asked; }
    bool is_granted() const noexcept
    {
        return stage_ == stage::answered && verdict_.refusal == handshake_error::none;
    }
    /// `none` while nobody has refused.
    handshake_error refusal() const noexcept { return verdict_.refusal; }
    /// When an answer comes after ask() has returned.
    void on_answered(std::function<void()> answered) { answered_ = std::move(answered); }

    /// Puts User-Id and the properties that the authenticator gave before the peer's own ones, of
    /// which the first of a name counts.
    void tell(remote_peer& remote);
    /// Once, for status 400 and 500 only: appends the ERROR command for the refused peer and
    /// returns true.
    bool next_error_command(std::vector<std::byte>& body);

private:
    enum class stage : std::uint8_t { not_asked, asked, answered };

    void take(verdict decided, int socket_type);

    const std::shared_ptr<authenticator> asked_;
    stage stage_ = stage::not_asked;
    bool asking_ = false; ///< within ask()
    bool error_sent_ = false;
    verdict verdict_;
    std::function<void()> answered_;
};

} // namespace zlink::engine
