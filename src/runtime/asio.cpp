// SPDX-License-Identifier: Apache-2.0
// What of Asio is no template, compiled here and nowhere else: see BOOST_ASIO_SEPARATE_COMPILATION
// in CMakeLists.txt.
#include <boost/asio/impl/src.hpp>
