// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/scheme.hpp"
#include "transport/tls/context.hpp"

#include <memory>

namespace zlink::transport::tls_parts {

/// The same endpoint, whose connections have TLS as the last of their upgrades.
std::shared_ptr<connect_endpoint> over(std::shared_ptr<connect_endpoint> below,
                                       std::shared_ptr<context_source> contexts);
std::shared_ptr<bind_endpoint> over(std::shared_ptr<bind_endpoint> below,
                                    std::shared_ptr<context_source> contexts);

} // namespace zlink::transport::tls_parts
