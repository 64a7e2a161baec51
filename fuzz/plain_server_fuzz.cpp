// SPDX-License-Identifier: Apache-2.0
// Input: setup and acts (see mechanism_fuzz.hpp) for a server of PLAIN. It always asks.

#include "engine/handshake/mechanisms/plain.hpp"
#include "mechanism_fuzz.hpp"

namespace {

using namespace zlink;
using namespace zlink::fuzz;

class plain_server_judge final : public judge {
public:
    using judge::judge;

    bool accept(byte_view body) override
    {
        const auto command = engine::parse_command(body);
        if (command && command->name == "HELLO" && step_ == step::await_hello)
            return accept_hello(command->data);
        if (!command || command->name != "INITIATE" || step_ != step::await_initiate)
            return false;
        fuzz_check(asked_->has_granted());
        step_ = step::send_ready;
        return take_metadata(command->data, known());
    }
    void sent(byte_view body) override
    {
        fuzz_check(asked_->has_granted());
        if (step_ == step::send_welcome) {
            fuzz_check(std::ranges::equal(body, body_of("WELCOME")));
            step_ = step::await_initiate;
        } else {
            fuzz_check(step_ == step::send_ready);
            fuzz_check(std::ranges::equal(body, body_of("READY", local_metadata())));
            step_ = step::ready;
        }
    }
    bool is_ready() const override { return step_ == step::ready; }

private:
    enum class step : std::uint8_t { await_hello, send_welcome, await_initiate, send_ready, ready };

    bool accept_hello(byte_view data)
    {
        asked_->expected = {"PLAIN"};
        input from(data);
        for (int text = 0; text < 2; ++text) {
            if (from.empty())
                return false;
            const std::size_t bytes = from.byte();
            const byte_view taken = from.take(bytes);
            if (taken.size() < bytes)
                return false;
            asked_->expected.emplace_back(engine::as_text(taken));
        }
        step_ = step::send_welcome;
        return from.empty();
    }

    step step_ = step::await_hello;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    input from(std::as_bytes(std::span(data, size)));
    const setup how(from.byte());
    const auto asked = std::make_shared<acted_authenticator>(how.socket_type);
    plain_server_judge judge(how, asked);
    conversation talk(how, std::make_unique<engine::plain_server>(asked), judge, asked);
    while (!from.empty())
        talk.perform(next_act(from));
    return 0;
}
