// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/wait.hpp"

namespace zlink::test {

/// The parts of a message.
using parts = std::vector<std::string>;

/// A call of the C API failed that the test needed to succeed.
class call_failed : public std::runtime_error {
public:
    /// @param call what was called; the text of zmq_errno() is appended.
    explicit call_failed(const std::string& call);
    /// The error number at the time of the failure.
    int code() const { return code_; }

private:
    int code_;
};

/// Owns a context; terminates it in the destructor, after all sockets declared later are closed.
class test_context {
public:
    test_context();
    ~test_context();
    test_context(const test_context&) = delete;
    test_context& operator=(const test_context&) = delete;

    operator void*() const { return handle_; }
    /// zmq_ctx_term, repeated when a signal interrupts it. The handle is gone afterwards.
    void term();

private:
    void* handle_;
};

/// Owns a socket. The helpers throw call_failed where the C API reports an error; tests that want
/// to see the error call the C API with the handle, to which this class converts.
class test_socket {
public:
    test_socket() = default;
    /// A socket that cannot hang a failing test: LINGER 0, both timeouts `patience`.
    test_socket(void* context, int type);
    /// A socket with all options at their defaults.
    static test_socket with_defaults(void* context, int type);
    ~test_socket();
    test_socket(test_socket&& other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)), context_(other.context_)
    {}
    test_socket& operator=(test_socket&& other) noexcept;

    operator void*() const { return handle_; }
    /// That it was made in.
    void* context() const { return context_; }
    /// Gives the handle away; the caller closes it.
    void* release() { return std::exchange(handle_, nullptr); }
    void close();

    /// Like connect(), sets before what a link_in_use asks for.
    void bind(const std::string& address);
    /// The same, but returns false for an error.
    bool try_bind(const std::string& address);
    /// Binds a wildcard or name and returns the address peers connect to.
    std::string bind_and_resolve(const std::string& address);
    void connect(const std::string& address);
    void disconnect(const std::string& address);
    void unbind(const std::string& address);
    std::string last_endpoint() const { return get_text(ZMQ_LAST_ENDPOINT); }

    void set(int option, int value);
    void set(int option, std::string_view bytes);
    int get(int option) const;
    /// A string option without its terminating NUL.
    std::string get_text(int option) const;
    int events() const { return get(ZMQ_EVENTS); }

    void send(std::string_view body, int flags = 0);
    void send_parts(const parts& message);
    /// Sends without waiting. @return false for EAGAIN.
    bool try_send(std::string_view body);
    /// Sends without waiting until the message does not fit. @return how many were accepted, at
    /// most `limit`.
    int send_until_full(std::string_view body, int limit);
    /// Receives one part of any size.
    std::string recv(int flags = 0);
    /// Receives all parts of one message.
    parts recv_parts();
    /// Receives a message if there is one within `window`.
    std::optional<parts> try_recv_parts(std::chrono::milliseconds window = quiet_window);

    bool readable(std::chrono::milliseconds window = patience) const;
    bool writable(std::chrono::milliseconds window = patience) const;

private:
    void* handle_ = nullptr;
    void* context_ = nullptr;
};

/// zmq_poll on one socket, repeated after signals. @return the events seen, 0 when the time was up.
int poll_socket(void* socket, short events, std::chrono::milliseconds window);

} // namespace zlink::test
