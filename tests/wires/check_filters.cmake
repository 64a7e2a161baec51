# SPDX-License-Identifier: Apache-2.0
# Fails if one of the filters of GoogleTest in FILTERS matches no test of the programs in PROGRAMS; both are
# lists with colons between their items.
string(REPLACE ":" ";" programs "${PROGRAMS}")
string(REPLACE ":" ";" filters "${FILTERS}")
foreach(filter IN LISTS filters)
    set(found FALSE)
    foreach(program IN LISTS programs)
        execute_process(COMMAND ${program} --gtest_list_tests --gtest_filter=${filter}
            OUTPUT_VARIABLE tests COMMAND_ERROR_IS_FATAL ANY)
        if(tests MATCHES "\n  [a-zA-Z]") # tests are indented below their suites
            set(found TRUE)
            break()
        endif()
    endforeach()
    if(NOT found)
        message(SEND_ERROR "No test has a name like ${filter}")
    endif()
endforeach()
