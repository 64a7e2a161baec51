# SPDX-License-Identifier: Apache-2.0
"""A proxy that knows the records of TLS, and spoils them."""

import select
import socket
import threading

HEAD_BYTES = 5
CLIENT, SERVER = "client", "server"
HOST = "127.0.0.1"


def alter(record):
    """One bit of the last byte."""
    return [record[:-1] + bytes([record[-1] ^ 1])]


def cut(record):
    """The connection ends in the midst of it."""
    return [record[:HEAD_BYTES + (len(record) - HEAD_BYTES) // 2], None]


def cut_before(_):
    """The connection ends."""
    return [None]


def stall(_):
    """Nothing more comes."""
    return []


class RecordProxy:
    """Carries connections to a port of this host, one after the other, in a thread of its own.

    `rule(sender, number, record)` lists for each record of the first connection what is carried instead, with None for
    an end of the connection. An empty list means that nothing more of this sender is carried; the other side then does
    not learn of an end either. `applied` is set once anything but the record itself was listed.
    """

    def __init__(self, target_port, rule):
        self.target_port_ = target_port
        self.rule_ = rule
        self.listening_ = socket.create_server((HOST, 0))
        self.port = self.listening_.getsockname()[1]
        self.stop_, self.stopped_ = socket.socketpair()
        self.applied = threading.Event()
        self.thread_ = threading.Thread(target=self.run_, daemon=True)
        self.thread_.start()

    def close(self):
        self.stop_.close()
        self.thread_.join()
        self.stopped_.close()
        self.listening_.close()

    def run_(self):
        rule = self.rule_
        while self.stopped_ not in select.select([self.listening_, self.stopped_], [], [])[0]:
            with self.listening_.accept()[0] as client, self.reach_(client) as server:
                for end in client, server:
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.carry_(client, server, rule)
            rule = None

    def reach_(self, client):
        """A connection to where the client wants to go."""
        return socket.create_connection((HOST, self.target_port_))

    def carry_(self, client, server, rule):
        names = {client: CLIENT, server: SERVER}
        others = {client: server, server: client}
        pending = {client: b"", server: b""}
        numbers = {CLIENT: 0, SERVER: 0}
        silent = set()
        open_ends = [client, server]
        while open_ends:
            ready, _, _ = select.select([*open_ends, self.stopped_], [], [])
            if self.stopped_ in ready:
                return
            for end in ready:
                try:
                    chunk = end.recv(65536)
                    if not chunk:
                        if not silent:
                            return
                        open_ends.remove(end)  # the other side is not to learn of it
                    if end in silent:
                        continue
                    pending[end] += chunk
                    while (record := first_record(pending[end])) and end not in silent:
                        pending[end] = pending[end][len(record):]
                        sender = names[end]
                        told = rule(sender, numbers[sender], record) if rule else [record]
                        numbers[sender] += 1
                        if told != [record]:
                            self.applied.set()
                        if not told:
                            silent.add(end)
                        for part in told:
                            if part is None:
                                return
                            others[end].sendall(part)
                except (ConnectionResetError, BrokenPipeError):
                    if not silent:
                        return
                    open_ends.remove(end)


class SocksProxy(RecordProxy):
    """A SOCKS5 server that takes every name for one of this host; `asked` has the targets, as (name, port)."""

    def __init__(self):
        self.asked = []
        super().__init__(None, None)

    def reach_(self, client):
        version, methods = exactly(client, 2)
        assert version == 5 and 0 in exactly(client, methods)
        client.sendall(b"\x05\x00")
        assert exactly(client, 4) == b"\x05\x01\x00\x03", "not a name"
        name = exactly(client, exactly(client, 1)[0]).decode()
        port = int.from_bytes(exactly(client, 2), "big")
        self.asked.append((name, port))
        server = socket.create_connection((HOST, port))
        client.sendall(b"\x05\x00\x00\x01" + bytes(6))
        return server


def exactly(connection, size):
    data = connection.recv(size, socket.MSG_WAITALL)
    assert len(data) == size
    return data


def first_record(data):
    """The first record if it is there as a whole."""
    if len(data) < HEAD_BYTES:
        return b""
    size = HEAD_BYTES + int.from_bytes(data[3:5], "big")
    return data[:size] if len(data) >= size else b""
