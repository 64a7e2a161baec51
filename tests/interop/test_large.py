# SPDX-License-Identifier: Apache-2.0
"""Messages of 100 MB."""

import pytest

import content
from test_security import MECHANISMS, bind_server

TIMEOUT_MS = 40_000


def lone(tag):
    return content.series(tag, 1, size=content.HUGE_BYTES)


def test_push_pull(link):
    push, pull = link.pair("PUSH", "PULL", True)
    pull.start_expect(lone("huge"), timeout_ms=TIMEOUT_MS)
    push.send_all(lone("huge"), timeout_ms=TIMEOUT_MS)
    pull.result()
    # The connection is still in step after it.
    pull.start_expect(content.series("after", 100))
    push.send_all(content.series("after", 100))
    pull.result()


def test_dealer_router(link):
    dealer, router = link.pair("DEALER", "ROUTER", False, {"ROUTING_ID": b"d"})
    router.start_echo(lone("huge"), strip=1, timeout_ms=TIMEOUT_MS)
    assert dealer.request(lone("huge"), timeout_ms=TIMEOUT_MS) == 1
    router.result()
    router.start_echo(content.shapes("after"), strip=1)
    dealer.request(content.shapes("after"))
    router.result()


@pytest.mark.parametrize("link", [("zlink-genuine", "tcp"), ("genuine-zlink", "tcp")], indirect=True,
                         ids=["zlink-serves", "genuine-serves"])
@pytest.mark.parametrize("mechanism", ["plain", "curve"])
def test_dealer_router_with_security(link, mechanism):
    """There and back, so each library is the sender as well as the receiver."""
    server, client = MECHANISMS[mechanism]
    router = bind_server(link, "ROUTER", server)
    dealer = link.connect("DEALER", **client)
    router.start_echo(lone("huge"), strip=1, timeout_ms=TIMEOUT_MS)
    assert dealer.request(lone("huge"), timeout_ms=TIMEOUT_MS) == 1
    router.result()
    router.start_echo(content.shapes("after"), strip=1)
    dealer.request(content.shapes("after"))
    router.result()
