// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/handshake/handshake.hpp"
#include "support/scarce_memory.hpp"

/// Test support: handshakes as scripts of bytes.
///
/// A script lists what the peer sends and what must come out after it. One `ends_*` call then plays
/// it in every way the network could: step by step, in one piece, byte by byte, stopping at every
/// position, with every byte damaged, and with no memory for each allocation in turn.
///
/// Thread safety: none. Errors: GoogleTest failures.
namespace zlink::test {

/// Bytes of a hex literal; blanks are for the eye.
inline std::vector<std::byte> hex(std::string_view text)
{
    std::vector<std::byte> bytes;
    int high = -1;
    for (const char c : text) {
        if (c == ' ') {
            continue;
        }
        const auto digit = std::string_view("0123456789abcdef").find(c);
        if (digit == std::string_view::npos) {
            ADD_FAILURE() << "not a hex digit: " << c;
            return {};
        }
        if (high < 0) {
            high = static_cast<int>(digit);
        } else {
            bytes.push_back(static_cast<std::byte>(high * 16 + static_cast<int>(digit)));
            high = -1;
        }
    }
    EXPECT_LT(high, 0) << "odd number of hex digits: " << text;
    return bytes;
}

inline std::string to_hex(std::span<const std::byte> bytes)
{
    std::string text;
    for (const auto byte : bytes) {
        text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
        text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

/// Hex of plain text, to build literals from.
inline std::string text_hex(std::string_view text)
{
    return to_hex(engine::as_bytes(text));
}

/// One handshake, told from the peer's side.
class handshake_script {
public:
    using factory = std::function<std::unique_ptr<engine::handshake>()>;
    using check = std::function<void(const engine::handshake&)>;

    explicit handshake_script(factory make) : make_(std::move(make)) {}
    explicit handshake_script(engine::local_peer local)
        : handshake_script([local] { return std::make_unique<engine::handshake>(local); })
    {}

    /// These bytes, and no others, are to be sent by now.
    handshake_script& expect(std::string_view hex_bytes) { return add(true, hex(hex_bytes)); }

    /// The peer sends these bytes.
    handshake_script& feed(std::string_view hex_bytes) { return add(false, hex(hex_bytes)); }

    /// Plays the script; `then` inspects every handshake that went through. After the last byte,
    /// and not before, the handshake must be done.
    void ends_done(const check& then = {}) const { play(engine::handshake_error::none, then); }

    /// Plays the script; the last byte, and none before it, must make the handshake fail.
    void ends_failed(engine::handshake_error error, const check& then = {}) const
    {
        play(error, then);
    }

private:
    struct step {
        bool is_output;
        std::vector<std::byte> bytes;
    };

    handshake_script& add(bool is_output, std::vector<std::byte> bytes)
    {
        engine::append_bytes(is_output ? all_output_ : all_input_, bytes);
        steps_.push_back({is_output, std::move(bytes)});
        return *this;
    }

    void play(engine::handshake_error error, const check& then) const
    {
        play_steps(all_input_.size(), error, then);
        play_steps(1, error, then);
        play_in_one_piece(error, then);
        stop_everywhere();
        damage_everywhere();
        starve_everywhere(error, then);
    }

    std::unique_ptr<engine::handshake> started() const
    {
        auto handshake = make_();
        handshake->start();
        return handshake;
    }

    static void check_end(engine::handshake& handshake, engine::handshake_error error,
                          const check& then)
    {
        EXPECT_EQ(handshake.error(), error);
        EXPECT_EQ(handshake.failed(), error != engine::handshake_error::none);
        EXPECT_EQ(handshake.done(), error == engine::handshake_error::none);
        EXPECT_EQ(handshake.buffered_bytes(), 0u);
        EXPECT_EQ(handshake.feed(hex("00ff")), 0u) << "bytes after the end belong to others";
        if (then) {
            then(handshake);
        }
    }

    void play_steps(std::size_t piece_bytes, engine::handshake_error error, const check& then) const
    {
        SCOPED_TRACE("steps in pieces of " + std::to_string(piece_bytes));
        auto handshake = started();
        for (const auto& step : steps_) {
            if (step.is_output) {
                EXPECT_EQ(to_hex(handshake->output()), to_hex(step.bytes));
                // In two parts, as a socket may take them.
                handshake->consume_output(step.bytes.size() / 2);
                handshake->consume_output(step.bytes.size() - step.bytes.size() / 2);
                continue;
            }
            std::span<const std::byte> rest(step.bytes);
            while (!rest.empty()) {
                const auto piece = rest.first(std::min(piece_bytes, rest.size()));
                ASSERT_EQ(handshake->feed(piece), piece.size());
                rest = rest.subspan(piece.size());
            }
        }
        EXPECT_EQ(to_hex(handshake->output()), "") << "output the script does not expect";
        check_end(*handshake, error, then);
    }

    void play_in_one_piece(engine::handshake_error error, const check& then) const
    {
        SCOPED_TRACE("in one piece, with bytes of the traffic phase behind it");
        auto handshake = started();
        auto input = all_input_;
        engine::append_bytes(input, hex("000568656c6c6f"));
        EXPECT_EQ(handshake->feed(input), all_input_.size());
        EXPECT_EQ(to_hex(handshake->output()), to_hex(all_output_));
        check_end(*handshake, error, then);
    }

    void stop_everywhere() const
    {
        for (std::size_t stop = 0; stop < all_input_.size(); ++stop) {
            SCOPED_TRACE("the peer stops after " + std::to_string(stop) + " bytes");
            auto handshake = started();
            ASSERT_EQ(handshake->feed(std::span(all_input_).first(stop)), stop);
            EXPECT_FALSE(handshake->done());
            EXPECT_FALSE(handshake->failed());
            ASSERT_LE(handshake->output().size(), all_output_.size());
            EXPECT_TRUE(std::equal(handshake->output().begin(), handshake->output().end(),
                                   all_output_.begin()));
        }
    }

    /// Whatever one damaged byte does, bytes are only left over at an end and memory is bounded.
    void damage_everywhere() const
    {
        const std::vector<std::byte> filler(engine::max_handshake_command_bytes + 100);
        for (std::size_t at = 0; at < all_input_.size(); ++at) {
            for (const unsigned mask : {0xffu, 1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u}) {
                SCOPED_TRACE("byte " + std::to_string(at) + " xor " + std::to_string(mask));
                auto input = all_input_;
                input[at] ^= static_cast<std::byte>(mask);
                auto handshake = started();
                offer(*handshake, input);
                offer(*handshake, filler);
            }
        }
    }

    /// What finds no memory throws, and the connection ends with it, or goes on as if it had found
    /// some.
    void starve_everywhere([[maybe_unused]] engine::handshake_error error,
                           [[maybe_unused]] const check& then) const
    {
#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
        bool refused = true;
        for (long before = 0; refused; ++before) {
            SCOPED_TRACE("no memory after " + std::to_string(before) + " allocations");
            auto handshake = make_();
            std::size_t taken = 0;
            bool thrown = false;
            {
                const memory_but_once scarce(before);
                try {
                    handshake->start();
                    taken = handshake->feed(all_input_);
                } catch (const std::bad_alloc&) {
                    thrown = true;
                }
                refused = scarce.was_refused();
            }
            if (thrown) {
                ASSERT_TRUE(refused);
                continue;
            }
            ASSERT_EQ(taken, all_input_.size());
            ASSERT_EQ(to_hex(handshake->output()), to_hex(all_output_));
            check_end(*handshake, error, then);
        }
#endif
    }

    static void offer(engine::handshake& handshake, std::span<const std::byte> bytes)
    {
        const auto taken = handshake.feed(bytes);
        ASSERT_LE(taken, bytes.size());
        if (taken < bytes.size()) {
            EXPECT_TRUE(handshake.done() != handshake.failed());
        }
        EXPECT_LE(handshake.buffered_bytes(),
                  engine::max_handshake_command_bytes + engine::zmtp3::long_header_bytes);
        EXPECT_LE(handshake.output().size(),
                  2 * engine::max_handshake_command_bytes + engine::greeting_bytes);
        EXPECT_LE(handshake.peer_reason().size(), 255u);
    }

    factory make_;
    std::vector<step> steps_;
    std::vector<std::byte> all_input_;
    std::vector<std::byte> all_output_;
};

} // namespace zlink::test
