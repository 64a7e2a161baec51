# SPDX-License-Identifier: Apache-2.0
"""How a WebSocket is opened: requests to a socket that is bound, and answers to one that connects."""

import base64
import hashlib

import pytest

import zws
from zws import BINARY, FIN, Answer, request

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
REFUSED = ("HANDSHAKE_FAILED_PROTOCOL", 0x30000000)


def accept_value(key):
    return base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()


def recv_head(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.receive()
        assert chunk, data
        data += chunk
    return data


def check_works(router, connection, rest, identity):
    """The WebSocket is open: both sides can send."""
    connection.send(zws.frame(FIN | BINARY, b"\0" + identity) + zws.frame(FIN | BINARY, b"\0hi"))
    assert router.recv() == [identity, b"hi"]
    router.send(identity, b"ho")
    expected = zws.frame(FIN | BINARY, b"\0", masked=False) + zws.frame(FIN | BINARY, b"\0ho", masked=False)
    while len(rest) < len(expected):
        rest += connection.receive()
    assert rest == expected


GOOD_REQUESTS = {
    "as-it-should-be": request(),
    "fields-in-lower-case": request().replace(b"Sec-WebSocket", b"sec-websocket").replace(b"Host", b"host").replace(
        b"Upgrade:", b"upgrade:").replace(b"Connection:", b"connection:"),
    "fields-in-upper-case": request().replace(b"Sec-WebSocket-Key", b"SEC-WEBSOCKET-KEY").replace(
        b"Sec-WebSocket-Protocol", b"SEC-WEBSOCKET-PROTOCOL"),
    "values-in-other-case": request(Upgrade="WebSocket", Connection="uPGRADE"),
    "connection-list": request(Connection="keep-alive, Upgrade"),
    "connection-twice": request(Connection=["keep-alive", "Upgrade"]),
    "upgrade-list": request(Upgrade="h2c, websocket"),
    "spaces-around-values": request(Upgrade="   websocket\t ", Sec_WebSocket_Protocol=" \t ZWS2.0  "),
    "no-spaces": request().replace(b": ", b":"),
    "fields-of-a-browser": request(Origin="https://example.com", User_Agent="Mozilla/5.0", Pragma="no-cache",
                                   Cache_Control="no-cache", Accept_Encoding="gzip, deflate, br",
                                   Cookie="a=b; c=\"d\"", Sec_Fetch_Mode="websocket"),
    "empty-field": request(Cookie=""),
    "path-and-query": request("GET /a/b%20c?d=e&f=/ HTTP/1.1"),
    "whole-uri": request("GET ws://localhost/a HTTP/1.1"),
    "offers-in-one-field": request(Sec_WebSocket_Protocol="mqtt, ZWS2.0 ,wamp"),
    "offers-in-two-fields": request(Sec_WebSocket_Protocol=["mqtt", "ZWS2.0, wamp"]),
    "empty-offers": request(Sec_WebSocket_Protocol=" , ,ZWS2.0,"),
    "deflate": request(Sec_WebSocket_Extensions="permessage-deflate; client_max_window_bits, x-other"),
    "no-version": request(Sec_WebSocket_Version=None),
    "several-versions": request(Sec_WebSocket_Version="8, 13"),
    "empty-body": request(Content_Length="0"),
    "almost-too-long": request(X="x" * (8192 - len(request(X="")))),
}


@pytest.mark.parametrize("name", list(GOOD_REQUESTS))
def test_good_request(ws_bench, name):
    router = ws_bench.bound("ROUTER", monitored=True)
    connection = ws_bench.dial()
    connection.send(GOOD_REQUESTS[name])
    answer = Answer(recv_head(connection))
    assert (answer.version, answer.status) == ("1.1", 101)
    assert answer.fields == {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-protocol": "ZWS2.0",
                             "sec-websocket-accept": accept_value(zws.KEY)}
    check_works(router, connection, answer.rest, b"me")
    assert [event for event, _ in zws.told(router, "HANDSHAKE_SUCCEEDED")] == ["ACCEPTED", "HANDSHAKE_SUCCEEDED"]


@pytest.mark.parametrize("offers, chosen", [
    ("ZWS2.0,ZWS2.0/NULL", "ZWS2.0"), ("ZWS2.0/NULL,ZWS2.0", "ZWS2.0/NULL"), ("ZWS2.0/PLAIN, ZWS2.0", "ZWS2.0"),
    ("ZWS2.0/CURVE, mqtt, ZWS2.0/NULL", "ZWS2.0/NULL"), ("zws2.0, ZWS2.0/null, ZWS2.0", "ZWS2.0")])
def test_choice_of_a_protocol(ws_bench, offers, chosen):
    ws_bench.bound("ROUTER")
    connection = ws_bench.dial()
    connection.send(request(Sec_WebSocket_Protocol=offers))
    assert Answer(recv_head(connection)).fields["sec-websocket-protocol"] == chosen


# The request, the status, and fields that the answer must have.
WRONG_REQUESTS = {
    "not-http": (b"\xff\0\0\0\0\0\0\0\1\x7f", 400, {}),
    "tls": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50), 400, {}),
    "ends-of-lines-without-CR": (request(end="\n"), 400, {}),
    "no-version-of-http": (request("GET /"), 400, {}),
    "lower-case-version": (request("GET / http/1.1"), 400, {}),
    "space-in-the-path": (request("GET /a b HTTP/1.1"), 400, {}),
    "control-character-in-the-path": (request("GET /\x01 HTTP/1.1"), 400, {}),
    "space-before-the-colon": (request().replace(b"Upgrade:", b"Upgrade :"), 400, {}),
    "field-without-a-colon": (request().replace(b"\r\n\r\n", b"\r\nnonsense\r\n\r\n"), 400, {}),
    "field-without-a-name": (request().replace(b"\r\n\r\n", b"\r\n: x\r\n\r\n"), 400, {}),
    "NUL-in-a-value": (request(X="a\0b"), 400, {}),
    "http-1.0": (request("GET / HTTP/1.0"), 505, {}),
    "http-2.0": (request("GET / HTTP/2.0"), 400, {}),
    "POST": (request("POST / HTTP/1.1"), 405, {"allow": "GET"}),
    "HEAD": (request("HEAD / HTTP/1.1"), 405, {"allow": "GET"}),
    "CONNECT": (request("CONNECT localhost:80 HTTP/1.1"), 405, {"allow": "GET"}),
    "OPTIONS": (request("OPTIONS * HTTP/1.1"), 405, {"allow": "GET"}),
    "body": (request(Content_Length="4") + b"body", 400, {}),
    "chunks": (request(Transfer_Encoding="chunked") + b"0\r\n\r\n", 400, {}),
    "no-upgrade": (request(Upgrade=None), 426, {"upgrade": "websocket", "sec-websocket-version": "13"}),
    "upgrade-to-something-else": (request(Upgrade="h2c"), 426, {"upgrade": "websocket"}),
    "no-connection": (request(Connection=None), 426, {"upgrade": "websocket"}),
    "connection-that-closes": (request(Connection="close"), 426, {"upgrade": "websocket"}),
    "version-12": (request(Sec_WebSocket_Version="12"), 426, {"sec-websocket-version": "13"}),
    "version-that-is-no-number": (request(Sec_WebSocket_Version="x"), 426, {"sec-websocket-version": "13"}),
    "no-key": (request(Sec_WebSocket_Key=None), 400, {}),
    "empty-key": (request(Sec_WebSocket_Key=""), 400, {}),
    "two-keys": (request(Sec_WebSocket_Key=[zws.KEY, zws.KEY]), 400, {}),
    "no-protocol": (request(Sec_WebSocket_Protocol=None), 400, {}),
    "other-protocols": (request(Sec_WebSocket_Protocol="mqtt, wamp"), 400, {}),
    "protocol-of-another-mechanism": (request(Sec_WebSocket_Protocol="ZWS2.0/CURVE"), 400, {}),
    "too-long-by-one": (request(X="x" * (8192 - len(request(X="")) + 1)), 431, {}),
    "too-long-a-line": (b"GET /" + b"x" * 20_000, 431, {}),
    "too-many-fields": (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000, 431, {}),
}


