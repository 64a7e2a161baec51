# SPDX-License-Identifier: Apache-2.0
"""A socket of the library under test among hand-driven peers."""

import zmtp
from harness import Endpoint


class Bench:
    """A socket under test and the raw peers around it."""

    def __init__(self, peers, side, transport):
        self.peers_ = peers
        self.side_ = side
        self.transport = transport
        self.owned_ = []

    def made(self, kind, passwords=None, **options):
        """The socket under test, which admits these names and passwords if there are any."""
        peer = self.peers_.add(self.side_, kind, **options)
        if passwords is not None:
            peer.call("authenticate", passwords=passwords)
        return peer

    def bound(self, kind, **options):
        """The socket under test, bound."""
        endpoint = self.own(Endpoint(self.transport), "release")
        peer = self.made(kind, **options)
        peer.bind(endpoint.text)
        self.address_ = endpoint.address
        return peer

    def dial(self):
        """A raw connection to the bound socket."""
        return self.own(zmtp.dial(self.transport, self.address_), "close")

    def connected(self, kind, **options):
        """The socket under test, connected to a raw listener; returns both."""
        endpoint = self.own(Endpoint(self.transport), "release")
        listener = self.own(zmtp.RawListener(self.transport, endpoint.address), "close")
        peer = self.made(kind, **options)
        peer.connect(endpoint.text)
        return peer, listener

    def meet(self, kind, binds, **options):
        """The socket under test and a raw connection with it, either of them calling."""
        if binds:
            peer = self.bound(kind, **options)
            return peer, self.dial()
        peer, listener = self.connected(kind, **options)
        return peer, self.own(listener.accept(), "close")

    def own(self, thing, method):
        self.owned_.append(getattr(thing, method))
        return thing

    def release(self):
        for release in reversed(self.owned_):
            release()
