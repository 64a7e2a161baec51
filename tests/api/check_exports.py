#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what a shared library shows to the dynamic linker, or a static one (*.a) to the linker.

    check_exports.py LIBRARY [--soname NAME] [--header zmq.h] [--own-header zlink.h] [--cc CC]

It must export exactly the 96 functions of ZeroMQ 4.3.5 with its drafts and those of ours, unversioned
and nothing else, have the name given, and (--header, --own-header) export exactly what the headers
declare.
"""
import argparse
import re
import subprocess
import sys

STABLE = """
zmq_atomic_counter_dec zmq_atomic_counter_destroy zmq_atomic_counter_inc zmq_atomic_counter_new
zmq_atomic_counter_set zmq_atomic_counter_value zmq_bind zmq_close zmq_connect zmq_ctx_destroy
zmq_ctx_get zmq_ctx_new zmq_ctx_set zmq_ctx_shutdown zmq_ctx_term zmq_curve_keypair
zmq_curve_public zmq_device zmq_disconnect zmq_errno zmq_getsockopt zmq_has zmq_init zmq_msg_close
zmq_msg_copy zmq_msg_data zmq_msg_get zmq_msg_gets zmq_msg_init zmq_msg_init_data
zmq_msg_init_size zmq_msg_more zmq_msg_move zmq_msg_recv zmq_msg_send zmq_msg_set zmq_msg_size
zmq_poll zmq_proxy zmq_proxy_steerable zmq_recv zmq_recviov zmq_recvmsg zmq_send zmq_send_const
zmq_sendiov zmq_sendmsg zmq_setsockopt zmq_sleep zmq_socket zmq_socket_monitor
zmq_stopwatch_intermediate zmq_stopwatch_start zmq_stopwatch_stop zmq_strerror zmq_term
zmq_threadclose zmq_threadstart zmq_timers_add zmq_timers_cancel zmq_timers_destroy
zmq_timers_execute zmq_timers_new zmq_timers_reset zmq_timers_set_interval zmq_timers_timeout
zmq_unbind zmq_version zmq_z85_decode zmq_z85_encode
""".split()
DRAFT = """
zmq_connect_peer zmq_ctx_get_ext zmq_ctx_set_ext zmq_join zmq_leave zmq_msg_group
zmq_msg_init_buffer zmq_msg_routing_id zmq_msg_set_group zmq_msg_set_routing_id zmq_poller_add
zmq_poller_add_fd zmq_poller_destroy zmq_poller_fd zmq_poller_modify zmq_poller_modify_fd
zmq_poller_new zmq_poller_remove zmq_poller_remove_fd zmq_poller_size zmq_poller_wait
zmq_poller_wait_all zmq_ppoll zmq_socket_get_peer_state zmq_socket_monitor_pipes_stats
zmq_socket_monitor_versioned
""".split()
# Symbols of the linker itself, which some versions of it show.
OF_THE_LINKER = {"_init", "_fini", "__bss_start", "_edata", "_end"}

# A draft of later versions.
OURS = ["zmq_disconnect_peer"]
# Those of zlink.h.
OWN = ["zlink_arm", "zlink_flush"]


def output_of(*command: str, text: str | None = None) -> str:
    return subprocess.run(command, check=True, text=True, input=text, stdout=subprocess.PIPE).stdout


def exports(library: str) -> dict[str, str]:
    """The type letter of each symbol that the library defines for others."""
    which = "--extern-only" if library.endswith(".a") else "--dynamic"
    lines = output_of("nm", which, "--defined-only", library).splitlines()
    return {fields[-1]: fields[-2] for fields in map(str.split, lines)
            if len(fields) == 3 and fields[-1] not in OF_THE_LINKER}


def declared(header: str, cc: str, *flags: str, prefix: str = "zmq") -> set[str]:
    text = output_of(cc, "-E", "-P", *flags, "-x", "c", "-", text=f'#include "{header}"\n')
    return (set(re.findall(rf"\b({prefix}_\w+)\s*\(", text)) -
            set(re.findall(rf"\(({prefix}_\w+)\)\s*\(", text)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--soname", help="what the library must call itself")
    parser.add_argument("--header", help="the zmq.h whose functions must all be exported")
    parser.add_argument("--own-header", help="the zlink.h whose functions must all be exported")
    parser.add_argument("--cc", default="cc", help="C compiler (default: %(default)s)")
    arguments = parser.parse_args()
    faults = []
    api = set(STABLE) | set(DRAFT) | set(OURS)
    expected = api | set(OWN)
    assert (len(STABLE), len(DRAFT)) == (70, 26)
    found = exports(arguments.library)
    faults += [f"missing: {name}" for name in sorted(expected - found.keys())]
    faults += [f"exported without need: {name}" for name in sorted(found.keys() - expected)]
    faults += [f"no function: {name} ({kind})" for name, kind in sorted(found.items())
               if kind != "T"]
    if arguments.soname:
        dynamic = output_of("readelf", "--dynamic", arguments.library)
        names = re.findall(r"\(SONAME\).*\[(.*)\]", dynamic)
        if names != [arguments.soname]:
            faults.append(f"SONAME is {names}, not {arguments.soname}")
    if arguments.header:
        names = declared(arguments.header, arguments.cc, "-DZMQ_BUILD_DRAFT_API")
        faults += [f"not declared: {name}" for name in sorted(api - names)]
        faults += [f"declared, not of the API: {name}" for name in sorted(names - api)]
        stable = declared(arguments.header, arguments.cc)
        faults += [f"only with or without drafts: {name}" for name in sorted(stable ^ set(STABLE))]
    if arguments.own_header:
        names = declared(arguments.own_header, arguments.cc, prefix="zlink")
        faults += [f"declared or exported only: {name}" for name in sorted(names ^ set(OWN))]
    print(f"{arguments.library}: {len(found)} symbols, {len(faults)} faults")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
