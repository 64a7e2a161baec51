// SPDX-License-Identifier: Apache-2.0
#include "api/objects.hpp"

#include <boost/system/system_error.hpp>
#include <new>
#include <system_error>

namespace zlink::api {

int current_error() noexcept
{
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    } catch (const boost::system::system_error& failure) { // Asio's, no std::system_error
        return failure.code().value();
    } catch (const std::system_error& failure) {
        return failure.code().value();
    } catch (...) {
        return EINVAL;
    }
}

constinit base::lasting<handle_table<core::context>> all_contexts;
constinit base::lasting<socket_table> all_sockets;

namespace {

[[maybe_unused]] const bool kept_over_fork =
    keep_over_fork<contexts>() && keep_over_fork<sockets>();

} // namespace
} // namespace zlink::api
