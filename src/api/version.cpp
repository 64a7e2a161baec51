// SPDX-License-Identifier: Apache-2.0
#include <zmq.h>

void zmq_version(int* major, int* minor, int* patch)
{
    if (major != nullptr) {
        *major = ZMQ_VERSION_MAJOR;
    }
    if (minor != nullptr) {
        *minor = ZMQ_VERSION_MINOR;
    }
    if (patch != nullptr) {
        *patch = ZMQ_VERSION_PATCH;
    }
}
