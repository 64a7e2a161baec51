// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <map>

#include "soak_stage.hpp"
#include "stress/no_loss_payload.hpp"

namespace zlink::test {
namespace {

// In the stream there is one message after the other, each behind its size.
using size_field = std::uint32_t;
constexpr unsigned number_bits = 36;

std::uint64_t packed(message_key key)
{
    return (std::uint64_t{key.stream} << number_bits) | key.number;
}

std::string bytes_of(message_key key)
{
    const auto size = static_cast<size_field>(payload_header_bytes + mix(packed(key)) % 4000);
    std::string bytes(sizeof size + size, '\0');
    std::memcpy(bytes.data(), &size, sizeof size);
    fill_payload(reinterpret_cast<unsigned char*>(bytes.data()) + sizeof size, size, packed(key));
    return bytes;
}

/// Takes the first message away, if it is whole.
std::optional<message_key> take_message(std::string& bytes)
{
    size_field size = 0;
    if (bytes.size() < sizeof size)
        return {};
    std::memcpy(&size, bytes.data(), sizeof size);
    if (bytes.size() < sizeof size + payload_header_bytes || bytes.size() < sizeof size + size)
        return {};
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data() + sizeof size, sizeof number);
    const message_key key{static_cast<std::uint32_t>(number >> number_bits),
                          number & ((std::uint64_t{1} << number_bits) - 1)};
    if (bytes.compare(0, sizeof size + size, bytes_of(key)) != 0)
        throw crowd_failure("wrong: " + text_of(key) + " is not what was sent");
    bytes.erase(0, sizeof size + size);
    return key;
}

void receive_all(soak_stage& stage, soak_record& record, test_socket socket)
{
    soak_turns pauses(stage, soak_break::paused);
    std::map<std::string, std::string> waiting; // by the peer's id
    while (stage.phase() != soak_phase::ended) {
        record.state = "receiving";
        if (const auto id = receive_part(socket)) {
            const arrived_part piece = receive_next_part(socket);
            std::string& bytes = waiting[id->bytes];
            if (piece.bytes.empty()) // it has come, or gone
                waiting.erase(id->bytes);
            else
                bytes += piece.bytes;
            while (const auto key = piece.bytes.empty() ? std::nullopt : take_message(bytes))
                stage.ledger().arrived(key->stream, key->number, 0, 0);
        }
        if (const soak_breaking now = pauses.due()) {
            record.state = "pausing";
            stage.nap(std::chrono::milliseconds(stage.random(250)));
        }
    }
}

/// @return false if it has left before the cell settled.
bool send_stream(soak_stage& stage, soak_record& record)
{
    test_socket socket = stage.open_connecting(ZMQ_STREAM);
    socket.connect(stage.place());
    record.state = "connecting";
    std::optional<arrived_part> id;
    while (!(id = receive_part(socket)))
        stage.look();
    receive_next_part(socket);
    soak_sender sender(stage, record, stage.ledger().open_stream(1), [&](message_key key) {
        if (zmq_send(socket, id->bytes.data(), id->bytes.size(), ZMQ_SNDMORE) < 0)
            return false;
        send_word(socket, bytes_of(key));
        return true;
    });
    const stopwatch age;
    const long life_ms = 30 + static_cast<long>(stage.random(200));
    const bool leaves = stage.cell().breaks == soak_break::leaving;
    while (stage.phase() == soak_phase::working) {
        record.state = "sending";
        sender.try_next();
        if (leaves && age.elapsed_ms() > life_ms) {
            record.state = "closing";
            stage.ledger().note_break();
            socket.close();
            return false;
        }
    }
    sender.settle();
    socket.close();
    return true;
}

} // namespace

void launch_bytes(soak_stage& stage)
{
    const auto bound = std::make_shared<test_socket>(stage.open_bound(ZMQ_STREAM));
    stage.bind(*bound);
    stage.launch("receiver", [&stage, bound](soak_record& record) {
        receive_all(stage, record, std::move(*bound));
    });
    const int peers = 1 + static_cast<int>(stage.random(3));
    for (int peer = 0; peer < peers; ++peer) {
        stage.expect_sender();
        stage.launch("sender", [&stage](soak_record& record) {
            while (!send_stream(stage, record)) {
            }
            stage.sender_is_done();
        });
    }
}

} // namespace zlink::test
