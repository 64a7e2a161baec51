# SPDX-License-Identifier: Apache-2.0
# Sets ZLINK_HAS_CURVE as ZLINK_CURVE wants it, and adds what is to be linked for it to
# ZLINK_CRYPTO_LIBRARIES.
set(ZLINK_HAS_CURVE OFF)
if(NOT ZLINK_CURVE STREQUAL "OFF")
    find_path(ZLINK_SODIUM_INCLUDE_DIR sodium.h)
    find_library(ZLINK_SODIUM_LIBRARY sodium)
    if(ZLINK_SODIUM_INCLUDE_DIR AND ZLINK_SODIUM_LIBRARY)
        set(ZLINK_HAS_CURVE ON)
        zlink_link_by_name(sodium ${ZLINK_SODIUM_LIBRARY} ${ZLINK_SODIUM_INCLUDE_DIR})
    elseif(ZLINK_CURVE STREQUAL "AUTO")
        message(STATUS "libsodium is not installed: the CURVE mechanism is left out (Debian: libsodium-dev)")
    else()
        message(FATAL_ERROR "ZLINK_CURVE needs libsodium (Debian: libsodium-dev)")
    endif()
endif()
