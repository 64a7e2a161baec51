// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/fixture.hpp"

namespace zlink::test {

/// Runs a proxy between two sockets in a thread and closes them at its end.
/// @return the error it ended with, 0 for none.
inline std::future<int> proxy_that_closes(test_socket& front, test_socket& back)
{
    return std::async(std::launch::async, [&] {
        const int result = zmq_proxy(front, back, nullptr);
        const int code = zmq_errno();
        front.close();
        back.close();
        return result == -1 ? code : 0;
    });
}

/// What a proxy is steered by: its control socket, and the one that commands are sent with.
class proxy_reins {
public:
    explicit proxy_reins(test_context& context, int control_type = ZMQ_PAIR)
        : control_(context, control_type), hand_(context, hand_type(control_type))
    {
        if (control_type == ZMQ_SUB)
            control_.set(ZMQ_SUBSCRIBE, "");
        const std::string address = known_address(transport::inproc);
        control_.bind(address);
        hand_.connect(address);
    }

    test_socket& control() { return control_; }
    test_socket& hand() { return hand_; }
    void tell(std::string_view command) { hand_.send(command); }
    std::array<std::uint64_t, 8> statistics()
    {
        tell("STATISTICS");
        const parts reply = hand_.recv_parts();
        std::array<std::uint64_t, 8> numbers{};
        if (reply.size() != numbers.size())
            throw std::runtime_error("statistics have eight numbers");
        for (std::size_t i = 0; i < numbers.size(); ++i)
            std::memcpy(&numbers[i], reply[i].data(), sizeof numbers[i]);
        return numbers;
    }

private:
    static int hand_type(int control_type)
    {
        switch (control_type) {
        case ZMQ_REP:
            return ZMQ_REQ;
        case ZMQ_PULL:
            return ZMQ_PUSH;
        case ZMQ_SUB:
            return ZMQ_PUB;
        default:
            return control_type;
        }
    }

    test_socket control_;
    test_socket hand_;
};

/// A proxy between two bound sockets in a thread of its own.
class running_proxy {
public:
    struct ends {
        int front;
        int back;
        int capture = -1; ///< none
        int control = ZMQ_PAIR;
        int hwm = 1000;
    };

    running_proxy(test_context& context, transport kind, ends types)
        : front_(bound(context, types.front, kind, types.hwm, front_address)),
          back_(bound(context, types.back, kind, types.hwm, back_address)),
          reins_(context, types.control)
    {
        if (types.capture >= 0)
            capture_ = bound(context, types.capture, transport::inproc, types.hwm, capture_address);
        ended_ = std::async(std::launch::async, [this] {
            const int result = zmq_proxy_steerable(front_, back_, capture_, reins_.control());
            return result == 0 ? 0 : zmq_errno();
        });
    }
    ~running_proxy()
    {
        if (ended_.valid() && ended_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
            reins_.tell("TERMINATE");
    }

    int end()
    {
        reins_.tell("TERMINATE");
        return ended_.get();
    }
    std::array<std::uint64_t, 8> statistics() { return reins_.statistics(); }
    test_socket& reins() { return reins_.hand(); }
    std::future<int>& ended() { return ended_; }
    // The proxy's own sockets: for other threads, if their types allow it.
    test_socket& front() { return front_; }
    test_socket& back() { return back_; }
    test_socket& capture() { return capture_; }
    test_socket& control() { return reins_.control(); }

    std::string front_address;
    std::string back_address;
    std::string capture_address;

private:
    static test_socket bound(test_context& context, int type, transport kind, int hwm,
                             std::string& address)
    {
        test_socket socket = test_socket::with_defaults(context, type);
        socket.set(ZMQ_LINGER, 0);
        socket.set(ZMQ_SNDHWM, hwm);
        socket.set(ZMQ_RCVHWM, hwm);
        address = socket.bind_and_resolve(fresh_bind_address(kind));
        return socket;
    }

    test_socket front_;
    test_socket back_;
    test_socket capture_;
    proxy_reins reins_;
    std::future<int> ended_;
};

inline test_socket connected(test_context& context, int type, const std::string& address,
                             int hwm = 1000)
{
    test_socket socket(context, type);
    socket.set(ZMQ_SNDHWM, hwm);
    socket.set(ZMQ_RCVHWM, hwm);
    socket.connect(address);
    return socket;
}

/// Time that processors have spent on this process.
inline double process_cpu_ms()
{
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

} // namespace zlink::test
