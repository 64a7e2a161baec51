// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>

namespace zlink::runtime {

/// Makes the reactor of an I/O context, which Asio would make with its first timer or socket, and
/// looks whether it works: without the descriptors by which it is woken and told the time, its
/// thread would sleep for ever. Lives in asio.cpp, where Asio's calls of the kernel can be watched.
/// @return 0, or the errno with which the kernel refused one of these descriptors; the I/O context
/// is of no use then
/// @throws boost::system::system_error, std::bad_alloc
int make_reactor(boost::asio::io_context& io);

/// The epoll descriptor of an I/O context, of which Asio says nothing. It stays the context's.
/// @throws boost::system::system_error
int epoll_of(boost::asio::io_context& io);

} // namespace zlink::runtime
