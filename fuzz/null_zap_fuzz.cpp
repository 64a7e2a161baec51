// SPDX-License-Identifier: Apache-2.0
// Input: setup and acts (see mechanism_fuzz.hpp) for a side that speaks NULL.

#include "engine/handshake/mechanisms/null.hpp"
#include "mechanism_fuzz.hpp"

namespace {

using namespace zlink;
using namespace zlink::fuzz;

class null_judge final : public judge {
public:
    using judge::judge;

    bool accept(byte_view body) override
    {
        const auto command = engine::parse_command(body);
        if (!command || command->name != "READY" || is_received_)
            return false;
        fuzz_check(is_admitted());
        is_received_ = take_metadata(command->data, known());
        return is_received_;
    }
    void sent(byte_view body) override
    {
        fuzz_check(is_admitted() && !is_sent_);
        fuzz_check(std::ranges::equal(body, body_of("READY", local_metadata())));
        is_sent_ = true;
    }
    bool is_ready() const override { return is_sent_ && is_received_; }

private:
    bool is_sent_ = false;
    bool is_received_ = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    input from(std::as_bytes(std::span(data, size)));
    const setup how(from.byte());
    const auto asked =
        how.is_unasked ? nullptr : std::make_shared<acted_authenticator>(how.socket_type);
    if (asked)
        asked->expected = {"NULL"};
    null_judge judge(how, asked);
    // An answer before everything else is there when the handler is asked.
    act first = next_act(from);
    if (asked && first.what == act::answer)
        asked->reply(answer_parts(input(first.data)));
    if (asked && first.what == act::reply)
        asked->reply(reply_parts(input(first.data)));
    conversation talk(how, std::make_unique<engine::null_mechanism>(asked), judge, asked);
    for (talk.perform(first); !from.empty();)
        talk.perform(next_act(from));
    return 0;
}
