// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

namespace zlink::base {

/// How long to wait, in whatever is counted, before something is tried again that does not always
/// pay: as short as it may be once it has paid, twice as long each time that it has not.
///
/// The rules that tune themselves use it to try their alternative ever less often where it is no
/// gain.
///
/// Thread safety: one thread at a time.
template <unsigned shortest, unsigned longest>
class trial_interval {
public:
    unsigned length() const noexcept { return length_; }
    /// What was tried has paid. Returns the new length.
    unsigned reset() noexcept { return length_ = shortest; }
    /// It was tried in vain. Returns the new length.
    unsigned lengthen() noexcept { return length_ = std::min(length_ * 2, longest); }

private:
    unsigned length_ = shortest;
};

} // namespace zlink::base
