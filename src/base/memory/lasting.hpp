// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zlink::base {

/// A static object that is never destroyed: threads may use it that outlive the end of main(). It
/// needs no memory but its own, so to make it cannot fail, unless the value's constructor throws.
template <class T>
union lasting {
    constexpr lasting() : value() {}
    ~lasting() {}
    T value;
};

} // namespace zlink::base
