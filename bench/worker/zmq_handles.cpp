// SPDX-License-Identifier: Apache-2.0
#include "worker/zmq_handles.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

namespace zlink::bench::worker {

void throw_zmq_error(std::string_view call)
{
    throw failure(fmt::format("{}: {}", call, zmq_strerror(zmq_errno())));
}

context::context(int io_threads) : handle_(zmq_ctx_new())
{
    if (handle_ == nullptr) {
        throw_zmq_error("zmq_ctx_new");
    }
    checked(zmq_ctx_set(handle_, ZMQ_IO_THREADS, io_threads), "zmq_ctx_set(ZMQ_IO_THREADS)");
}

context::~context()
{
    zmq_ctx_term(handle_);
}

void context::shut_down()
{
    checked(zmq_ctx_shutdown(handle_), "zmq_ctx_shutdown");
}

socket::socket(const context& owner, int type) : handle_(zmq_socket(owner.handle(), type))
{
    if (handle_ == nullptr) {
        if (zmq_errno() == EINVAL) {
            throw unsupported(fmt::format("the library has no sockets of type {}", type));
        }
        throw_zmq_error("zmq_socket");
    }
    set(ZMQ_LINGER, 0);
}

namespace {

bool counts_are_shown = false;

// What zlink tells its developers; other libraries have no such option.
void show_counts(void* handle)
{
    constexpr int traffic_counts_option = 0x5a4c0001;
    std::array<char, 1024> text{};
    std::size_t bytes = text.size();
    int type = -1;
    std::size_t type_bytes = sizeof type;
    if (zmq_getsockopt(handle, traffic_counts_option, text.data(), &bytes) == 0 &&
        zmq_getsockopt(handle, ZMQ_TYPE, &type, &type_bytes) == 0) {
        fmt::print(stderr, "counts of a socket of type {}: {}\n", type, text.data());
    }
}

} // namespace

void show_counts_of_sockets()
{
    counts_are_shown = true;
}

socket::~socket()
{
    if (handle_ != nullptr) {
        if (counts_are_shown) {
            show_counts(handle_);
        }
        zmq_close(handle_);
    }
}

socket::socket(socket&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

void socket::set(int option, int value)
{
    checked(zmq_setsockopt(handle_, option, &value, sizeof value), "zmq_setsockopt");
}

void socket::set(int option, std::string_view value)
{
    checked(zmq_setsockopt(handle_, option, value.data(), value.size()), "zmq_setsockopt");
}

void socket::bind(const std::string& endpoint)
{
    checked(zmq_bind(handle_, endpoint.c_str()), "zmq_bind " + endpoint);
}

void socket::connect(const std::string& endpoint)
{
    checked(zmq_connect(handle_, endpoint.c_str()), "zmq_connect " + endpoint);
}

std::string socket::last_endpoint() const
{
    std::array<char, 256> text{};
    std::size_t size = text.size();
    checked(zmq_getsockopt(handle_, ZMQ_LAST_ENDPOINT, text.data(), &size),
            "zmq_getsockopt(ZMQ_LAST_ENDPOINT)");
    return text.data();
}

std::string library_version()
{
    int major = 0;
    int minor = 0;
    int patch = 0;
    zmq_version(&major, &minor, &patch);
    return fmt::format("{}.{}.{}", major, minor, patch);
}

std::string library_path()
{
    // Looked up by name, because &zmq_version may be a stub in this program.
    Dl_info info{};
    void* const symbol = dlsym(RTLD_DEFAULT, "zmq_version");
    if (symbol == nullptr || dladdr(symbol, &info) == 0) {
        return {};
    }
    std::error_code error;
    const auto canonical = std::filesystem::canonical(info.dli_fname, error);
    return error ? std::string(info.dli_fname) : canonical.string();
}

} // namespace zlink::bench::worker
