// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::core {

/// What is known of the peer a message came from. Immutable once shared; counted by hand because
/// messages (plain 64-byte blocks) refer to it.
class metadata {
public:
    explicit metadata(const std::vector<std::pair<std::string, std::string>>& properties,
                      int descriptor);
    metadata(const metadata&) = delete;
    metadata& operator=(const metadata&) = delete;

    /// The value of the first property of that name; null if there is none. Ends with a NUL.
    const char* find(std::string_view name) const noexcept;
    int descriptor() const noexcept { return descriptor_; }

    void add_references(int count) const noexcept
    {
        references_.fetch_add(count, std::memory_order_relaxed);
    }
    void drop_references(int count) const noexcept
    {
        if (references_.fetch_sub(count, std::memory_order_acq_rel) == count)
            destroy();
    }

private:
    /// Where the texts of a property lie. Each value ends with a NUL.
    struct place {
        std::uint32_t name;
        std::uint32_t name_bytes;
        std::uint32_t value;
    };

    ~metadata() = default;
    [[gnu::noinline]] void destroy() const noexcept { delete this; }
    std::string_view name_at(std::uint32_t index) const noexcept;

    // In the order of the names: the peer chooses how many there are, and messages are asked for
    // them one by one. All in one piece, as each connection has it: the places, then the texts.
    std::unique_ptr<char[]> properties_;
    std::uint32_t count_ = 0;
    const int descriptor_;
    mutable std::atomic<int> references_{1};
};

/// Owning reference to metadata.
class metadata_ref {
public:
    metadata_ref() noexcept = default;
    /// Takes over a reference the caller owns.
    explicit metadata_ref(const metadata* adopted) noexcept : data_(adopted) {}
    metadata_ref(const metadata_ref& other) noexcept : data_(other.data_)
    {
        if (data_)
            data_->add_references(1);
    }
    metadata_ref& operator=(metadata_ref other) noexcept
    {
        std::swap(data_, other.data_);
        return *this;
    }
    ~metadata_ref()
    {
        if (data_)
            data_->drop_references(1);
    }
    const metadata* get() const noexcept { return data_; }

private:
    const metadata* data_ = nullptr;
};

/// Gives out references to metadata, one per message received, without an atomic operation for
/// each. Thread safety: one thread at a time; what was given out may be dropped in any.
class metadata_stock {
public:
    metadata_stock() noexcept = default;
    explicit metadata_stock(metadata_ref data) noexcept : data_(std::move(data)) {}
    metadata_stock(metadata_stock&& other) noexcept
        : data_(std::move(other.data_)), stock_(std::exchange(other.stock_, 0))
    {}
    metadata_stock& operator=(metadata_stock other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(stock_, other.stock_);
        return *this;
    }
    ~metadata_stock()
    {
        if (stock_)
            data_.get()->drop_references(stock_);
    }

    /// A reference the caller owns, or null if there is no metadata.
    const metadata* share() const noexcept
    {
        const metadata* const data = data_.get();
        if (!data)
            return nullptr;
        if (stock_ == 0) {
            data->add_references(tuning::fan_out::references_at_once);
            stock_ = tuning::fan_out::references_at_once;
        }
        --stock_;
        return data;
    }
    const metadata_ref& get() const noexcept { return data_; }

private:
    metadata_ref data_;
    mutable int stock_ = 0; ///< references to `data_` that belong to nobody yet
};

} // namespace zlink::core
