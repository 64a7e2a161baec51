// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket/pattern.hpp"

#include <memory>
#include <span>

/// The socket types, one file each. See the man page zmq_socket(3) for their rules.
namespace zlink::sockets {

std::unique_ptr<core::pattern> make_pair(core::pattern_host& host);
std::unique_ptr<core::pattern> make_pub(core::pattern_host& host);
std::unique_ptr<core::pattern> make_sub(core::pattern_host& host);
std::unique_ptr<core::pattern> make_req(core::pattern_host& host);
std::unique_ptr<core::pattern> make_rep(core::pattern_host& host);
std::unique_ptr<core::pattern> make_dealer(core::pattern_host& host);
std::unique_ptr<core::pattern> make_router(core::pattern_host& host);
std::unique_ptr<core::pattern> make_pull(core::pattern_host& host);
std::unique_ptr<core::pattern> make_push(core::pattern_host& host);
std::unique_ptr<core::pattern> make_xpub(core::pattern_host& host);
std::unique_ptr<core::pattern> make_xsub(core::pattern_host& host);
std::unique_ptr<core::pattern> make_dgram(core::pattern_host& host);
std::unique_ptr<core::pattern> make_stream(core::pattern_host& host);
std::unique_ptr<core::pattern> make_server(core::pattern_host& host);
std::unique_ptr<core::pattern> make_client(core::pattern_host& host);
std::unique_ptr<core::pattern> make_radio(core::pattern_host& host);
std::unique_ptr<core::pattern> make_dish(core::pattern_host& host);
std::unique_ptr<core::pattern> make_gather(core::pattern_host& host);
std::unique_ptr<core::pattern> make_scatter(core::pattern_host& host);
std::unique_ptr<core::pattern> make_peer(core::pattern_host& host);
std::unique_ptr<core::pattern> make_channel(core::pattern_host& host);

/// The socket types that there are.
std::span<const core::pattern_row> all_patterns() noexcept;
/// What there is to know of one; of a number that is none: nothing special.
const core::socket_type_traits& traits_of(int type) noexcept;

} // namespace zlink::sockets
