# SPDX-License-Identifier: Apache-2.0
# Sets ZLINK_HAS_OPENSSL as ZLINK_OPENSSL wants it, and adds what is to be linked for it to
# ZLINK_CRYPTO_LIBRARIES.
set(ZLINK_HAS_OPENSSL OFF)
if(ZLINK_HAS_CURVE AND NOT ZLINK_OPENSSL STREQUAL "OFF")
    find_package(OpenSSL 3.0 QUIET COMPONENTS Crypto)
    if(OpenSSL_FOUND)
        set(ZLINK_HAS_OPENSSL ON)
        zlink_link_by_name(crypto ${OPENSSL_CRYPTO_LIBRARY} ${OPENSSL_INCLUDE_DIR})
    elseif(ZLINK_OPENSSL STREQUAL "AUTO")
        message(STATUS "OpenSSL 3 is not installed: CURVE is slower without it (Debian: libssl-dev)")
    else()
        message(FATAL_ERROR "ZLINK_OPENSSL needs OpenSSL 3 (Debian: libssl-dev)")
    endif()
endif()