@pytest.mark.parametrize("name", list(WRONG_REQUESTS))
def test_wrong_request(ws_bench, name):
    """It is told what is wrong, the monitor that a handshake failed, and others go on."""
    wrong, status, fields = WRONG_REQUESTS[name]
    router = ws_bench.bound("ROUTER", monitored=True)
    good = ws_bench.client("websockets", identity=b"good")
    zws.told(router, "HANDSHAKE_SUCCEEDED")
    connection = ws_bench.dial()
    connection.send_refused(wrong)
    answer = Answer(connection.receive_to_end(), "HEAD" if name == "HEAD" else "GET")
    assert (answer.version, answer.status) == ("1.1", status)
    assert not connection.is_reset
    assert "close" in answer.fields["connection"].lower()
    for field, value in fields.items():
        assert answer.fields[field].lower() == value.lower()
    if name != "HEAD":
        assert answer.body
    assert answer.rest == b""
    events = zws.told(router, "DISCONNECTED")
    assert [event for event, _ in events] == ["ACCEPTED", REFUSED[0], "DISCONNECTED"]
    assert events[1] == REFUSED
    good.send_parts(b"still here")
    assert router.recv() == [b"good", b"still here"]


def test_the_answer_reaches_who_does_not_stop(ws_bench):
    ws_bench.bound("ROUTER")
    connection = ws_bench.dial()
    connection.send(request(Upgrade=None))
    for _ in range(3):
        assert connection.has_input()
        connection.send(b"more")
    assert Answer(connection.receive_to_end()).status == 426
    assert not connection.is_reset


