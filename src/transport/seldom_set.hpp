// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/lasting.hpp"

#include <memory>

namespace zlink::transport {

/// Settings that few sockets have: none of them costs a pointer, and copies share them until one
/// is changed.
/// Thread safety: distinct objects: safe.
template <class Settings>
class seldom_set {
public:
    const Settings& operator*() const noexcept
    {
        static const base::lasting<Settings> defaults;
        return settings_ ? *settings_ : defaults.value;
    }
    const Settings* operator->() const noexcept { return &**this; }
    bool operator==(const seldom_set& other) const noexcept { return **this == *other; }
    /// To be changed. Throws std::bad_alloc.
    Settings& edit()
    {
        if (!settings_ || settings_.use_count() != 1)
            settings_ = std::make_shared<Settings>(**this);
        return *settings_;
    }

private:
    std::shared_ptr<Settings> settings_;
};

} // namespace zlink::transport
