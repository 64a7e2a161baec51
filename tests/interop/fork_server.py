# SPDX-License-Identifier: Apache-2.0
"""Starts the peer processes of one side: has loaded Python, pyzmq and the library, and forks.

A fresh interpreter takes longer to start than most tests take. The server itself uses nothing of
the library, so a peer finds it as a fresh process would.

Driven over a SOCK_SEQPACKET socket on stdin, whose end ends the server. A request is a JSON list,
the arguments of peer.py, with four descriptors: stdin, stdout and stderr of the peer, and where its
exit status goes, as text, once it has ended (negative: the signal). The answer is the process id,
or why there is no process.
"""

import gc
import json
import os
import select
import signal
import socket
import sys
import traceback

import peer


def run_peer(arguments, descriptors):
    """In the new process: becomes the peer. Does not return."""
    status = 1
    try:
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
        os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
        peer.main(arguments)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


class Server:
    def __init__(self, control):
        self.control_ = control
        self.status_descriptors_ = {}

    def run(self):
        child_ended, wakeup = os.pipe()
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(wakeup)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            ready, _, _ = select.select([self.control_, child_ended], [], [])
            if child_ended in ready:
                os.read(child_ended, 4096)
                self.reap()
            if self.control_ in ready and not self.start_peer():
                return

    def start_peer(self):
        """Answers one request; False at the end of the requests."""
        request, descriptors, _, _ = socket.recv_fds(self.control_, 1 << 16, 4)
        if not request:
            return False
        try:
            process = os.fork()
        except OSError as error:
            for descriptor in descriptors:
                os.close(descriptor)
            self.control_.send(f"cannot fork: {error}".encode())
            return True
        if process == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            run_peer(json.loads(request), descriptors[:3])
        for descriptor in descriptors[:3]:
            os.close(descriptor)
        self.status_descriptors_[process] = descriptors[3]
        self.control_.send(str(process).encode())
        return True

    def reap(self):
        while self.status_descriptors_:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                return
            descriptor = self.status_descriptors_.pop(process)
            try:
                os.write(descriptor, str(os.waitstatus_to_exitcode(status)).encode())
            except BrokenPipeError:
                pass  # nobody waits for it any more
            os.close(descriptor)


def main():
    control = socket.socket(fileno=os.dup(0))
    peer.load_all_roles()
    gc.freeze()
    Server(control).run()


if __name__ == "__main__":
    main()
