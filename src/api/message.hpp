// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pipe/frame.hpp"
#include "core/pipe/metadata.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <zmq.h>

namespace zlink::api {

/// What is inside a zmq_msg_t. It holds no pointer into itself, so an application may move an
/// initialised zmq_msg_t by copying its bytes.
/// Thread safety: one thread at a time; bodies shared by copies are only read.
class message {
public:
    /// Bodies up to this many bytes lie in the message itself.
    static constexpr std::size_t inline_bytes = 33;

    static message& of(zmq_msg_t* raw) noexcept { return *reinterpret_cast<message*>(raw); }
    static const message& of(const zmq_msg_t* raw) noexcept
    {
        return *reinterpret_cast<const message*>(raw);
    }

    /// Was it initialised, and not closed since?
    bool valid() const noexcept { return mark_ == live_mark; }

    // Initialisers; the former content is not looked at. False if memory is exhausted.
    void init_empty() noexcept
    {
        properties_ = nullptr;
        routing_id_ = 0;
        mark_ = live_mark;
        kind_ = inlined;
        inlined_size_ = 0;
        more_ = false;
        group_[0] = '\0';
    }
    bool init_size(std::size_t bytes) noexcept;
    bool init_user(void* data, std::size_t bytes, zmq_free_fn* free, void* hint) noexcept;
    void init_constant(const void* data, std::size_t bytes) noexcept;

    /// Replaces the content by a received part: shared if it can be, else copied. False if memory
    /// is exhausted: nothing has changed then.
    bool replace(const core::frame& part) noexcept;
    /// The same with a copy of a part of certain_bytes() at most: never fails.
    void replace_small(const core::taken_part& part) noexcept
    {
        const std::size_t bytes = part.size();
        hold_copy(bytes > inline_bytes ? base::allocate_buffer(bytes) : nullptr, part.data(), bytes,
                  part.more());
    }
    /// So large a part replace_small() takes, once.
    static std::size_t certain_bytes() noexcept
    {
        return std::max(inline_bytes, base::certain_bytes());
    }
    /// Takes over a reference to properties, or null, after replace().
    void set_properties(const core::metadata* properties) noexcept { properties_ = properties; }

    /// Gives up the content; the message is uninitialised then.
    void close() noexcept
    {
        if (kind_ == counted)
            outside_body().owner->drop_reference();
        else if (kind_ != inlined) [[unlikely]]
            close_outside();
        if (properties_)
            properties_->drop_references(1);
        mark_ = 0;
    }
    /// Takes over the content of `from`, which becomes empty. Both are initialised.
    void move_from(message& from) noexcept;
    /// Shares or copies the content of `from`. Both are initialised.
    void copy_from(message& from) noexcept;

    std::byte* data() noexcept { return body() == inlined ? inlined_ : outside_body().data; }
    std::size_t size() const noexcept
    {
        return body() == inlined ? inlined_size_ : outside_body().size;
    }
    bool more() const noexcept { return more_; }
    bool shared() const noexcept;
    /// Does it lie in memory that the application has given?
    bool user_owned() const noexcept
    {
        return body() == counted && outside_body().owner->user_owned;
    }
    const core::metadata* properties() const noexcept { return properties_; }
    /// As a part to be sent.
    core::frame as_frame(bool more) noexcept
    {
        return {data(), size(), body() == counted ? outside_body().owner : nullptr,
                more ? engine::zmtp3::flag_more : std::uint8_t{0}};
    }

    /// The peer it came from or goes to, with SERVER and PEER; 0 = none.
    std::uint32_t routing_id() const noexcept { return routing_id_; }
    void set_routing_id(std::uint32_t routing_id) noexcept { routing_id_ = routing_id; }
    /// At most ZMQ_GROUP_MAX_LENGTH bytes; terminated by a NUL that is not counted.
    std::string_view group() const noexcept;
    /// False if memory is exhausted: nothing has changed then.
    bool set_group(std::string_view group) noexcept;

private:
    // What kind_ is made of.
    enum : std::uint8_t {
        inlined = 0,
        counted = 1,
        constant = 2,
        body_bits = 3,
        outside_group = 4 ///< the group has a block of its own
    };
    static constexpr std::uint16_t live_mark = 0x7a6c;
    /// Groups up to this many bytes lie in the message itself.
    static constexpr std::size_t inline_group_bytes = 13;
    static constexpr std::size_t group_block_at = 6; ///< in group_: aligned as a pointer

    struct outside {
        std::byte* data;
        std::size_t size;
        base::buffer* owner;
    };

    std::uint8_t body() const noexcept { return kind_ & body_bits; }
    base::buffer* group_block() const noexcept
    {
        base::buffer* block;
        std::memcpy(&block, group_ + group_block_at, sizeof block);
        return block;
    }
    // In the block, to which the message takes over a reference, or without one in itself.
    void hold_copy(base::buffer* block, const std::byte* data, std::size_t bytes,
                   bool more) noexcept
    {
        close();
        init_empty();
        std::byte* to = inlined_;
        if (block) {
            to = block->data;
            set_outside(counted, {to, bytes, block});
        } else {
            inlined_size_ = static_cast<std::uint8_t>(bytes);
        }
        if (bytes) // memcpy must not see null
            std::memcpy(to, data, bytes);
        more_ = more;
    }
    void drop_group() noexcept;
    void close_outside() noexcept;

    const outside& outside_body() const noexcept
    {
        return *std::launder(reinterpret_cast<const outside*>(inlined_));
    }
    void set_outside(std::uint8_t kind, const outside& body) noexcept
    {
        kind_ = kind;
        new (inlined_) outside(body);
    }

    const core::metadata* properties_;
    alignas(outside) std::byte inlined_[inline_bytes]; ///< or the storage of an `outside`
    bool more_;
    std::uint16_t mark_;
    std::uint32_t routing_id_;
    std::uint8_t kind_;
    std::uint8_t inlined_size_;
    char group_[inline_group_bytes + 1]; ///< text with a NUL; or a pointer to a buffer with both
};

static_assert(sizeof(message) == sizeof(zmq_msg_t));

} // namespace zlink::api
