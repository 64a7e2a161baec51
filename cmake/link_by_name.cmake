# SPDX-License-Identifier: Apache-2.0
# Adds a library to ZLINK_CRYPTO_LIBRARIES, by its name: the place of its FILE must not get into what
# is installed. INCLUDE_DIR has its headers.
macro(zlink_link_by_name name file include_dir)
    list(APPEND ZLINK_CRYPTO_LIBRARIES ${name})
    cmake_path(SET zlink_library_dir "${file}")
    cmake_path(GET zlink_library_dir PARENT_PATH zlink_library_dir)
    if(NOT zlink_library_dir IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
        link_directories(${zlink_library_dir})
    endif()
    include_directories(SYSTEM ${include_dir})
endmacro()
