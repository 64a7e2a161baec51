// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif

#include <zmq.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/fixture.hpp"

namespace zlink::test {

/// One event, of either version.
struct told {
    std::uint64_t event = 0;
    std::vector<std::uint64_t> values;
    std::string local;  ///< version 1: the only endpoint
    std::string remote; ///< version 2 only
};

template <class Value>
Value value_at(const std::string& bytes, std::size_t offset = 0)
{
    Value value{};
    if (bytes.size() < offset + sizeof value)
        throw std::runtime_error("frame of an event is too short");
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

inline told decode_1(const parts& frames)
{
    if (frames.size() != 2 || frames[0].size() != 6)
        throw std::runtime_error("not an event of version 1");
    return {
        value_at<std::uint16_t>(frames[0]), {value_at<std::uint32_t>(frames[0], 2)}, frames[1], {}};
}

inline told decode_2(const parts& frames)
{
    if (frames.size() < 4)
        throw std::runtime_error("not an event of version 2");
    const auto count = value_at<std::uint64_t>(frames[1]);
    if (frames.size() != count + 4)
        throw std::runtime_error("event with a wrong number of values");
    told result{value_at<std::uint64_t>(frames[0]), {}, frames[count + 2], frames[count + 3]};
    for (std::size_t i = 0; i < count; ++i)
        result.values.push_back(value_at<std::uint64_t>(frames[i + 2]));
    return result;
}

/// Hears what is told about a socket.
class listening_post {
public:
    listening_post(test_context& context, void* monitored, std::uint64_t events = ZMQ_EVENT_ALL,
                   int version = 1, int type = ZMQ_PAIR)
        : version_(version), address_(known_address(transport::inproc))
    {
        // A library without the draft API has the first one only.
        const int result =
            version == 1 && type == ZMQ_PAIR
                ? zmq_socket_monitor(monitored, address_.c_str(), static_cast<int>(events))
                : zmq_socket_monitor_versioned(monitored, address_.c_str(), events, version, type);
        if (result != 0)
            throw call_failed("zmq_socket_monitor");
        const int own_type = type == ZMQ_PUB ? ZMQ_SUB : type == ZMQ_PUSH ? ZMQ_PULL : ZMQ_PAIR;
        socket_ = test_socket(context, own_type);
        if (own_type == ZMQ_SUB)
            socket_.set(ZMQ_SUBSCRIBE, "");
        socket_.connect(address_);
    }

    told next()
    {
        const parts frames = socket_.recv_parts();
        return version_ == 1 ? decode_1(frames) : decode_2(frames);
    }
    /// The next event, which must be of this kind.
    told expect(std::uint64_t event)
    {
        told result = next();
        EXPECT_EQ(event, result.event);
        return result;
    }
    bool quiet() { return !socket_.readable(quiet_window); }
    test_socket& socket() { return socket_; }
    const std::string& address() const { return address_; }

private:
    int version_;
    std::string address_;
    test_socket socket_;
};

} // namespace zlink::test
