// SPDX-License-Identifier: Apache-2.0
// Input: setup and acts (see mechanism_fuzz.hpp) for a client of PLAIN. It never asks.

#include "engine/handshake/mechanisms/plain.hpp"
#include "mechanism_fuzz.hpp"

namespace {

using namespace zlink;
using namespace zlink::fuzz;

class plain_client_judge final : public judge {
public:
    explicit plain_client_judge(const setup& how) : judge(how, nullptr) {}

    bool accept(byte_view body) override
    {
        if (std::ranges::equal(body, body_of("WELCOME")) && step_ == step::await_welcome) {
            step_ = step::send_initiate;
            return true;
        }
        const auto command = engine::parse_command(body);
        if (!command || command->name != "READY" || step_ != step::await_ready ||
            !take_metadata(command->data, {}))
            return false;
        step_ = step::ready;
        return true;
    }
    // The password goes out once, and first.
    void sent(byte_view body) override
    {
        if (step_ == step::send_hello) {
            const byte_view shown = engine::as_bytes("\4name\6secret");
            fuzz_check(std::ranges::equal(body, body_of("HELLO", shown)));
            step_ = step::await_welcome;
        } else {
            fuzz_check(step_ == step::send_initiate);
            fuzz_check(std::ranges::equal(body, body_of("INITIATE", local_metadata())));
            step_ = step::await_ready;
        }
    }
    bool is_ready() const override { return step_ == step::ready; }

private:
    enum class step : std::uint8_t { send_hello, await_welcome, send_initiate, await_ready, ready };

    step step_ = step::send_hello;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    input from(std::as_bytes(std::span(data, size)));
    const setup how(from.byte());
    plain_client_judge judge(how);
    conversation talk(how, std::make_unique<engine::plain_client>("name", base::secret("secret")),
                      judge, nullptr);
    while (!from.empty())
        talk.perform(next_act(from));
    return 0;
}
