// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/greeting.hpp"

#include <algorithm>

#include "engine/bytes.hpp"

namespace zlink::engine {
namespace {

// Offsets in the greeting of ZMTP 3, and one of ZMTP 2 (`legacy`).
enum offset : std::size_t {
    padding_offset = 1,
    signature_end_offset = 9, // last byte of the signature
    major_offset = 10,
    minor_offset = 11,
    legacy_type_offset = 11,
    mechanism_offset = 12,
    as_server_offset = 32,
};

constexpr std::byte signature_begin{0xff};
constexpr std::byte signature_end{0x7f};
constexpr std::byte versioned_bit{0x01};
constexpr std::byte major_version{3};
constexpr std::byte minor_version{1};
constexpr std::byte last_legacy_major{1}; // 2 is treated as 3.x
constexpr std::size_t legacy_greeting_bytes = 12;

} // namespace

greeting::greeting(std::string_view mechanism_name, bool as_server, std::size_t routing_id_bytes,
                   int socket_type) noexcept
    : socket_type_(static_cast<std::byte>(socket_type))
{
    own_[0] = signature_begin;
    const auto padding = std::uint64_t{routing_id_bytes} + 1;
    for (std::size_t i = 0; i < sizeof padding; ++i) {
        own_[padding_offset + i] = static_cast<std::byte>(padding >> (56 - 8 * i));
    }
    own_[signature_end_offset] = signature_end;
    own_[major_offset] = major_version;
    own_[minor_offset] = minor_version;
    const auto name = as_bytes(mechanism_name.substr(0, max_mechanism_name_bytes));
    std::copy(name.begin(), name.end(), own_.begin() + mechanism_offset);
    own_[as_server_offset] = static_cast<std::byte>(as_server);
}

void greeting::start(std::vector<std::byte>& output)
{
    send(0, major_offset, output);
}

std::size_t greeting::feed(std::span<const std::byte> bytes, std::vector<std::byte>& output)
{
    std::size_t taken = 0;
    while (taken < bytes.size() && received_bytes_ < total_bytes_ &&
           error_ == handshake_error::none) {
        receive(bytes[taken++], output);
    }
    return taken;
}

bool greeting::done() const noexcept
{
    return received_bytes_ == total_bytes_ && error_ == handshake_error::none;
}

std::span<const std::byte> greeting::first_frame_bytes() const noexcept
{
    const bool unversioned = version_ == greeted_version::unversioned;
    return std::span(received_).first(unversioned ? received_bytes_ : 0);
}

int greeting::peer_socket_type() const noexcept
{
    return std::to_integer<int>(received_[legacy_type_offset]);
}

std::uint8_t greeting::minor() const noexcept
{
    const bool is_3_0 =
        received_[major_offset] == major_version && received_[minor_offset] == std::byte{0};
    return is_3_0 ? 0 : 1;
}

bool greeting::peer_as_server() const noexcept
{
    return received_[as_server_offset] == std::byte{1};
}

void greeting::receive(std::byte byte, std::vector<std::byte>& output)
{
    const auto offset = received_bytes_++;
    received_[offset] = byte;
    if (offset == 0 && byte != signature_begin) {
        end_unversioned();
    } else if (offset == signature_end_offset) {
        if ((byte & versioned_bit) == std::byte{0}) {
            end_unversioned();
        } else {
            send(major_offset, minor_offset, output);
        }
    } else if (offset == major_offset) {
        receive_major(byte, output);
    } else if (offset == greeting_bytes - 1) {
        const auto* own_name = own_.data() + mechanism_offset;
        if (!std::equal(own_name, own_name + max_mechanism_name_bytes,
                        received_.data() + mechanism_offset)) {
            error_ = handshake_error::mechanism_mismatch;
        }
    }
}

void greeting::receive_major(std::byte major, std::vector<std::byte>& output)
{
    if (major > last_legacy_major) {
        send(minor_offset, greeting_bytes, output);
        return;
    }
    version_ = major == std::byte{0} ? greeted_version::revision_0 : greeted_version::revision_1;
    total_bytes_ = legacy_greeting_bytes;
    output.push_back(socket_type_);
}

void greeting::end_unversioned() noexcept
{
    version_ = greeted_version::unversioned;
    total_bytes_ = received_bytes_;
}

void greeting::send(std::size_t begin, std::size_t end, std::vector<std::byte>& output) const
{
    append_bytes(output, std::span(own_).subspan(begin, end - begin));
}

} // namespace zlink::engine
