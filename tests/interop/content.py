# SPDX-License-Identifier: Apache-2.0
"""Message contents that two processes can derive from the same small description.

A description ("spec") is a JSON value; `expand` turns it into the sequence of multipart messages,
each a list of bytes. The sender sends them, the receiver compares with its own expansion.
"""

import functools
import random

SIZES = (0, 1, 254, 255, 256, 8191, 8192, 8193, 65535, 65536, 65537, 1_000_000)
HUGE_BYTES = 100_000_000


@functools.lru_cache(maxsize=16)
def fill(seed, size):
    """`size` pseudo-random bytes that depend only on the arguments."""
    return random.Random(f"{seed}:{size}").randbytes(size)


def series(tag, count, size=32, first=0, prefix=""):
    """`count` numbered messages of one part: prefix, tag, number, filler of `size` bytes."""
    return {"kind": "series", "tag": tag, "count": count, "size": size, "first": first,
            "prefix": prefix}


def shapes(tag):
    """Multipart messages: 1 to 10 parts, an empty frame at each place, all frames empty."""
    return {"kind": "shapes", "tag": tag}


def sizes(tag, values=SIZES):
    """Each size as a lone part, as the head and as the tail of a two-part message."""
    return {"kind": "sizes", "tag": tag, "sizes": list(values)}


def listed(*messages):
    """Messages given part by part as bytes."""
    return {"kind": "listed", "messages": [[part.hex() for part in parts] for parts in messages]}


def numbered(tag, number, size, prefix=""):
    """The one part of message `number` of a series."""
    return f"{prefix}{tag}|{number}|".encode() + fill(f"{tag}{number % 8}", size)


def parse_numbered(part):
    """(tag, number) of a part made by `numbered`; ValueError if it is none."""
    tag, number, _ = part.split(b"|", 2)
    return tag.decode(), int(number)


def _expand_shapes(tag):
    for count in range(1, 11):
        full = [f"{tag} part {i} of {count}".encode() for i in range(count)]
        yield full
        for hole in range(count):
            yield [b"" if i == hole else part for i, part in enumerate(full)]
        yield [b""] * count


def _expand_sizes(tag, values):
    for size in values:
        body = fill(tag, size)
        yield [body]
        yield [body, b"tail"]
        yield [b"head", body]


def expand(spec):
    """Iterator of the multipart messages that `spec` describes."""
    kind = spec["kind"]
    if kind == "series":
        for number in range(spec["first"], spec["first"] + spec["count"]):
            yield [numbered(spec["tag"], number, spec["size"], spec["prefix"])]
    elif kind == "shapes":
        yield from _expand_shapes(spec["tag"])
    elif kind == "sizes":
        yield from _expand_sizes(spec["tag"], spec["sizes"])
    elif kind == "listed":
        for parts in spec["messages"]:
            yield [bytes.fromhex(part) for part in parts]
    else:
        raise ValueError(f"unknown kind of content: {kind}")


def length(spec):
    """Number of messages in `expand(spec)`."""
    if spec["kind"] == "series":
        return spec["count"]
    return sum(1 for _ in expand(spec))


def brief(parts):
    """Short text of a multipart message for error reports."""
    shown = [part.hex() if len(part) <= 24 else f"{part[:12].hex()}…({len(part)} bytes)"
             for part in parts]
    return "[" + " | ".join(shown) + "]"
