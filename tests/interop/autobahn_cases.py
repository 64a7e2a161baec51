# SPDX-License-Identifier: Apache-2.0
"""The cases of the Autobahn test suite for WebSockets, by their published descriptions.

They are for a peer that sends each message back. A STREAM socket does so for binary messages, so that what Autobahn sends
as text is sent as binary here; text itself gets the close code that is documented, in sections 1.1 and 6. Sections 12 and
13 are about compression, which is not negotiated. What each case expects is what Autobahn calls strict.
"""

from dataclasses import dataclass, field

from zws import BINARY, CLOSE, CONTINUATION, FIN, NO_CODE, PING, PONG, TEXT, close_data, frame

OCTETS = 1
FRAMES = None

PROTOCOL_ERROR, NO_TEXT, UNACCEPTABLE_DATA = 1002, 1007, 1003


@dataclass
class Case:
    """What is sent, and what has to come back.

    `frames`: first byte and payload of each. `piece`: the bytes of each write; FRAMES: a frame with each. `answers`: all
    that comes before the end. `close`: the code with which the other side ends the connection by itself; None if it only
    answers a close frame with 1000. What is behind a message may end the connection before the application has answered
    the message, so that its answer may be missing; Autobahn calls that non-strict, but for 7.1.1.
    """

    name: str
    frames: list
    answers: list = field(default_factory=list)
    close: int = None
    piece: int = FRAMES

    def writes(self):
        for first, data in self.frames:
            whole = frame(first, data)
            step = self.piece or len(whole)
            for at in range(0, len(whole), step):
                yield whole[at:at + step]


def message(data):
    return (FIN | BINARY, data)


def echo(data):
    return ("message", data)


def pong(data=b""):
    return ("pong", data)


HELLO = b"Hello, world!"
PINGED = (FIN | PING, b"")


def fragments(data, size):
    pieces = [data[at:at + size] for at in range(0, len(data), size)]
    return [((BINARY if number == 0 else CONTINUATION) | (FIN if number == len(pieces) - 1 else 0), piece)
            for number, piece in enumerate(pieces)]


def framing():
    for number, (size, piece) in enumerate([(0, None), (125, None), (126, None), (127, None), (128, None),
                                            (65535, None), (65536, None), (65536, 997)], 1):
        yield Case(f"1.1.{number}", [(FIN | TEXT, b"*" * size)], close=UNACCEPTABLE_DATA, piece=piece)
        # An empty message is no chunk of a STREAM: nothing comes back, and the connection goes on.
        answers = [echo(b"\xfe" * size)] if size else []
        yield Case(f"1.2.{number}", [message(b"\xfe" * size)], answers, piece=piece)


def pings():
    binary = b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff"
    longest = b"\xfe" * 125
    yield Case("2.1", [PINGED], [pong()])
    yield Case("2.2", [(FIN | PING, HELLO)], [pong(HELLO)])
    yield Case("2.3", [(FIN | PING, binary)], [pong(binary)])
    yield Case("2.4", [(FIN | PING, longest)], [pong(longest)])
    yield Case("2.5", [(FIN | PING, longest + b"\xfe")], close=PROTOCOL_ERROR)
    yield Case("2.6", [(FIN | PING, longest)], [pong(longest)], piece=OCTETS)
    yield Case("2.7", [(FIN | PONG, b"")])
    yield Case("2.8", [(FIN | PONG, b"unsolicited")])
    yield Case("2.9", [(FIN | PONG, b"unsolicited"), (FIN | PING, b"ping")], [pong(b"ping")])
    ten = [b"payload %d" % number for number in range(10)]
    for name, piece in (("2.10", FRAMES), ("2.11", OCTETS)):
        yield Case(name, [(FIN | PING, data) for data in ten], [pong(data) for data in ten], piece=piece)


