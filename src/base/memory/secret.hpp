// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>

namespace zlink::base {

/// Overwrites bytes in a way that is not optimised away.
void wipe(void* bytes, std::size_t size) noexcept;

/// Memory for keys and passwords: it is locked, so that it is never written to swap space, and left
/// out of core dumps, both where the system allows; and it is wiped before it is given back.
/// Small blocks share pages.
///
/// Thread safety: any thread.
/// Errors: std::bad_alloc.
class secret_memory {
public:
    /// The largest block.
    static constexpr std::size_t max_bytes = 512;
    /// `bytes` zeros, aligned for any fundamental type.
    static void* allocate(std::size_t bytes);
    static void release(void* block, std::size_t bytes) noexcept;
};

/// One object of a plain type in secret memory, with one owner.
template <class T>
class secret_object {
public:
    static_assert(std::is_trivially_destructible_v<T> && sizeof(T) <= secret_memory::max_bytes);

    secret_object() : object_(new (secret_memory::allocate(sizeof(T))) T{}) {}
    ~secret_object() { secret_memory::release(object_, sizeof(T)); }
    secret_object(const secret_object&) = delete;
    secret_object& operator=(const secret_object&) = delete;

    T& operator*() const noexcept { return *object_; }
    T* operator->() const noexcept { return object_; }

private:
    T* const object_;
};

/// Bytes that nobody else is to see, in secret memory. They never change; copies share them.
///
/// Thread safety: distinct objects: safe.
class secret {
public:
    secret() noexcept = default;
    /// At most secret_memory::max_bytes.
    explicit secret(std::span<const std::byte> bytes);
    explicit secret(std::string_view text) : secret(std::as_bytes(std::span(text))) {}

    /// Are they the same bytes in memory, or none? Others are not looked at, so nobody learns from
    /// the time that takes.
    bool operator==(const secret& other) const noexcept { return block_ == other.block_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    std::span<const std::byte> bytes() const noexcept
    {
        return {static_cast<const std::byte*>(block_.get()), size_};
    }
    std::string_view text() const noexcept
    {
        return {static_cast<const char*>(block_.get()), size_};
    }

private:
    std::shared_ptr<void> block_;
    std::size_t size_ = 0;
};

} // namespace zlink::base