@pytest.mark.parametrize("path, status", [("/a", 101), ("/b/c", 101), ("/a?x=1", 101), ("/", 404), ("/b", 404), ("/b/c/", 404),
                                          ("/A", 404)])
def test_path_among_several(ws_bench, path, status):
    router = ws_bench.bound("ROUTER", "/a")
    router.bind(ws_bench.endpoint.removesuffix("/a") + "/b/c")
    connection = ws_bench.dial()
    connection.send(request(f"GET {path} HTTP/1.1"))
    answer = Answer(recv_head(connection) if status == 101 else connection.receive_to_end())
    assert answer.status == status
    if status == 101:
        check_works(router, connection, answer.rest, b"me")


def test_request_byte_by_byte_with_messages_behind_it(ws_bench):
    router = ws_bench.bound("ROUTER")
    connection = ws_bench.dial()
    for value in request() + zws.frame(FIN | BINARY, b"\0slow") + zws.frame(FIN | BINARY, b"\0one"):
        connection.send(bytes([value]))
    assert router.recv() == [b"slow", b"one"]


def test_request_and_messages_at_once(ws_bench):
    router = ws_bench.bound("ROUTER")
    connection = ws_bench.dial()
    connection.send(request() + zws.frame(FIN | BINARY, b"\0fast") +
                    b"".join(zws.frame(FIN | BINARY, b"\0%d" % number) for number in range(1000)))
    for number in range(1000):
        assert router.recv() == [b"fast", b"%d" % number]
    assert Answer(recv_head(connection)).status == 101


def test_request_that_does_not_end_is_given_up(ws_bench):
    router = ws_bench.bound("ROUTER", monitored=True, HANDSHAKE_IVL=100)
    connection = ws_bench.dial()
    connection.send(request()[:-2])
    assert connection.receive_to_end() == b""
    assert zws.told(router, "DISCONNECTED")[-2][0] == "HANDSHAKE_FAILED_NO_DETAIL"


def test_request_that_is_cut_off(ws_bench):
    router = ws_bench.bound("ROUTER", monitored=True)
    connection = ws_bench.dial()
    connection.send(request()[:-2])
    connection.close()
    assert "HANDSHAKE_SUCCEEDED" not in [event for event, _ in zws.told(router, "DISCONNECTED")]


def test_compression_is_not_agreed_to(ws_bench, library):
    router = ws_bench.bound("ROUTER")
    client = zws.LIBRARIES[library](ws_bench.dial(), True)
    assert client.open(deflate=True)
    assert not client.extensions
    client.introduce(identity=b"me")
    client.send_parts(b"a" * 1000)
    assert router.recv() == [b"me", b"a" * 1000]
    router.send(b"me", b"b" * 1000)
    assert client.recv_parts() == [b"b" * 1000]


# -- the side that connects -------------------------------------------------------------------


def key_of(asked):
    """The key of a request, which is checked on the way."""
    line, *fields = asked.decode().removesuffix("\r\n\r\n").split("\r\n")
    assert line == "GET /some/path?query HTTP/1.1"
    fields = dict(field.split(": ") for field in fields)
    key = fields.pop("Sec-WebSocket-Key")
    assert len(base64.b64decode(key, validate=True)) == 16
    host = fields.pop("Host")
    assert host.startswith("127.0.0.1:")
    assert fields == {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                      "Sec-WebSocket-Protocol": "ZWS2.0/NULL,ZWS2.0"}
    return key


