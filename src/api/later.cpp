// SPDX-License-Identifier: Apache-2.0
// Functions of the C API that this version exports without serving them: each fails with ENOTSUP,
// so that programs which merely link to them run.
#include <cerrno>

#include <zmq.h>

namespace zlink::api {
namespace {

int not_served()
{
    errno = ENOTSUP;
    return -1;
}

} // namespace
} // namespace zlink::api

using zlink::api::not_served;

int zmq_curve_keypair(char*, char*)
{
    return not_served();
}

int zmq_curve_public(char*, const char*)
{
    return not_served();
}
