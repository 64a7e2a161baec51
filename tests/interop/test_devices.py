# SPDX-License-Identifier: Apache-2.0
"""zmq_proxy_steerable of one library between sockets of the other."""

import content

COUNT = 2_000
TIMEOUT_MS = 20_000


def device(link, kinds, **options):
    proxy = link.peers.add(link.binder, kinds, role="device", **options)
    back = link.new_endpoint()
    proxy.call("bind", which="front", endpoint=link.endpoint)
    proxy.call("bind", which="back", endpoint=back)
    proxy.call("run")
    return proxy, back


def test_requests_through_a_device(link):
    proxy, back = device(link, "ROUTER,DEALER", SNDHWM=0, RCVHWM=0)
    spec = content.series("request", COUNT)
    worker = link.peers.add(link.connector, "DEALER", SNDHWM=0, RCVHWM=0)
    worker.connect(back)
    worker.start_echo(spec, strip=1, timeout_ms=TIMEOUT_MS)
    client = link.connect("DEALER", SNDHWM=0, RCVHWM=0)
    client.request(spec, timeout_ms=TIMEOUT_MS)
    worker.result()
    numbers = proxy.call("statistics")
    assert numbers[0] == numbers[6] == numbers[2] == numbers[4]  # every part, both ways
    assert numbers[1] == numbers[7] and numbers[3] == numbers[5]
    assert proxy.call("terminate")


def test_stream_of_work_under_back_pressure(link):
    proxy, back = device(link, "PULL,PUSH", SNDHWM=5, RCVHWM=5)
    spec = content.series("work", COUNT)
    sink = link.peers.add(link.connector, "PULL", RCVHWM=5)
    sink.connect(back)
    sink.start_expect(spec, timeout_ms=TIMEOUT_MS)
    source = link.connect("PUSH", SNDHWM=5)
    source.send_all(spec, timeout_ms=TIMEOUT_MS)
    sink.result()
    assert proxy.call("statistics")[0] >= COUNT
    assert proxy.call("terminate")
