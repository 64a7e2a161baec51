# SPDX-License-Identifier: Apache-2.0
# zlink_gtest_runs(TARGET LABEL PREFIX TIMEOUT_S): the tests of a GoogleTest program as tests of ctest, each
# by itself. To start an instrumented program takes longer than most tests: such a one is started a few
# times, for a part of its tests each.
include(GoogleTest)

function(zlink_gtest_runs target label prefix timeout_s)
    if(NOT ZLINK_SANITIZE)
        gtest_discover_tests(${target} TEST_PREFIX "${prefix}" DISCOVERY_TIMEOUT 60
            PROPERTIES LABELS ${label} TIMEOUT ${timeout_s})
        return()
    endif()
    set(parts 4)
    math(EXPR last "${parts} - 1")
    math(EXPR timeout_s "${timeout_s} * 4")
    foreach(part RANGE ${last})
        set(name ${target}.part_${part})
        add_test(NAME ${name} COMMAND ${target})
        set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout_s}
            ENVIRONMENT "GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${part}")
    endforeach()
endfunction()
