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
    /// Was a question asked that has no answer yet?
    bool asks() const noexcept { return decided_ != nullptr; }
    void answer(engine::verdict verdict) { std::exchange(decided_, nullptr)(std::move(verdict)); }

    std::vector<std::string> presented; ///< the mechanism, then the credentials
    bool cancelled = false;

private:
    std::function<void(engine::verdict)> decided_;
};

/// An authenticator that says the same of everybody, at once.
class answering_at_once final : public engine::authenticator {
public:
    explicit answering_at_once(engine::verdict verdict = {}) : verdict_(std::move(verdict)) {}
    void ask(const engine::credentials&, std::function<void(engine::verdict)> told) override
    {
        told(verdict_);
    }
    void cancel() noexcept override {}

private:
    const engine::verdict verdict_;
};

} // namespace zlink::test
