// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>

#include <zmq.h>

int zmq_errno()
{
    return errno;
}

const char* zmq_strerror(int errnum)
{
    switch (errnum) {
    case EFSM:
        return "Operation cannot be accomplished in current state";
    case ENOCOMPATPROTO:
        return "The protocol is not compatible with the socket type";
    case ETERM:
        return "Context was terminated";
    case EMTHREAD:
        return "No thread available";
    case EHOSTUNREACH:
        return "Host unreachable";
    default:
        return std::strerror(errnum);
    }
}
