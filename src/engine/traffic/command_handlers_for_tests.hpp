// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/bytes.hpp"
#include "engine/traffic/decoder.hpp"

#include <span>
#include <string>
#include <vector>

namespace zlink::test {

/// Counts the commands that a decoder brings.
class counted_commands final : public engine::command_handler {
public:
    void on_command(std::span<const std::byte>) override { ++count; }
    int count = 0;
};

/// Keeps their bodies.
class noted_commands final : public engine::command_handler {
public:
    void on_command(std::span<const std::byte> body) override
    {
        bodies.emplace_back(engine::as_text(body));
    }
    std::vector<std::string> bodies;
};

} // namespace zlink::test
