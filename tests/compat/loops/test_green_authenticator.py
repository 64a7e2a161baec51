# SPDX-License-Identifier: Apache-2.0
"""pyzmq's authenticator in a greenlet, with server and clients in others: all wait on ZMQ_FD of one thread.

pyzmq's own tests cover its authenticators in a thread and in asyncio, not this one.
"""

import gevent
import gevent.socket
import pytest
import zmq
import zmq.auth
import zmq.green
from zmq.utils.monitor import parse_monitor_message

LIMIT_S = 20
SERVER, CLIENT, STRANGER = (zmq.curve_keypair() for _ in range(3))


def curve_client(keys):
    return {"curve_publickey": keys[0], "curve_secretkey": keys[1], "curve_serverkey": SERVER[0]}


# Options of the server, of a client that is admitted and of one that is not.
MECHANISMS = {
    "null": ({}, {}, None),
    "plain": ({"plain_server": True}, {"plain_username": b"admin", "plain_password": b"secret"},
              {"plain_username": b"admin", "plain_password": b"wrong"}),
    "curve": ({"curve_server": True, "curve_secretkey": SERVER[1]}, curve_client(CLIENT), curve_client(STRANGER)),
}


def run_to_its_end(coroutine):
    """It only sends its answer, and so never yields to a loop."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("the authenticator waits for an event loop")


def authenticate(authenticator):
    """The authenticator's own socket is none of gevent's: receiving from it may not block the thread."""
    requests = authenticator.zap_socket
    while True:
        while requests.events & zmq.POLLIN:
            run_to_its_end(authenticator.handle_zap_message(requests.recv_multipart()))
        gevent.socket.wait_read(requests.fd)


class AdmitsClient:
    """Knows the one public key."""

    def callback(self, domain, key):
        return key == CLIENT[0]


@pytest.fixture
def context():
    """A context whose handlers of ZAP are served by a greenlet."""
    with zmq.green.Context() as made:
        authenticator = zmq.auth.Authenticator(made)
        authenticator.start()
        authenticator.configure_plain(domain="global", passwords={"admin": "secret"})
        authenticator.configure_curve_callback(domain="global", credentials_provider=AdmitsClient())
        server = gevent.spawn(authenticate, authenticator)
        yield made
        assert not server.ready(), server.exception
        server.kill()
        authenticator.stop()
        made.destroy(linger=0)


def opened(context, kind, options):
    socket = context.socket(kind)
    socket.linger = 0
    for name, value in options.items():
        setattr(socket, name, value)
    return socket


def bound(context, kind, options):
    socket = opened(context, kind, options)
    socket.zap_domain = b"global"
    socket.bind("tcp://127.0.0.1:*")
    return socket


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_ten_clients_ask(context, mechanism):
    serves, asks, _ = MECHANISMS[mechanism]
    router = bound(context, zmq.ROUTER, serves)

    def answer():
        while True:
            router.send_multipart(router.recv_multipart())

    def ask(name):
        dealer = opened(context, zmq.DEALER, asks)
        dealer.connect(router.last_endpoint)
        for number in range(500):
            dealer.send_multipart([name, b"%d" % number, b""])
            assert dealer.recv_multipart() == [name, b"%d" % number, b""]
        dealer.close()
        return name

    server = gevent.spawn(answer)
    clients = [gevent.spawn(ask, b"%d" % number) for number in range(10)]
    gevent.joinall(clients, timeout=LIMIT_S, raise_error=True)
    assert [client.value for client in clients] == [b"%d" % number for number in range(10)]
    server.kill()
    router.close()


@pytest.mark.parametrize("mechanism", ["plain", "curve"])
def test_a_stranger_is_refused(context, mechanism):
    serves, asks, is_refused = MECHANISMS[mechanism]
    pull = bound(context, zmq.PULL, serves)
    pull.rcvtimeo = LIMIT_S * 1000
    monitor = pull.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_AUTH)
    monitor.rcvtimeo = LIMIT_S * 1000
    stranger = opened(context, zmq.PUSH, is_refused)
    stranger.connect(pull.last_endpoint)
    stranger.send(b"unwanted")
    told = parse_monitor_message(monitor.recv_multipart())
    assert (told["event"], told["value"]) == (zmq.Event.HANDSHAKE_FAILED_AUTH, 400)
    friend = opened(context, zmq.PUSH, asks)
    friend.connect(pull.last_endpoint)
    friend.send(b"wanted")
    assert pull.recv() == b"wanted"
    pull.disable_monitor()
    for socket in (monitor, stranger, friend, pull):
        socket.close()
