# SPDX-License-Identifier: Apache-2.0
# Sets ZLINK_HAS_CURVE as ZLINK_CURVE wants it, and ZLINK_CRYPTO_LIBRARIES to what is to be linked
# for it.
set(ZLINK_HAS_CURVE OFF)
set(ZLINK_CRYPTO_LIBRARIES "")
if(NOT ZLINK_CURVE STREQUAL "OFF")
    find_path(ZLINK_SODIUM_INCLUDE_DIR sodium.h)
    find_library(ZLINK_SODIUM_LIBRARY sodium)
    if(ZLINK_SODIUM_INCLUDE_DIR AND ZLINK_SODIUM_LIBRARY)
        set(ZLINK_HAS_CURVE ON)
        # By its name: the place of the library must not get into what is installed.
        set(ZLINK_CRYPTO_LIBRARIES sodium)
        cmake_path(GET ZLINK_SODIUM_LIBRARY PARENT_PATH sodium_dir)
        if(NOT sodium_dir IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
            link_directories(${sodium_dir})
        endif()
        include_directories(SYSTEM ${ZLINK_SODIUM_INCLUDE_DIR})
    elseif(ZLINK_CURVE STREQUAL "AUTO")
        message(STATUS "libsodium is not installed: the CURVE mechanism is left out (Debian: libsodium-dev)")
    else()
        message(FATAL_ERROR "ZLINK_CURVE needs libsodium (Debian: libsodium-dev)")
    endif()
endif()
