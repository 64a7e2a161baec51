// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace zlink::bench::worker {

/// The measurement cannot go on; what() says why in one line.
struct failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The library does not have what is to be measured.
struct unsupported : failure {
    using failure::failure;
};

/// Throws a failure that names the call and the library's current error.
[[noreturn]] void throw_zmq_error(std::string_view call);

/// Returns `result` unless it is -1, the error value of the C API.
inline int checked(int result, std::string_view call)
{
    if (result == -1) {
        throw_zmq_error(call);
    }
    return result;
}

/// Owns a context; the destructor terminates it and so waits until its sockets are closed.
class context {
public:
    explicit context(int io_threads);
    ~context();
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    /// Calls on its sockets, also those that wait, end with ETERM from now on.
    void shut_down();

    void* handle() const { return handle_; }

private:
    void* handle_;
};

/// Owns a socket. ZMQ_LINGER is 0, since everything of interest has arrived by the time it closes.
class socket {
public:
    /// Throws `unsupported` if the library does not know the type.
    socket(const context& owner, int type);
    ~socket();
    socket(socket&& other) noexcept;
    socket(const socket&) = delete;
    socket& operator=(const socket&) = delete;

    void set(int option, int value);
    void set(int option, std::string_view value);
    void bind(const std::string& endpoint);
    void connect(const std::string& endpoint);

    /// Where the last bind really is, wildcards replaced.
    std::string last_endpoint() const;

    void* handle() const { return handle_; }

private:
    void* handle_;
};

/// From now on each socket writes, before it is closed, what its library has counted to the
/// standard error output, if the library is zlink. Before any other thread is there.
void show_counts_of_sockets();

/// Version as "major.minor.patch" and canonical path of the library that this process uses.
std::string library_version();
std::string library_path();

} // namespace zlink::bench::worker
