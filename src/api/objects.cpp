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

// Never destroyed: applications may leave sockets and contexts open until the process ends, and
// threads of theirs may still be in a call then.
handle_table<core::context>& contexts() noexcept
{
    static auto& table = kept_over_fork<contexts>(*new handle_table<core::context>);
    return table;
}

handle_table<socket_object, core::socket_gate>& sockets() noexcept
{
    static auto& table =
        kept_over_fork<sockets>(*new handle_table<socket_object, core::socket_gate>);
    return table;
}

// While the library is loaded: a child that is forked while another thread makes a table could not
// use it.
[[maybe_unused]] const bool made_in_time = (contexts(), sockets(), true);

} // namespace zlink::api
