// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/authenticator.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace zlink::test {

/// An authenticator whose answers the test gives.
class asked_by_test final : public engine::authenticator {
public:
    void ask(const engine::credentials& shown, std::function<void(engine::verdict)> told) override
    {
        presented = {std::string(shown.mechanism)};
        presented.insert(presented.end(), shown.parts.begin(), shown.parts.end());
        decided_ = std::move(told);
    }
    void cancel() noexcept override { cancelled = true; }
    void answer(engine::verdict verdict) { std::exchange(decided_, nullptr)(std::move(verdict)); }

    std::vector<std::string> presented; ///< the mechanism, then the credentials
    bool cancelled = false;

private:
    std::function<void(engine::verdict)> decided_;
};

} // namespace zlink::test
