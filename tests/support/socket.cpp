// SPDX-License-Identifier: Apache-2.0
#include "support/socket.hpp"

#include <array>
#include <cstring>

#include "support/link_kind.hpp"

namespace zlink::test {
namespace {

void require(bool success, const char* call)
{
    if (!success)
        throw call_failed(call);
}

} // namespace

call_failed::call_failed(const std::string& call)
    : std::runtime_error(call + ": " + zmq_strerror(zmq_errno())), code_(zmq_errno())
{}

test_context::test_context() : handle_(zmq_ctx_new())
{
    require(handle_ != nullptr, "zmq_ctx_new");
}

test_context::~test_context()
{
    if (handle_ != nullptr)
        term();
}

void test_context::term()
{
    while (zmq_ctx_term(handle_) != 0 && zmq_errno() == EINTR) {
    }
    handle_ = nullptr;
}

// Made of the empty one: what is opened is closed if an option cannot be set.
test_socket::test_socket(void* context, int type) : test_socket()
{
    *this = with_defaults(context, type);
    const int timeout_ms = static_cast<int>(patience.count());
    set(ZMQ_LINGER, 0);
    set(ZMQ_RCVTIMEO, timeout_ms);
    set(ZMQ_SNDTIMEO, timeout_ms);
}

test_socket test_socket::with_defaults(void* context, int type)
{
    test_socket result;
    result.handle_ = zmq_socket(context, type);
    require(result.handle_ != nullptr, "zmq_socket");
    result.context_ = context;
    return result;
}

test_socket::~test_socket()
{
    if (handle_ != nullptr)
        zmq_close(handle_);
}

test_socket& test_socket::operator=(test_socket&& other) noexcept
{
    std::swap(handle_, other.handle_);
    std::swap(context_, other.context_);
    return *this;
}

void test_socket::close()
{
    require(zmq_close(release()) == 0, "zmq_close");
}

void test_socket::bind(const std::string& address)
{
    if (!try_bind(address))
        throw call_failed("zmq_bind " + address);
}

bool test_socket::try_bind(const std::string& address)
{
    link_in_use::configure(*this, link_side::bound, address);
    return zmq_bind(handle_, address.c_str()) == 0;
}

std::string test_socket::bind_and_resolve(const std::string& address)
{
    bind(address);
    return last_endpoint();
}

void test_socket::connect(const std::string& address)
{
    link_in_use::configure(*this, link_side::connecting, address);
    if (zmq_connect(handle_, address.c_str()) != 0)
        throw call_failed("zmq_connect " + address);
}

void test_socket::disconnect(const std::string& address)
{
    if (zmq_disconnect(handle_, address.c_str()) != 0)
        throw call_failed("zmq_disconnect " + address);
}

void test_socket::unbind(const std::string& address)
{
    if (zmq_unbind(handle_, address.c_str()) != 0)
        throw call_failed("zmq_unbind " + address);
}

void test_socket::set(int option, int value)
{
    if (zmq_setsockopt(handle_, option, &value, sizeof value) != 0)
        throw call_failed("zmq_setsockopt " + std::to_string(option));
}

void test_socket::set(int option, std::string_view bytes)
{
    if (zmq_setsockopt(handle_, option, bytes.data(), bytes.size()) != 0)
        throw call_failed("zmq_setsockopt " + std::to_string(option));
}

int test_socket::get(int option) const
{
    int value = 0;
    std::size_t size = sizeof value;
    if (zmq_getsockopt(handle_, option, &value, &size) != 0)
        throw call_failed("zmq_getsockopt " + std::to_string(option));
    return value;
}

std::string test_socket::get_text(int option) const
{
    std::array<char, 1024> text{};
    std::size_t size = text.size();
    if (zmq_getsockopt(handle_, option, text.data(), &size) != 0)
        throw call_failed("zmq_getsockopt " + std::to_string(option));
    return std::string(text.data(), size > 0 ? size - 1 : 0);
}

void test_socket::send(std::string_view body, int flags)
{
    require(zmq_send(handle_, body.data(), body.size(), flags) == static_cast<int>(body.size()),
            "zmq_send");
}

void test_socket::send_parts(const parts& message)
{
    for (std::size_t index = 0; index < message.size(); ++index)
        send(message[index], index + 1 < message.size() ? ZMQ_SNDMORE : 0);
}

bool test_socket::try_send(std::string_view body)
{
    if (zmq_send(handle_, body.data(), body.size(), ZMQ_DONTWAIT) >= 0)
        return true;
    require(zmq_errno() == EAGAIN, "zmq_send");
    return false;
}

int test_socket::send_until_full(std::string_view body, int limit)
{
    int accepted = 0;
    while (accepted < limit && try_send(body))
        ++accepted;
    return accepted;
}

std::string test_socket::recv(int flags)
{
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, handle_, flags) < 0) {
        const call_failed failure("zmq_msg_recv");
        zmq_msg_close(&message);
        throw failure;
    }
    std::string body(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    zmq_msg_close(&message);
    return body;
}

parts test_socket::recv_parts()
{
    parts message;
    do
        message.push_back(recv());
    while (get(ZMQ_RCVMORE) != 0);
    return message;
}

std::optional<parts> test_socket::try_recv_parts(std::chrono::milliseconds window)
{
    if (!readable(window))
        return std::nullopt;
    return recv_parts();
}

bool test_socket::readable(std::chrono::milliseconds window) const
{
    return (poll_socket(handle_, ZMQ_POLLIN, window) & ZMQ_POLLIN) != 0;
}

bool test_socket::writable(std::chrono::milliseconds window) const
{
    return (poll_socket(handle_, ZMQ_POLLOUT, window) & ZMQ_POLLOUT) != 0;
}

int poll_socket(void* socket, short events, std::chrono::milliseconds window)
{
    zmq_pollitem_t item{socket, 0, events, 0};
    while (zmq_poll(&item, 1, window.count()) < 0)
        require(zmq_errno() == EINTR, "zmq_poll");
    return item.revents;
}

} // namespace zlink::test
