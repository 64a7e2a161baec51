// SPDX-License-Identifier: Apache-2.0
#include "transport/ipc/ipc.hpp"

#include "transport/ipc/peer_filter.hpp"
#include "transport/socket_stream.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace zlink::transport {
namespace {

namespace asio = boost::asio;

error_code system_error(int value)
{
    return {value, boost::system::system_category()};
}

/// The socket address of a path or, after '@', of an abstract name.
generic_endpoint to_endpoint(std::string_view path, error_code& error)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path == "@")
        error = system_error(EINVAL);
    else if (path.size() >= sizeof address.sun_path)
        error = system_error(ENAMETOOLONG);
    if (error)
        return {};
    std::memcpy(address.sun_path, path.data(), path.size());
    std::size_t bytes = offsetof(sockaddr_un, sun_path) + path.size();
    if (path.front() == '@')
        address.sun_path[0] = '\0';
    else
        ++bytes; // a path ends with its NUL
    return {&address, bytes, 0};
}

void tune(int fd, const options& settings)
{
    if (settings.send_buffer_bytes >= 0)
        ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &settings.send_buffer_bytes, sizeof(int));
    if (settings.receive_buffer_bytes >= 0)
        ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &settings.receive_buffer_bytes, sizeof(int));
}

error_code prepare(int, const options&)
{
    return {}; // a connection that is accepted has nothing of its listener
}

std::string endpoint_text(const sockaddr* address, socklen_t bytes)
{
    const auto* local = reinterpret_cast<const sockaddr_un*>(address);
    const auto length = static_cast<std::size_t>(bytes) - offsetof(sockaddr_un, sun_path);
    if (bytes <= offsetof(sockaddr_un, sun_path))
        return "ipc://";
    if (local->sun_path[0] == '\0')
        return "ipc://@" + std::string(local->sun_path + 1, length - 1);
    return "ipc://" + std::string(local->sun_path, ::strnlen(local->sun_path, length));
}

std::string peer_text(int fd, const sockaddr*, socklen_t, bool)
{
    // Clients have no address of their own: their credentials tell who they are.
    ucred credentials{};
    socklen_t bytes = sizeof credentials;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0)
        return {};
    return "localhost:" + std::to_string(credentials.uid) + ":" + std::to_string(credentials.gid) +
           ":" + std::to_string(credentials.pid);
}

std::size_t packet_bytes(int)
{
    return 0; // there are none
}

constexpr socket_kind kind{prepare,      tune,      endpoint_text,
                           packet_bytes, peer_text, ipc_filter::admits};

/// A fresh directory for "ipc://*"; the socket lives in it as "socket".
std::string make_directory(error_code& error)
{
    const char* base = nullptr;
    // The directory for temporary files is the one thing the environment is asked for, because
    // users of ipc://* are promised it.
    for (const char* name : {"TMPDIR", "TEMPDIR", "TMP"}) {
        base = ::secure_getenv(name);
        struct stat info {};
        if (base && ::stat(base, &info) == 0 && S_ISDIR(info.st_mode))
            break;
        base = nullptr;
    }
    std::string pattern = base ? base : "";
    if (base && !pattern.ends_with('/'))
        pattern += '/';
    pattern += "tmpXXXXXX";
    if (!::mkdtemp(pattern.data()))
        error = system_error(errno);
    return pattern;
}

/// Is there a socket, or a link to one or to nothing? Whatever else there is stays, and binding
/// fails.
bool may_be_replaced(const std::string& path) noexcept
{
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0)
        return false;
    if (S_ISLNK(info.st_mode) && ::stat(path.c_str(), &info) != 0)
        return errno == ENOENT;
    return S_ISSOCK(info.st_mode);
}

class ipc_bind final : public bind_endpoint {
public:
    ipc_bind(std::string_view path, std::shared_ptr<const options> settings)
        : path_(path), settings_(std::move(settings))
    {}

    std::unique_ptr<acceptor> listen(asio::io_context& io, error_code& error) override
    {
        if (settings_->listening_fd >= 0)
            return listen_on_given(io, {AF_UNIX}, kind, *settings_, error);
        if (path_ == "*")
            return listen_in_own_directory(io, error);
        return listen_at(path_, io, nullptr, error);
    }

private:
    std::unique_ptr<acceptor> listen_in_own_directory(asio::io_context& io, error_code& error) const
    {
        const std::string directory = make_directory(error);
        if (error)
            return nullptr;
        std::unique_ptr<acceptor> bound;
        std::string path;
        try {
            path = directory + "/socket";
            bound = listen_at(
                path, io,
                [directory, path] {
                    ::unlink(path.c_str());
                    ::rmdir(directory.c_str());
                },
                error);
        } catch (...) {
            ::unlink(path.c_str());
            ::rmdir(directory.c_str());
            throw;
        }
        if (!bound)
            ::rmdir(directory.c_str());
        return bound;
    }

    // `on_close` is for the acceptor: without one it is not called.
    std::unique_ptr<acceptor> listen_at(const std::string& path, asio::io_context& io,
                                        std::function<void()> on_close, error_code& error) const
    {
        const generic_endpoint endpoint = to_endpoint(path, error);
        if (error)
            return nullptr;
        if (path.front() != '@' && may_be_replaced(path))
            ::unlink(path.c_str()); // left by a process that died, or taken over from a live one
        return listen_on(io, endpoint, kind, *settings_, std::move(on_close), error);
    }

    const std::string path_;
    const std::shared_ptr<const options> settings_;
};

class ipc_connect final : public connect_endpoint {
public:
    ipc_connect(std::string_view path, std::shared_ptr<const options> settings)
        : path_(path), settings_(std::move(settings))
    {}

    std::shared_ptr<connect_attempt> connect(asio::io_context& io, connect_handler handler) override
    {
        error_code fits; // as parse_connect() has found
        return connect_to(io, to_endpoint(path_, fits), nullptr, kind, settings_,
                          std::move(handler));
    }

private:
    // As text: a socket address has room for the longest path.
    const std::string path_;
    const std::shared_ptr<const options> settings_;
};

std::shared_ptr<connect_endpoint>
parse_connect(std::string_view address, std::shared_ptr<const options> settings, error_code& error)
{
    to_endpoint(address, error);
    return error ? nullptr : std::make_shared<ipc_connect>(address, std::move(settings));
}

std::shared_ptr<bind_endpoint> parse_bind(std::string_view address,
                                          std::shared_ptr<const options> settings, error_code&)
{
    return std::make_shared<ipc_bind>(address, std::move(settings));
}

std::string canonical(std::string_view address, const options&)
{
    return "ipc://" + std::string(address);
}

} // namespace

const scheme ipc{"ipc", parse_connect, parse_bind, canonical, true};

} // namespace zlink::transport
