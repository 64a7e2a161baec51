// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::core {

/// What is known of the peer a message came from. Immutable once shared; counted by hand because
/// messages (plain 64-byte blocks) refer to it.
class metadata {
public:
    explicit metadata(std::vector<std::pair<std::string, std::string>> properties, int descriptor)
        : properties_(std::move(properties)), descriptor_(descriptor)
    {}
    metadata(const metadata&) = delete;
    metadata& operator=(const metadata&) = delete;

    /// The value of the first property of that name; null if there is none. Ends with a NUL.
    const char* find(std::string_view name) const noexcept
    {
        for (const auto& [key, value] : properties_)
            if (key == name)
                return value.c_str();
        return nullptr;
    }
    int descriptor() const noexcept { return descriptor_; }

    void add_reference() const noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void drop_reference() const noexcept
    {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

private:
    ~metadata() = default;

    const std::vector<std::pair<std::string, std::string>> properties_;
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
            data_->add_reference();
    }
    metadata_ref& operator=(metadata_ref other) noexcept
    {
        std::swap(data_, other.data_);
        return *this;
    }
    ~metadata_ref()
    {
        if (data_)
            data_->drop_reference();
    }
    const metadata* get() const noexcept { return data_; }

private:
    const metadata* data_ = nullptr;
};

} // namespace zlink::core
