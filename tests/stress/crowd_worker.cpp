// SPDX-License-Identifier: Apache-2.0
#include "crowd_worker.hpp"

#include <cstdio>

namespace zlink::test {

void send_stamp(void* socket, reply_stamp stamp)
{
    send_word(socket, std::to_string(stamp.worker) + ":" + std::to_string(stamp.number),
              ZMQ_SNDMORE);
}

reply_stamp parse_stamp(const arrived_part& part)
{
    reply_stamp stamp;
    unsigned long long number = 0;
    if (!part.more || std::sscanf(part.bytes.c_str(), "%u:%llu", &stamp.worker, &number) != 2)
        throw crowd_failure("a reply begins with " + std::to_string(part.bytes.size()) +
                            " bytes that no worker has sent");
    stamp.number = number;
    return stamp;
}

void rising_order::note(std::uint32_t stream, std::uint64_t number)
{
    std::uint64_t& next = next_[stream];
    if (number < next)
        throw crowd_failure(text_of({stream, number}) + " has come after " +
                            text_of({stream, next - 1}));
    next = number + 1;
}

crowd_worker::crowd_worker(crowd_stage& stage, worker_place& place, int type)
    : crowd_worker(stage, place, type, stage.new_stream())
{}

crowd_worker::crowd_worker(crowd_stage& stage, worker_place& place, int type, std::uint32_t stream)
    : crowd_peer(stage, type, "worker " + std::to_string(stream)),
      place_(place),
      type_(type),
      stream_(stream)
{
    if (type == ZMQ_ROUTER)
        socket_.set(ZMQ_ROUTER_MANDATORY, 1);
    // It drops a reply for which there is no room, and many requests may be waiting.
    if (type == ZMQ_REP)
        socket_.set(ZMQ_SNDHWM, 0);
}

void crowd_worker::begin()
{
    record().state = "working";
    if (const std::string address = place_.address(); !address.empty())
        return socket_.connect(address);
    place_.offers().put({stage_.bind(socket_), [told = told_](std::uint64_t) { *told = true; }});
}

bool crowd_worker::take(int flags)
{
    std::optional<arrived_part> part = receive_part(socket_, flags);
    if (!part)
        return false;
    record().state = "answering";
    if (type_ != ZMQ_REP) {
        // The envelope goes back as it is.
        while (!part->bytes.empty()) {
            if (!part->more)
                complain("an envelope has no end");
            send_word(socket_, part->bytes, ZMQ_SNDMORE);
            part = receive_next_part(socket_);
        }
        send_word(socket_, "", ZMQ_SNDMORE);
        part = receive_next_part(socket_);
    }
    const message_key key = receive_rest(socket_, stage_.cell().body, *part);
    order_.note(key.stream, key.number);
    ++record().received;
    send_stamp(socket_, {stream_, replies_++});
    send_message(socket_, stage_.cell().body, key);
    ++record().sent;
    record().state = "working";
    return true;
}

std::unique_ptr<crowd_peer> crowd_worker::successor()
{
    if (!place_.closing())
        return std::make_unique<crowd_worker>(stage_, place_, type_);
    place_.left();
    return nullptr;
}

} // namespace zlink::test
