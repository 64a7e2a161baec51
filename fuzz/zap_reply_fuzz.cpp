// SPDX-License-Identifier: Apache-2.0
// Input: setup, of which the bits of pieces count as no more than the name of a mechanism, then the
// parts of a reply of a handler of ZAP (see reply_parts() in mechanism_fuzz.hpp). They are also
// what a peer presents.

#include "mechanism_fuzz.hpp"

namespace {

using namespace zlink;
using namespace zlink::fuzz;

bool are_same(const engine::verdict& a, const engine::verdict& b)
{
    return a.refusal == b.refusal && a.user_id == b.user_id && a.properties == b.properties;
}

void check_request(std::string_view mechanism, const std::vector<std::string>& presented)
{
    const std::vector<std::string_view> parts(presented.begin(), presented.end());
    const auto request =
        engine::zap::request_parts({"domain", "id"}, {mechanism, "192.0.2.1", parts});
    std::vector<std::string_view> expected{"", "1.0", "1", "domain", "192.0.2.1", "id", mechanism};
    expected.insert(expected.end(), parts.begin(), parts.end());
    fuzz_check(request == expected);
}

// What becomes of the reply, whether it comes before or after ask() returns.
void check_admission(const setup& how, const std::vector<std::string>& parts, bool is_early)
{
    const auto asked = std::make_shared<acted_authenticator>(how.socket_type);
    asked->expected = {"NULL"};
    {
        engine::admission question(asked);
        int answers = 0;
        question.on_answered([&answers] { ++answers; });
        if (is_early)
            asked->reply(parts);
        fuzz_check(!question.was_asked() && !question.is_granted());
        question.ask(
            {.local = how.local(),
             .remote = {},
             .peer_reason = {},
             .connection = [] { return transport::stream_info{.peer_address = "192.0.2.1"}; }},
            "NULL");
        fuzz_check(question.was_asked() && question.is_waiting() != is_early);
        if (!is_early)
            asked->reply(parts);
        fuzz_check(answers == (is_early ? 0 : 1) && !question.is_waiting());
        fuzz_check(question.is_granted() == asked->has_granted());
        fuzz_check(question.refusal() == asked->refusal());

        byte_vector error;
        fuzz_check(question.next_error_command(error) == !asked->told_refusal().empty());
        fuzz_check(error.empty() == asked->told_refusal().empty());
        fuzz_check(!question.next_error_command(error));
        if (question.is_granted()) {
            engine::remote_peer remote;
            remote.properties = {{"User-Id", "somebody else"}};
            question.tell(remote);
            auto expected = asked->known();
            expected.push_back({"User-Id", "somebody else"});
            fuzz_check(remote.properties == expected);
        }
    }
    fuzz_check(asked->was_cancelled());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    input from(std::as_bytes(std::span(data, size)));
    const setup how(from.byte());
    const auto parts = reply_parts(input(from.rest()));
    const engine::verdict verdict = engine::zap::read_reply(parts);
    fuzz_check(are_same(verdict, verdict_of(parts)));
    fuzz_check(verdict.refusal != engine::handshake_error::none ||
               (parts.size() == engine::zap::reply_parts && parts[3] == "200"));
    check_request(how.piece_bytes == 1 ? "CURVE" : "PLAIN", parts);
    check_admission(how, parts, how.is_unasked);
    return 0;
}