def reserved_bits():
    def bits(value):
        return FIN | value << 4

    yield Case("3.1", [(bits(1) | BINARY, HELLO)], close=PROTOCOL_ERROR)
    for name, value, piece in (("3.2", 2, FRAMES), ("3.3", 3, FRAMES), ("3.4", 4, OCTETS)):
        yield Case(name, [message(HELLO), (bits(value) | BINARY, HELLO), PINGED], [echo(HELLO)], PROTOCOL_ERROR, piece)
    yield Case("3.5", [(bits(5) | BINARY, bytes(8))], close=PROTOCOL_ERROR)
    yield Case("3.6", [(bits(6) | PING, HELLO)], close=PROTOCOL_ERROR)
    yield Case("3.7", [(bits(7) | CLOSE, b"")], close=PROTOCOL_ERROR)


def opcodes():
    for section, begin in (("4.1", 3), ("4.2", 11)):
        yield Case(f"{section}.1", [(FIN | begin, b"")], close=PROTOCOL_ERROR)
        yield Case(f"{section}.2", [(FIN | begin + 1, b"reserved")], close=PROTOCOL_ERROR)
        for number, data, piece in ((3, b"", FRAMES), (4, HELLO, FRAMES), (5, HELLO, OCTETS)):
            yield Case(f"{section}.{number}", [message(HELLO), (FIN | begin + number - 1, data), PINGED], [echo(HELLO)],
                       PROTOCOL_ERROR, piece)


def fragmentation():
    yield Case("5.1", [(PING, b"frag"), (FIN | CONTINUATION, b"ment")], close=PROTOCOL_ERROR)
    yield Case("5.2", [(PONG, b"frag"), (FIN | CONTINUATION, b"ment")], close=PROTOCOL_ERROR)
    two = [(BINARY, b"fragment1"), (FIN | CONTINUATION, b"fragment2")]
    whole = echo(b"fragment1fragment2")
    with_ping = [two[0], (FIN | PING, HELLO), two[1]]
    for number, piece in enumerate((10_000, FRAMES, OCTETS)):
        yield Case(f"5.{3 + number}", two, [whole], piece=piece)
        yield Case(f"5.{6 + number}", with_ping, [pong(HELLO), whole], piece=piece)
        yield Case(f"5.{9 + number}", [(FIN | CONTINUATION, b"nothing"), message(HELLO)], close=PROTOCOL_ERROR, piece=piece)
        yield Case(f"5.{12 + number}", [(CONTINUATION, b"nothing"), message(HELLO)], close=PROTOCOL_ERROR, piece=piece)
    yield Case("5.15", [*two, (CONTINUATION, b"fragment3"), message(b"fragment4")], [whole], PROTOCOL_ERROR)
    yield Case("5.16", 2 * [(CONTINUATION, b"fragment1"), (FIN | BINARY, b"fragment2")], close=PROTOCOL_ERROR)
    yield Case("5.17", 2 * [(FIN | CONTINUATION, b"fragment1"), (BINARY, b"fragment2")], close=PROTOCOL_ERROR)
    yield Case("5.18", [(BINARY, b"fragment1"), (FIN | BINARY, b"fragment2")], close=PROTOCOL_ERROR)
    five = [(BINARY, b"fragment1"), (CONTINUATION, b"fragment2"), (FIN | PING, b"pongme 1!"), (CONTINUATION, b"fragment3"),
            (CONTINUATION, b"fragment4"), (FIN | PING, b"pongme 2!"), (FIN | CONTINUATION, b"fragment5")]
    answers = [pong(b"pongme 1!"), pong(b"pongme 2!"), echo(b"".join(b"fragment%d" % number for number in range(1, 6)))]
    yield Case("5.19", five, answers, piece=OCTETS)
    yield Case("5.20", five, answers)


