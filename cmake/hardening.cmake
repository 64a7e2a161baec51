# SPDX-License-Identifier: Apache-2.0
# zlink_harden_objects(target) and zlink_harden_library(target): what makes faults in memory harder to exploit,
# as far as compiler, linker and processor have it. tests/api/check_hardening.py reads it from the libraries.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)

set(ZLINK_HARDENING_COMPILED "")
set(ZLINK_HARDENING_LINKED "")
set(ZLINK_HARDENING_CHECKED --tls 512)
if(ZLINK_HARDENED AND NOT ZLINK_SANITIZE AND NOT ZLINK_FUZZ)
    foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection=full -mbranch-protection=standard)
        string(MAKE_C_IDENTIFIER "ZLINK_COMPILER_HAS${flag}" known)
        check_cxx_compiler_flag(${flag} ${known})
        if(${known})
            list(APPEND ZLINK_HARDENING_COMPILED ${flag})
        endif()
    endforeach()
    # A distribution may have defined it. Level 3 is newer, and the C library has nothing without optimisation.
    set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
    check_cxx_source_compiles("#include <string.h>
        #if __USE_FORTIFY_LEVEL < 3
        #error
        #endif
        int main() {}" ZLINK_FORTIFY_HAS_LEVEL_3)
    unset(CMAKE_REQUIRED_FLAGS)
    set(fortify -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$<IF:$<BOOL:${ZLINK_FORTIFY_HAS_LEVEL_3}>,3,2>)
    list(APPEND ZLINK_HARDENING_COMPILED "$<$<NOT:$<CONFIG:Debug>>:${fortify}>")

    # Start-up code of some C libraries does not say that it goes with a shadow stack, though it does.
    set(wanted relro now noexecstack)
    if(ZLINK_COMPILER_HAS_fcf_protection_full)
        list(APPEND wanted shstk)
    endif()
    foreach(flag IN LISTS wanted)
        check_linker_flag(CXX -Wl,-z,${flag} ZLINK_LINKER_HAS_${flag})
        if(ZLINK_LINKER_HAS_${flag})
            list(APPEND ZLINK_HARDENING_LINKED -Wl,-z,${flag})
        endif()
    endforeach()
    list(APPEND ZLINK_HARDENING_CHECKED --hardened)
endif()

function(zlink_harden_objects target)
    target_compile_options(${target} PRIVATE ${ZLINK_HARDENING_COMPILED})
endfunction()

function(zlink_harden_library target)
    target_link_options(${target} PRIVATE ${ZLINK_HARDENING_LINKED})
endfunction()