def answer_text(key, line="HTTP/1.1 101 Switching Protocols", **changes):
    fields = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept_value(key),
              "Sec-WebSocket-Protocol": "ZWS2.0"}
    for name, value in changes.items():
        fields[name.replace("_", "-")] = value
    lines = [line] + [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def connect(bench, **options):
    """A monitored ROUTER that has connected, what it has connected to, and its key."""
    router = bench.connected("ROUTER", "/some/path?query", monitored=True, RECONNECT_IVL=10, **options)
    connection = bench.accept()
    return router, connection, key_of(recv_head(connection))


GOOD_ANSWERS = {
    "as-it-should-be": lambda key: answer_text(key),
    "no-reason": lambda key: answer_text(key, "HTTP/1.1 101 "),
    "other-reason": lambda key: answer_text(key, "HTTP/1.1 101 Web Socket Protocol Handshake"),
    "other-case": lambda key: answer_text(key, Upgrade="WebSocket", Connection="UPGRADE").replace(
        b"Sec-WebSocket", b"SEC-WEBSOCKET"),
    "lists": lambda key: answer_text(key, Connection="keep-alive, upgrade"),
    "spaces": lambda key: answer_text(key).replace(b": ", b":\t "),
    "more-fields": lambda key: answer_text(key, Server="x/1", Date="Sat, 28 Nov 2026 00:00:00 GMT", Set_Cookie="a=b"),
}


@pytest.mark.parametrize("name", list(GOOD_ANSWERS))
def test_good_answer(ws_bench, name):
    router, connection, key = connect(ws_bench)
    connection.send(GOOD_ANSWERS[name](key) + zws.frame(FIN | BINARY, b"\0me", masked=False) +
                    zws.frame(FIN | BINARY, b"\0at once", masked=False))
    assert router.recv() == [b"me", b"at once"]
    assert zws.told(router, "HANDSHAKE_SUCCEEDED")[-1] == ("HANDSHAKE_SUCCEEDED", 0)


def test_answer_byte_by_byte_with_messages_behind_it(ws_bench):
    router, connection, key = connect(ws_bench)
    for value in (answer_text(key) + zws.frame(FIN | BINARY, b"\0slow", masked=False) +
                  zws.frame(FIN | BINARY, b"\0one", masked=False)):
        connection.send(bytes([value]))
    assert router.recv() == [b"slow", b"one"]


WRONG_ANSWERS = {
    "not-http": lambda key: b"\xff\0\0\0\0\0\0\0\1\x7f",
    "http-1.0": lambda key: answer_text(key, "HTTP/1.0 101 Switching Protocols"),
    "200": lambda key: answer_text(key, "HTTP/1.1 200 OK"),
    "301": lambda key: b"HTTP/1.1 301 Moved Permanently\r\nLocation: ws://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    "400": lambda key: b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "401": lambda key: b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
    "403": lambda key: b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
    "no-upgrade": lambda key: answer_text(key, Upgrade=None),
    "no-connection": lambda key: answer_text(key, Connection=None),
    "no-accept": lambda key: answer_text(key, Sec_WebSocket_Accept=None),
    "other-accept": lambda key: answer_text(key, Sec_WebSocket_Accept=accept_value(zws.KEY)),
    "accept-that-is-the-key": lambda key: answer_text(key, Sec_WebSocket_Accept=key),
    "no-protocol": lambda key: answer_text(key, Sec_WebSocket_Protocol=None),
    "other-protocol": lambda key: answer_text(key, Sec_WebSocket_Protocol="mqtt"),
    "protocol-that-was-not-asked-for": lambda key: answer_text(key, Sec_WebSocket_Protocol="ZWS2.0/PLAIN"),
    "two-protocols": lambda key: answer_text(key, Sec_WebSocket_Protocol="ZWS2.0, ZWS2.0/NULL"),
    "deflate": lambda key: answer_text(key, Sec_WebSocket_Extensions="permessage-deflate"),
    "space-before-the-colon": lambda key: answer_text(key).replace(b"Upgrade:", b"Upgrade :"),
    "ends-of-lines-without-CR": lambda key: answer_text(key).replace(b"\r\n", b"\n"),
    "too-long": lambda key: answer_text(key, X="x" * 8192),
}


@pytest.mark.parametrize("name", list(WRONG_ANSWERS))
def test_wrong_answer(ws_bench, name):
    """The connection ends, the monitor is told, and it is not tried again."""
    router, connection, key = connect(ws_bench)
    connection.send_refused(WRONG_ANSWERS[name](key))
    assert connection.receive_to_end() == b""
    events = zws.told(router, "DISCONNECTED")
    assert events[-2] == REFUSED
    assert not ws_bench.has_caller(within_s=0.03)


@pytest.mark.parametrize("status", ["404 Not Found", "429 Too Many Requests", "500 Internal Server Error", "502 Bad Gateway",
                                    "503 Service Unavailable", "504 Gateway Timeout"])
def test_server_that_cannot_serve_now(ws_bench, status):
    """It is tried again."""
    router, connection, _ = connect(ws_bench)
    connection.send(f"HTTP/1.1 {status}\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nlate".encode())
    assert connection.receive_to_end() == b""
    assert zws.told(router, "DISCONNECTED")[-2][0] == "HANDSHAKE_FAILED_NO_DETAIL"
    server = ws_bench.server("websockets", identity=b"now")
    server.send_parts(b"here")
    assert router.recv() == [b"now", b"here"]


def test_server_that_ends_without_an_answer(ws_bench):
    router, connection, _ = connect(ws_bench)
    connection.close()
    server = ws_bench.server("wsproto", identity=b"now")
    server.send_parts(b"here")
    assert router.recv() == [b"now", b"here"]


def test_keys_differ(ws_bench):
    keys = {connect(ws_bench)[2] for _ in range(5)}
    assert len(keys) == 5
