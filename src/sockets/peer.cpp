// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/server.hpp"

namespace zlink::sockets {
namespace {

/// A SERVER that talks to others of its kind, and knows those it connects to from the beginning.
class peer final : public server {
public:
    using server::server;
};

} // namespace

std::unique_ptr<core::pattern> make_peer(core::pattern_host& host)
{
    return std::make_unique<peer>(host);
}

} // namespace zlink::sockets