def text():
    """All of section 6 is text, good and bad: it is refused before it is looked at."""
    kosme = "κόσμε".encode()
    for name, frames in {
        "6.1.1": [(FIN | TEXT, b"")],
        "6.1.2": [(TEXT, b""), (CONTINUATION, b""), (FIN | CONTINUATION, b"")],
        "6.1.3": [(TEXT, b""), (CONTINUATION, b"middle frame payload"), (FIN | CONTINUATION, b"")],
        "6.2.1": [(FIN | TEXT, "Hello-µ@ßöäüàá-UTF-8!!".encode())],
        "6.2.3": [(TEXT if at == 0 else CONTINUATION if at < len(kosme) - 1 else FIN | CONTINUATION, kosme[at:at + 1])
                  for at in range(len(kosme))],
        "6.3.1": [(FIN | TEXT, kosme + b"\xed\xa0\x80" + b"edited")],
        "6.4.1": [(TEXT, kosme), (CONTINUATION, b"\xf4\x90\x80\x80"), (FIN | CONTINUATION, b"edited")],
    }.items():
        yield Case(name, frames, close=UNACCEPTABLE_DATA)


def closing():
    bye = (FIN | CLOSE, close_data(1000))
    yield Case("7.1.1", [message(HELLO), bye], [echo(HELLO)], 1000)
    yield Case("7.1.2", [bye, bye], close=1000)
    yield Case("7.1.3", [bye, PINGED], close=1000)
    yield Case("7.1.4", [bye, message(HELLO)], close=1000)
    yield Case("7.1.5", [(BINARY, b"fragment1"), bye, (FIN | CONTINUATION, b"fragment2")], close=1000)
    yield Case("7.3.1", [(FIN | CLOSE, b"")], close=NO_CODE)
    yield Case("7.3.2", [(FIN | CLOSE, b"a")], close=PROTOCOL_ERROR)
    yield Case("7.3.3", [bye], close=1000)
    yield Case("7.3.4", [(FIN | CLOSE, close_data(1000, HELLO))], close=1000)
    yield Case("7.3.5", [(FIN | CLOSE, close_data(1000, b"*" * 123))], close=1000)
    yield Case("7.3.6", [(FIN | CLOSE, close_data(1000, b"*" * 124))], close=PROTOCOL_ERROR)
    yield Case("7.5.1", [(FIN | CLOSE, close_data(1000, "κόσμε".encode() + b"\xed\xa0\x80edited"))], close=NO_TEXT)
    for number, code in enumerate((1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999), 1):
        yield Case(f"7.7.{number}", [(FIN | CLOSE, close_data(code, b"reason"))], close=code)
    for number, code in enumerate((0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999), 1):
        yield Case(f"7.9.{number}", [(FIN | CLOSE, close_data(code, b"reason"))], close=PROTOCOL_ERROR)
    yield Case("7.13.1", [(FIN | CLOSE, close_data(5000))], close=PROTOCOL_ERROR)
    yield Case("7.13.2", [(FIN | CLOSE, close_data(65535))], close=PROTOCOL_ERROR)


def limits():
    kib, mib = 1024, 1024 * 1024
    for number, size in enumerate((64 * kib, 256 * kib, mib, 4 * mib, 8 * mib, 16 * mib), 1):
        yield Case(f"9.2.{number}", [message(b"\xfe" * size)], [echo(b"\xfe" * size)])
    for number, size in enumerate((64, 256, kib, 4 * kib, 16 * kib, 64 * kib, 256 * kib, mib, 4 * mib), 1):
        yield Case(f"9.4.{number}", fragments(b"\xfe" * (4 * mib), size), [echo(b"\xfe" * (4 * mib))], piece=4 * mib)
    for number, size in enumerate((64, 128, 256, 512, 1024, 2048), 1):
        yield Case(f"9.6.{number}", [message(b"\xfe" * mib)], [echo(b"\xfe" * mib)], piece=size)


# How many messages of which size are sent and awaited one by one.
ROUND_TRIPS = {f"9.8.{number}": (1000, size) for number, size in enumerate((0, 16, 64, 256, 1024, 4096), 1) if size}


def auto_fragmentation():
    data = b"*" * 65536
    yield Case("10.1.1", fragments(data, 1300), [echo(data)])


CASES = {case.name: case for section in (framing, pings, reserved_bits, opcodes, fragmentation, text, closing, limits,
                                         auto_fragmentation) for case in section()}
