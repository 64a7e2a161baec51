// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/buffer.hpp"
#include "engine/codec/zmtp3.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace zlink::core {

inline std::string_view text_of(const std::byte* data, std::size_t size) noexcept
{
    return {reinterpret_cast<const char*>(data), size};
}

/// One part of a message on its way, by reference. A received frame is a view into the queue it was
/// received from, valid until the next operation on that pipe; a frame to be sent is a view of the
/// caller's memory, valid during the call.
struct frame {
    const std::byte* data = nullptr;
    std::size_t size = 0;
    /// What `data` lies in, if it may be shared instead of copied (no reference is held here).
    base::buffer* owner = nullptr;
    std::uint8_t flags = 0; ///< zmtp3::flag_more, zmtp3::flag_command
    /// To be sent: the sender may be kept until a reader in the same process has copied the body.
    bool lendable = false;
    std::uint32_t routing_id = 0; ///< to be sent: the peer, with SERVER and PEER; not on the wire

    bool more() const noexcept { return (flags & engine::zmtp3::flag_more) != 0; }
    bool command() const noexcept { return (flags & engine::zmtp3::flag_command) != 0; }
    /// Received: may the body still be at its sender's only, but for its beginning?
    bool lent() const noexcept { return owner && owner->lending.lent(); }
    /// Received: waits until all of the body is here. Call it before `data` is read, except by
    /// copy_out(), bytes() and text(), which see to that themselves.
    void await_body() const noexcept
    {
        if (lent()) [[unlikely]]
            owner->lending.await_copy();
    }
    bool user_owned() const noexcept { return owner && owner->user_owned; }
    std::span<const std::byte> bytes() const noexcept
    {
        await_body();
        return {data, size};
    }
    std::string_view text() const noexcept
    {
        await_body();
        return text_of(data, size);
    }
};

/// Copies the first `bytes` bytes of a received body, which is not needed afterwards: if it is
/// lent, it can be read only once.
inline void copy_out(const frame& part, void* to, std::size_t bytes) noexcept
{
    if (part.lent()) {
        base::joint_copy copy(static_cast<const std::byte*>(part.owner->hint),
                              static_cast<std::byte*>(to), bytes);
        if (part.owner->lending.copy_together(copy, part.owner->hint))
            return;
    }
    if (bytes) // memcpy must not see null
        std::memcpy(to, part.data, bytes);
}

/// A received part that was moved past already, valid until the next call for its socket; or
/// nothing. It fits in two registers.
class taken_part {
public:
    taken_part() = default;
    taken_part(const std::byte* data, std::size_t size, bool more) noexcept
        : data_(data), size_and_more_(size << 1 | std::size_t{more})
    {}
    explicit operator bool() const noexcept { return data_ != nullptr; }
    const std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_and_more_ >> 1; }
    bool more() const noexcept { return (size_and_more_ & 1) != 0; }
    std::span<const std::byte> bytes() const noexcept { return {data_, size()}; }

private:
    const std::byte* data_ = nullptr;
    std::size_t size_and_more_ = 0;
};

inline frame frame_of(std::string_view text, bool more) noexcept
{
    return {reinterpret_cast<const std::byte*>(text.data()), text.size(), nullptr,
            more ? engine::zmtp3::flag_more : std::uint8_t{0}};
}

} // namespace zlink::core
