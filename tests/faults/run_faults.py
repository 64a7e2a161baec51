#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets system calls and allocations fail in conversations over every transport and mechanism.

For each transport, mechanism, pattern and kind of failure one process holds a conversation again and again,
and each time another call fails. What must not happen, whatever fails: a crash, a hang, an endpoint that
stays deaf, a message that comes twice or is wrong, something that is left over. A call that fails in passing
(interrupted, or only a part was moved) must not lose a message either; other failures may end a connection,
and with it what was under way.
"""

import argparse
import collections
import concurrent.futures
import errno
import itertools
import os
import random
import subprocess
import sys
import threading
import time

ONE_BYTE = -1  # what the scenario takes for a call that moves one byte only
TRANSPORTS = ["tcp", "ipc", "inproc", "tls", "ws", "wss"]
MECHANISMS = ["null", "plain", "curve"]
PATTERNS = ["push-pull", "dealer-router", "req-rep", "pub-sub"]

ALL_THREADS, LIBRARY_THREADS = 0, 2  # whose calls fail, as the scenario counts them

Failure = collections.namedtuple("Failure", "function error every may_lose threads",
                                 defaults=[ALL_THREADS])


def failures_of(function, errors, may_lose, every=(0, 3)):
    return [Failure(function, error, each, may_lose) for error in errors for each in every]


# The errors are those that the kernel may answer with, for a call that is right.
PASSING = (
    failures_of("recv", [errno.EINTR, ONE_BYTE], False)
    + failures_of("recvmsg", [errno.EINTR, ONE_BYTE], False)
    + failures_of("send", [errno.EINTR, ONE_BYTE], False)
    + failures_of("sendmsg", [errno.EINTR, ONE_BYTE], False)
    + failures_of("epoll_wait", [errno.EINTR], False)
    + failures_of("poll", [errno.EINTR], False)
    + failures_of("ppoll", [errno.EINTR], False)
    + failures_of("accept4", [errno.EINTR, errno.ECONNABORTED, errno.EMFILE], False)
)
LASTING = (
    failures_of("recv", [errno.ECONNRESET, errno.ENOMEM], True)
    + failures_of("recvmsg", [errno.ECONNRESET, errno.ENOMEM], True)
    + failures_of("send", [errno.EPIPE, errno.ENOBUFS], True)
    + failures_of("sendmsg", [errno.EPIPE, errno.ENOBUFS], True)
    + failures_of("epoll_ctl", [errno.ENOMEM, errno.ENOSPC], True)
    + failures_of("epoll_ctl_own", [errno.ENOSPC], True)
    + failures_of("connect", [errno.ENETUNREACH], True)
    + failures_of("socket", [errno.EMFILE], True)
    + failures_of("bind", [errno.EADDRINUSE], True)
    + failures_of("listen", [errno.EADDRINUSE], True)
    + failures_of("eventfd", [errno.EMFILE], True)
    + failures_of("epoll_create1", [errno.EMFILE], True)
    + failures_of("timerfd_create", [errno.EMFILE], True)
    + failures_of("setsockopt", [errno.ENOBUFS], True)
    + failures_of("getsockopt", [errno.ENOBUFS], True)
    + failures_of("getsockname", [errno.ENOBUFS], True)
    + failures_of("getpeername", [errno.ENOTCONN], True)
    + failures_of("shutdown", [errno.ENOTCONN], True)
    + failures_of("ioctl", [errno.ENOMEM], True)
    + failures_of("ppoll", [errno.ENOMEM], True)
    + failures_of("close", [errno.EIO], True)
    + failures_of("pthread_create", [errno.EAGAIN], True)
)
SYSTEM_CALLS = PASSING + LASTING
# Where each third one of all fails, no context is made; so the I/O threads alone get no more.
ALLOCATIONS = (failures_of("malloc", [0], True)
               + [Failure("malloc", 0, 3, True, LIBRARY_THREADS)])

ALWAYS_BAD = ["crash", "hang", "deaf", "twice", "wrong", "leaked", "broken"]
WORDS = ["ok", "said", "refused", "lost"] + ALWAYS_BAD

Job = collections.namedtuple("Job", "transport mechanism pattern failure")
Row = collections.namedtuple("Row", "number word detail")


def error_name(error):
    return "one byte" if error == ONE_BYTE else errno.errorcode.get(error, "")


def text_of(job):
    failure = job.failure
    return (f"{job.transport} {job.mechanism} {job.pattern}, {failure.function} "
            f"{error_name(failure.error)}{' every third' if failure.every else ''}"
            f"{' of I/O threads' if failure.threads else ''}").replace("  ", " ")


def makes_sense(transport, mechanism):
    return transport != "inproc" or mechanism == "null"


def run_job(job, arguments):
    """The rows of all conversations of a job. A process that ends early is followed by another one."""
    rows = []
    after = 0
    while time.monotonic() < arguments.end_s:
        command = [arguments.scenario, "--transport", job.transport, "--mechanism", job.mechanism,
                   "--pattern", job.pattern, "--function", job.failure.function,
                   "--error", str(job.failure.error), "--every", str(job.failure.every),
                   "--threads", str(job.failure.threads), "--most", str(arguments.most),
                   "--after", str(after)]
        if arguments.quick:
            command += ["--warm-up", "2", "--leak-runs", "0"]
        environment = dict(os.environ, LD_PRELOAD=arguments.injector)
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace")
        # The process watches itself: this is for one that cannot any more.
        limit = threading.Timer(arguments.limit_s, process.kill)
        limit.start()
        output, _ = process.communicate()
        was_killed = not limit.is_alive()
        limit.cancel()
        last = after
        other = []
        for line in output.splitlines():
            fields = line.split(maxsplit=3)
            if len(fields) >= 3 and fields[0].isdigit() and fields[2] in WORDS:
                last = int(fields[0])
                rows.append(Row(last, fields[2], fields[3] if len(fields) > 3 else ""))
            elif fields and fields[0] == "calls":
                calls = int(fields[1])
            else:
                other.append(line)
        if process.returncode == 0:
            return rows
        if process.returncode == 3:  # it said itself that it hangs
            after = last
        elif process.returncode > 0:
            rows.append(Row(last, "broken", f"exit status {process.returncode}: {' '.join(other)}"))
            return rows
        else:
            step = max(1, -(-calls // arguments.most)) if not job.failure.every else 1
            after = 1 if last == 0 else last + step
            rows.append(Row(after, "hang" if was_killed else "crash",
                            f"signal {-process.returncode} {' '.join(other)}"))
        if sum(row.word in ALWAYS_BAD for row in rows) >= arguments.most_bad:
            return rows
    return rows


def may_lose(job):
    if job.transport != "inproc":
        return job.failure.may_lose
    # Nothing can break there, but who publishes drops what there is no memory for.
    return job.pattern == "pub-sub" and job.failure in ALLOCATIONS


def is_bad(job, word):
    return word in ALWAYS_BAD or (word == "lost" and not may_lose(job))


def table(counts, keys):
    width = max([len(key) for key in keys] + [10]) + 2
    lines = ["".ljust(width) + "".join(word.rjust(9) for word in WORDS)]
    for key in keys:
        lines.append(key.ljust(width) + "".join(str(counts[key][word]).rjust(9) for word in WORDS))
    return "\n".join(lines)


def kinds_of(what):
    return ((SYSTEM_CALLS if what in ("calls", "all") else [])
            + (ALLOCATIONS if what in ("allocations", "all") else []))


def chosen_jobs(arguments):
    places = [(transport, mechanism, pattern)
              for transport, mechanism, pattern in itertools.product(
                  arguments.transports, arguments.mechanisms, arguments.patterns)
              if makes_sense(transport, mechanism)]
    if arguments.quick:
        # Each kind of failure once, in turn at all the places where it can happen; allocations, which are
        # many, at several of them.
        kinds = SYSTEM_CALLS + ALLOCATIONS * len(TRANSPORTS)
        places = [place for place in places if place[0] != "inproc"]
        random.Random(arguments.seed).shuffle(places)
        return [Job(*places[number % len(places)], kind) for number, kind in enumerate(kinds)]
    kinds = kinds_of(arguments.what)
    if arguments.functions:
        kinds = [kind for kind in kinds if kind.function in arguments.functions]
    jobs = [Job(*place, kind) for place, kind in itertools.product(places, kinds)]
    if arguments.minutes != float("inf"):
        random.Random(arguments.seed).shuffle(jobs)
    if arguments.sample:
        jobs = random.Random(arguments.seed).sample(jobs, min(arguments.sample, len(jobs)))
    return jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", required=True, help="the program zlink_fault_scenario")
    parser.add_argument("--injector", required=True, help="the library to preload")
    parser.add_argument("--what", choices=["calls", "allocations", "all"], default="all",
                        help="what fails: system calls, allocations, or both, one after the other")
    parser.add_argument("--transports", nargs="+", default=TRANSPORTS)
    parser.add_argument("--mechanisms", nargs="+", default=MECHANISMS)
    parser.add_argument("--patterns", nargs="+", default=PATTERNS)
    parser.add_argument("--functions", nargs="+", help="only these")
    parser.add_argument("--most", type=int, default=1_000_000,
                        help="so many conversations for each kind of failure")
    parser.add_argument("--quick", action="store_true",
                        help="each kind of failure at one place, three times, in a minute")
    parser.add_argument("--sample", type=int, help="so many of all kinds of failures")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--most-bad", type=int, default=10,
                        help="a kind of failure ends after so many bad outcomes that end the process")
    parser.add_argument("--limit-s", type=float, default=3600, help="for each process")
    parser.add_argument("--minutes", type=float, default=float("inf"),
                        help="after so long no further kind of failure is begun, in a random order")
    parser.add_argument("--at-once", type=int, default=2 * (os.cpu_count() or 1))
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.most = min(arguments.most, 3)
    arguments.end_s = time.monotonic() + 60 * arguments.minutes

    jobs = chosen_jobs(arguments)
    by_transport = collections.defaultdict(collections.Counter)
    by_function = collections.defaultdict(collections.Counter)
    bad = []
    begin = last_said = time.monotonic()
    conversations = 0
    print(f"{len(jobs)} kinds of failures", flush=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.at_once) as pool:
        running = {pool.submit(run_job, job, arguments): job for job in jobs}
        for done, future in enumerate(concurrent.futures.as_completed(running), 1):
            job = running[future]
            for row in future.result():
                conversations += 1
                by_transport[f"{job.transport} {job.mechanism}"][row.word] += 1
                by_function[f"{job.failure.function} {error_name(job.failure.error)}"
                            f"{' of I/O threads' if job.failure.threads else ''}"][row.word] += 1
                if is_bad(job, row.word):
                    bad.append((job, row))
                    print(f"BAD {row.word}: {text_of(job)}, call {row.number}: {row.detail}",
                          flush=True)
            if time.monotonic() - last_said > 10:
                last_said = time.monotonic()
                print(f"[{last_said - begin:5.0f} s] {done} of {len(jobs)} kinds, {conversations} "
                      f"conversations, {len(bad)} bad", flush=True)
    print()
    print(table(by_transport, sorted(by_transport)))
    print()
    print(table(by_function, sorted(by_function)))
    print(f"\n{conversations} conversations in {time.monotonic() - begin:.0f} s, {len(bad)} bad")
    return 1 if bad or not conversations else 0


if __name__ == "__main__":
    sys.exit(main())
