// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace zlink::core {

/// A text that does not change and that many refer to, such as the endpoint of a thousand
/// connections.
/// Thread safety: distinct objects: safe, also if they share the text.
class shared_text {
public:
    shared_text() noexcept = default;
    shared_text(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}

    const std::string& get() const noexcept { return text_ ? *text_ : nothing(); }
    operator const std::string&() const noexcept { return get(); }
    operator std::string_view() const noexcept { return get(); }
    bool empty() const noexcept { return get().empty(); }

    friend bool operator==(const shared_text& one, std::string_view other) noexcept
    {
        return one.get() == other;
    }
    friend bool operator==(const shared_text& one, const shared_text& other) noexcept
    {
        return one.text_ == other.text_ || one.get() == other.get();
    }

private:
    static const std::string& nothing() noexcept
    {
        static const std::string empty;
        return empty;
    }

    std::shared_ptr<const std::string> text_;
};

} // namespace zlink::core
