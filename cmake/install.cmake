# SPDX-License-Identifier: Apache-2.0
# What is installed. Include it after the targets libzmq, libzmq-static and zlink exist.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(zlink_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ZeroMQ)

foreach(target libzmq libzmq-static zlink)
    target_include_directories(${target} INTERFACE
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
install(TARGETS libzmq libzmq-static zlink EXPORT ZeroMQTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES include/zmq.h include/zmq_utils.h include/zlink.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT ZeroMQTargets DESTINATION ${zlink_package_dir})

configure_package_config_file(cmake/ZeroMQConfig.cmake.in ZeroMQConfig.cmake
    INSTALL_DESTINATION ${zlink_package_dir}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(ZeroMQConfigVersion.cmake
    VERSION 4.3.5 COMPATIBILITY SameMajorVersion)
install(FILES
    ${CMAKE_CURRENT_BINARY_DIR}/ZeroMQConfig.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/ZeroMQConfigVersion.cmake
    DESTINATION ${zlink_package_dir})

# Relative to the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH ZLINK_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" ZLINK_PC_PREFIX "${ZLINK_PC_PREFIX}")
set(ZLINK_PC_CRYPTO "")
foreach(crypto IN LISTS ZLINK_CRYPTO_LIBRARIES)
    string(APPEND ZLINK_PC_CRYPTO " -l${crypto}")
endforeach()
configure_file(cmake/libzmq.pc.in libzmq.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/libzmq.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
