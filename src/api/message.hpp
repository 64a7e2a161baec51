// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/frame.hpp"
#include "core/metadata.hpp"

#include <cstddef>
#include <cstdint>
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
    void init_empty() noexcept;
    bool init_size(std::size_t bytes) noexcept;
    bool init_copy(const void* data, std::size_t bytes) noexcept;
    bool init_user(void* data, std::size_t bytes, zmq_free_fn* free, void* hint) noexcept;
    void init_constant(const void* data, std::size_t bytes) noexcept;
    /// A received part: shared if it can be, else copied.
    bool init_received(const core::frame& part, const core::metadata* properties) noexcept;

    /// Gives up the content; the message is uninitialised then.
    void close() noexcept;
    /// Takes over the content of `from`, which becomes empty. Both are initialised.
    void move_from(message& from) noexcept;
    /// Shares or copies the content of `from`. Both are initialised.
    void copy_from(message& from) noexcept;

    std::byte* data() noexcept { return kind_ == kind::inlined ? inlined_ : outside_.data; }
    std::size_t size() const noexcept
    {
        return kind_ == kind::inlined ? inlined_size_ : outside_.size;
    }
    bool more() const noexcept { return more_; }
    bool shared() const noexcept;
    const core::metadata* properties() const noexcept { return properties_; }
    /// As a part to be sent.
    core::frame as_frame(bool more) noexcept;

private:
    enum class kind : std::uint8_t { inlined, counted, constant };
    static constexpr std::uint16_t live_mark = 0x7a6c;

    struct outside {
        std::byte* data;
        std::size_t size;
        base::buffer* owner;
    };

    const core::metadata* properties_;
    union {
        outside outside_;
        std::byte inlined_[40];
    };
    std::uint32_t routing_id_;
    std::uint16_t mark_;
    kind kind_;
    std::uint8_t inlined_size_;
    bool more_;
    std::byte reserved_[7];
};

static_assert(sizeof(message) == sizeof(zmq_msg_t));
static_assert(message::inline_bytes <= 40);

} // namespace zlink::api
