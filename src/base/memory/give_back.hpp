// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace zlink::base {

/// Empties a vector and gives its memory back, which neither clear() nor `vector = {}` does.
///
/// Thread safety: that of the vector. Errors: none.
template <class T>
void give_back(std::vector<T>& memory) noexcept
{
    memory = std::vector<T>();
}

} // namespace zlink::base
