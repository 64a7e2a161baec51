# SPDX-License-Identifier: Apache-2.0
# ZLINK_STATIC_OBJECTS: what the static library consists of; ZLINK_STATIC_SHOWS_API_ONLY: if the linker is
# able to do what follows. Include it after the target zlink_objects exists.
#
# All objects become one that shows nothing but the API: a program may have an Asio of its own, of another
# version or compiled otherwise, which must not be mixed with ours.
include(CheckLinkerFlag)

set(ZLINK_STATIC_OBJECTS $<TARGET_OBJECTS:zlink_objects>)
set(linked_objects $<FILTER:$<TARGET_OBJECTS:zlink_objects>,EXCLUDE,[.]gch$>) # precompiled headers are in the list
check_linker_flag(CXX -Wl,--force-group-allocation ZLINK_LINKER_FORCES_GROUP_ALLOCATION)
if(ZLINK_LINKER_FORCES_GROUP_ALLOCATION AND CMAKE_OBJCOPY) # the GNU linker
    set(one_object ${CMAKE_BINARY_DIR}/libzmq-static.o)
    add_custom_command(OUTPUT ${one_object}
        COMMAND ${CMAKE_CXX_COMPILER} -r -nostdlib -Wl,--force-group-allocation
            -o ${one_object} ${linked_objects}
        COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=zmq_* --keep-global-symbol=zlink_*
            ${one_object}
        DEPENDS zlink_objects ${linked_objects}
        COMMAND_EXPAND_LISTS VERBATIM)
    set(ZLINK_STATIC_SHOWS_API_ONLY ON)
    set(ZLINK_STATIC_OBJECTS ${one_object} ${CMAKE_SOURCE_DIR}/cmake/static_language.cpp)
endif()
