// SPDX-License-Identifier: Apache-2.0
#include "support/endpoint.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <system_error>

namespace zlink::test {
namespace {

class temporary_directory {
public:
    temporary_directory()
    {
        path_ = (std::filesystem::temp_directory_path() / "zlink-test-XXXXXX").string();
        if (::mkdtemp(path_.data()) == nullptr)
            throw std::runtime_error("cannot create a temporary directory");
    }
    ~temporary_directory()
    {
        if (::getpid() != owner_)
            return; // a child process that a test has forked
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;

    const std::string& path() const { return path_; }

private:
    const pid_t owner_ = ::getpid();
    std::string path_;
};

bool port_is_free(int port)
{
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int result = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::close(fd);
    return result == 0;
}

int pick_port()
{
    static std::mt19937 generator{std::random_device{}()};
    std::uniform_int_distribution<int> ports(12'000, 32'000);
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const int port = ports(generator);
        if (port_is_free(port))
            return port;
    }
    throw std::runtime_error("no free port");
}

std::string unique_name()
{
    static std::atomic<unsigned> counter{0};
    return "endpoint-" + std::to_string(counter++);
}

} // namespace

const std::string& scratch_directory()
{
    static const temporary_directory directory;
    return directory.path();
}

std::string fresh_bind_address(link_kind kind)
{
    const link_traits& traits = traits_of(kind);
    return traits.has_ports ? traits.scheme + std::string("://127.0.0.1:*") : known_address(kind);
}

std::string known_address(link_kind kind)
{
    const link_traits& traits = traits_of(kind);
    const std::string start = traits.scheme + std::string("://");
    if (traits.has_ports)
        return start + "127.0.0.1:" + std::to_string(pick_port());
    return start + (traits.has_wire ? scratch_directory() + "/" : "") + unique_name();
}

} // namespace zlink::test
