#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets of the security mechanisms, of the options for TLS, and of
SOCKS5, addresses, groups of datagrams and the stream of subscriptions to corpus/, each a conversation
that gets somewhere; with --check, fails if they are not there like this. The format of the input is
told by mechanism_fuzz.hpp and the targets.

The recorded commands of CURVE are those of curve_test.cpp, whose keys the targets have; the
certificates and keys of TLS are those of tls_material.hpp.
"""
import base64
import pathlib
import re
import sys

FUZZ = pathlib.Path(__file__).resolve().parent
CURVE_TEST = FUZZ.parent / "src/engine/handshake/mechanisms/curve_test.cpp"

TLS_MATERIAL = FUZZ / "tls_material.hpp"

DEALER, ROUTER = 5, 6
UNASKED, BYTEWISE, IN_PIECES = 32, 64, 192
BYTES, COMMAND, ANSWER, REPLY = range(4)
# of CURVE
WELCOME, READY = 4, 5
HELLO, INITIATE, TIME = 4, 5, 6
SEALED_MESSAGE, ANY_MESSAGE, OWN_MESSAGE = 8, 9, 10

OK, LATER, DENIED, FAILED, NO_STATUS = range(5)


def act(kind, data=b"", end=0, times=0):
    """`end`: so many bytes of the end come `times` times."""
    if times:
        kind |= 128
        data = bytes([end]) + times.to_bytes(2, "big") + data
    return bytes([kind]) + len(data).to_bytes(2, "big") + data


def prop(name, value):
    return bytes([len(name)]) + name + len(value).to_bytes(4, "big") + value


def metadata(kind, *more):
    return prop(b"Socket-Type", kind) + prop(b"Identity", b"") + b"".join(more)


def body(name, data=b""):
    return bytes([len(name)]) + name + data


def command(name, data=b"", **repeated):
    return act(COMMAND, body(name, data), **repeated)


def answer(status, user=b"", properties=b"", **repeated):
    return act(ANSWER, bytes([status, len(user)]) + user + properties, **repeated)


def parts(*texts):
    return b"".join(len(text).to_bytes(2, "big") + text for text in texts)


def reply_parts(status=b"200", user=b"carol", properties=b"", version=b"1.0", number=b"1", first=b""):
    return parts(first, version, number, status, b"text", user, properties)


def hello(user, password):
    return command(b"HELLO", bytes([len(user)]) + user + bytes([len(password)]) + password)


def recorded():
    """The bodies of the frames in curve_test.cpp, by their names."""
    text = CURVE_TEST.read_text()
    found = {}
    for name, value in re.findall(r'constexpr std::string_view (\w+) =((?:\s*"[0-9a-f]+")+);', text):
        frame = bytes.fromhex("".join(re.findall(r'"([0-9a-f]+)"', value)))
        found[name] = frame[9:] if frame[0] & 2 else frame[2:]
    return found


FROM_DEALER = metadata(b"DEALER", prop(b"X-Key", b"value"))
FROM_ROUTER = metadata(b"ROUTER", prop(b"X-Key", b"value"))
TINY = prop(b"", b"")  # five bytes that take the most memory
KNOWN = prop(b"Group", b"admins") + prop(b"X-Key", b"of the handler")
ERROR_400 = command(b"ERROR", b"\x03400")
NOT_ANSWERS = {
    "too_few_parts": parts(b"", b"1.0", b"1", b"200"),
    "too_many_parts": reply_parts() + parts(b"more"),
    "no_delimiter": reply_parts(first=b"x"),
    "version": reply_parts(version=b"9.9"),
    "request_id": reply_parts(number=b"2"),
    "status": reply_parts(status=b"201"),
    "metadata": reply_parts(properties=b"\x05Hello\x00\x00\x00\xffWorld"),
}


def asked(start, question, then, of_peer):
    """Seeds of a mechanism that asks, where `question` leads to it and `then` ends the handshake;
    `of_peer(end, times)` is the same end with metadata that takes much memory."""
    seeds = {
        "late_200": start + question + answer(OK, b"carol", KNOWN) + then,
        "early_200": start + answer(OK, b"carol", KNOWN) + question + then,
        "peer_goes_on_early": start + question + then + answer(OK, b"carol") + then,
        "two_answers": start + question + answer(OK, b"carol") + answer(DENIED) + then,
        "no_answer": start + question + then,
        "socket_type_fits": start + question + answer(OK, b"", metadata(b"DEALER")) + then,
        "socket_type_does_not_fit": start + question + answer(OK, b"", metadata(b"PUB")) + then,
        "much_metadata": start + question + answer(OK, b"", TINY, end=5, times=3000) + then,
        "much_metadata_of_both": start + question + answer(OK, b"", TINY) + of_peer(5, 10000),
        "peer_refuses": start + ERROR_400,
        "user_of_the_peer": start + question + answer(OK, b"carol") + then,
    }
    # The pieces in which it comes need more memory than the whole.
    in_pieces = bytes([start[0] | IN_PIECES]) + start[1:]
    seeds["much_metadata_in_pieces"] = in_pieces + question + answer(OK) + of_peer(5, 10000)
    for status, name in ((LATER, "300"), (DENIED, "400"), (FAILED, "500"), (NO_STATUS, "201")):
        seeds["late_" + name] = start + question + answer(status) + then
        seeds["early_" + name] = start + answer(status) + question + then
    for name, sent in NOT_ANSWERS.items():
        seeds["reply_" + name] = start + question + act(REPLY, sent) + then
    return seeds


def null_zap():
    start = bytes([ROUTER])
    ready = command(b"READY", FROM_DEALER)
    seeds = asked(start, b"", ready,
                  lambda end, times: command(b"READY", TINY, end=end, times=times))
    seeds |= {
        "unasked": bytes([ROUTER | UNASKED]) + ready,
        "unasked_user_of_the_peer":
            bytes([ROUTER | UNASKED]) + command(b"READY", prop(b"User-Id", b"root")),
        "user_of_the_peer":
            start + answer(OK, b"carol") + command(b"READY", prop(b"User-Id", b"root")),
        "ready_twice": start + ready + ready + answer(OK),
        "bytewise": bytes([ROUTER | BYTEWISE]) + answer(OK) + ready,
        "too_large": bytes([ROUTER | UNASKED]) + command(b"READY", TINY, end=5, times=20000),
        "other_command": start + answer(OK) + command(b"HELLO"),
        "wrong_type": start + answer(OK) + command(b"READY", metadata(b"PUB")),
        "long_identity": start + answer(OK) + command(b"READY", prop(b"Identity", b"x" * 256)),
        "cut_metadata": start + answer(OK) + command(b"READY", FROM_DEALER[:-1]),
    }
    return seeds


def plain_server():
    start = bytes([ROUTER])
    initiate = command(b"INITIATE", FROM_DEALER)
    seeds = asked(start, hello(b"admin", b"secret"), initiate,
                  lambda end, times: command(b"INITIATE", TINY, end=end, times=times))
    seeds |= {
        "bytewise": bytes([ROUTER | BYTEWISE]) + hello(b"", b"") + answer(OK) + initiate,
        "initiate_first": start + initiate,
        "hello_twice": start + hello(b"a", b"b") + answer(OK) + hello(b"a", b"b"),
        "initiate_twice": start + hello(b"a", b"b") + answer(OK) + initiate + initiate,
        "hello_too_long": start + command(b"HELLO", b"\1a\1bc"),
        "hello_too_short": start + command(b"HELLO", b"\1a\2b"),
        "hello_without_password": start + command(b"HELLO", b"\1a"),
        "hello_empty": start + command(b"HELLO"),
        "longest_texts": start + hello(b"u" * 255, b"p" * 255) + answer(OK) + initiate,
        "no_command": start + act(COMMAND, b"\0"),
        "wrong_type":
            start + hello(b"a", b"b") + answer(OK) + command(b"INITIATE", metadata(b"PUB")),
    }
    return seeds


def plain_client():
    start = bytes([DEALER])
    welcome = command(b"WELCOME")
    ready = command(b"READY", FROM_ROUTER)
    return {
        "admitted": start + welcome + ready,
        "bytewise": bytes([DEALER | BYTEWISE]) + welcome + ready,
        "refused": start + ERROR_400,
        "refused_late": start + welcome + ERROR_400,
        "refused_misspelt": start + act(COMMAND, b"^RROR\x03400"),
        "refused_without_reason": start + command(b"ERROR", b"\x04400"),
        "ready_first": start + ready,
        "welcome_twice": start + welcome + welcome,
        "welcome_with_data": start + command(b"WELCOME", b"x"),
        "ready_twice": start + welcome + ready + ready,
        "cut_metadata": start + welcome + command(b"READY", FROM_ROUTER[:-1]),
        "wrong_type": start + welcome + command(b"READY", metadata(b"PUB")),
        "much_metadata": start + welcome + command(b"READY", TINY, end=5, times=10000),
        "much_metadata_in_pieces":
            bytes([DEALER | IN_PIECES]) + welcome + command(b"READY", TINY, end=5, times=10000),
        "too_large": start + welcome + command(b"READY", TINY, end=5, times=20000),
        "no_command": start + act(COMMAND, b"\0"),
    }


def zap_reply():
    seeds = {name: bytes([ROUTER]) + sent for name, sent in NOT_ANSWERS.items()}
    for status in (b"200", b"300", b"400", b"500", b"20", b"2000", b""):
        seeds["status_" + (status.decode() or "empty")] = bytes([ROUTER]) + reply_parts(status)
    seeds |= {
        "early_200": bytes([ROUTER | UNASKED]) + reply_parts(properties=KNOWN),
        "early_400": bytes([ROUTER | UNASKED]) + reply_parts(b"400"),
        "late_metadata": bytes([ROUTER]) + reply_parts(properties=KNOWN),
        "refused_with_wrong_metadata": bytes([ROUTER]) + reply_parts(b"400", properties=b"\1"),
        "type_fits": bytes([ROUTER]) + reply_parts(properties=metadata(b"DEALER")),
        "type_does_not_fit": bytes([ROUTER]) + reply_parts(properties=metadata(b"PUB")),
        "type_is_none": bytes([ROUTER]) + reply_parts(properties=metadata(b"")),
        "no_parts": bytes([ROUTER]),
    }
    return seeds


def messages():
    """What follows a handshake of either side: the last counter is 1 or 2."""
    return (act(SEALED_MESSAGE, b"\0\1\0hello") + act(SEALED_MESSAGE, b"\0\0\1more") +
            act(SEALED_MESSAGE, b"\0\0\2\4PING\0\0") + act(SEALED_MESSAGE, b"\0\0\xfd") +
            act(SEALED_MESSAGE, b"\0\0\0x", end=1, times=700) +
            act(OWN_MESSAGE, b"\0hello") + act(OWN_MESSAGE, b"\5more") +
            act(OWN_MESSAGE, b"\4x", end=1, times=700) + act(OWN_MESSAGE))


def wrong_messages(start):
    return {
        "message_without_flags": start + act(SEALED_MESSAGE, b"\0\0"),
        "message_changed": start + act(SEALED_MESSAGE, b"\2\0\0\x14\1\0hello"),
        "message_mac_changed": start + act(SEALED_MESSAGE, b"\2\0\0\x10\1\0hello"),
        "message_name_changed": start + act(SEALED_MESSAGE, b"\2\0\0\0\1\0hello"),
        "message_repeated":
            start + 2 * act(SEALED_MESSAGE, b"\1" + (9).to_bytes(8, "big") + b"\0hello"),
        "message_last_counter":
            start + act(SEALED_MESSAGE, b"\1" + b"\xff" * 8 + b"\0hello") +
            act(SEALED_MESSAGE, b"\0\0\0hello"),
        "message_plain": start + act(ANY_MESSAGE, b"hello"),
        "message_short": start + act(ANY_MESSAGE, b"\7MESSAGE" + b"\0" * 24),
    }


def curve_client(frames):
    start = bytes([DEALER, 0])
    welcome = act(WELCOME, b"\0" + b"n" * 16 + b"c" * 96)
    ready = act(READY, b"\0" + FROM_ROUTER)
    done = start + welcome + ready
    seeds = wrong_messages(done)
    seeds |= {
        "admitted": done + messages(),
        "admitted_recorded":
            start + act(COMMAND, frames["welcome_frame"]) + act(COMMAND, frames["ready_frame"]) +
            act(ANY_MESSAGE, frames["server_message"]) + messages(),
        "bytewise": bytes([DEALER | BYTEWISE, 0]) + welcome + ready + messages(),
        "welcome_changed":
            start + act(COMMAND, frames["welcome_frame"][:-1] + b"\0"),
        "welcome_short": start + act(COMMAND, frames["welcome_frame"][:-1]),
        "welcome_of_a_wrong_text_size": start + act(WELCOME, b"\2" + b"n" * 16 + b"c" * 95),
        "welcome_with_a_key_of_zeros": start + act(WELCOME, b"\1" + b"n" * 16),
        "welcome_with_another_key":
            start + act(WELCOME, b"\1" + b"n" * 16 + b"\x09" + b"\0" * 31) + ready + messages(),
        "welcome_twice": start + welcome + welcome,
        "ready_first": start + ready,
        "ready_changed":
            start + act(COMMAND, frames["welcome_frame"]) +
            act(COMMAND, frames["ready_frame"][:-1] + b"\0"),
        "ready_short":
            start + welcome + act(COMMAND, frames["ready_frame"][:29]),
        "ready_counter":
            start + welcome + act(READY, b"\1" + b"\xff" * 8 + FROM_ROUTER) + messages(),
        "ready_twice": done + ready,
        "cut_metadata": start + welcome + act(READY, b"\0" + FROM_ROUTER[:-1]),
        "no_metadata": start + welcome + act(READY, b"\0"),
        "wrong_type": start + welcome + act(READY, b"\0" + metadata(b"PUB")),
        "long_identity": start + welcome + act(READY, b"\0" + prop(b"Identity", b"x" * 256)),
        "much_metadata": start + welcome + act(READY, b"\0" + TINY, end=5, times=10000),
        "much_metadata_in_pieces":
            bytes([DEALER | IN_PIECES, 0]) + welcome + act(READY, b"\0" + TINY, end=5, times=10000),
        "too_large": start + welcome + act(READY, b"\0" + TINY, end=5, times=20000),
        "refused": start + ERROR_400,
        "refused_late": start + welcome + ERROR_400,
        "no_command": start + act(COMMAND, b"\0"),
        "no_random_bytes": bytes([DEALER, 1]) + welcome,
        "no_random_bytes_later": bytes([DEALER, 2]) + welcome + ready,
    }
    return seeds


def curve_server(frames):
    start = bytes([ROUTER, 0])
    unasked = bytes([ROUTER | UNASKED, 0])
    hello_act = act(HELLO, bytes(7) + b"\1")

    def initiate(modes=0, rest=FROM_DEALER, **repeated):
        return act(INITIATE, modes.to_bytes(2, "big") + rest, **repeated)

    done = unasked + hello_act + initiate()
    seeds = asked(start, hello_act + initiate(), b"", lambda end, times: b"")
    seeds |= wrong_messages(done)
    other_vouch = bytes(range(64))
    seeds |= {
        "admitted": start + hello_act + initiate() + answer(OK, b"carol", KNOWN) + messages(),
        "admitted_recorded":
            start + act(COMMAND, frames["hello_frame"]) + act(COMMAND, frames["initiate_frame"]) +
            answer(OK, b"carol") + act(ANY_MESSAGE, frames["client_message"]) + messages(),
        "unasked": done + messages(),
        "bytewise": bytes([ROUTER | UNASKED | BYTEWISE, 0]) + hello_act + initiate() + messages(),
        "much_metadata_of_both":
            start + hello_act + answer(OK, b"", TINY) + initiate(0, TINY, end=5, times=10000),
        "much_metadata_in_pieces":
            bytes([ROUTER | UNASKED | IN_PIECES, 0]) + hello_act +
            initiate(0, TINY, end=5, times=10000),
        "too_large": unasked + hello_act + initiate(0, TINY, end=5, times=20000),
        "hello_changed":
            start + act(COMMAND, frames["hello_frame"][:-1] + b"\0"),
        "hello_short": start + act(COMMAND, frames["hello_frame"][:-1]),
        "hello_version": start + act(COMMAND, frames["hello_frame"][:6] + b"\2" +
                                     frames["hello_frame"][7:]),
        "hello_with_a_text": start + act(HELLO, bytes(8) + b"text") + initiate(),
        "hello_twice": start + hello_act + hello_act,
        "initiate_first": start + initiate(),
        "initiate_twice": done + initiate(),
        "initiate_short": unasked + hello_act + act(COMMAND, frames["initiate_frame"][:256]),
        "initiate_changed":
            unasked + act(COMMAND, frames["hello_frame"]) +
            act(COMMAND, frames["initiate_frame"][:-1] + b"\0"),
        "cookie_changed": unasked + hello_act + initiate(1, b"\x20\1" + FROM_DEALER),
        "cookie_not_changed": unasked + hello_act + initiate(1, b"\x20\0" + FROM_DEALER),
        "cookie_of_another_text": unasked + hello_act + initiate(2, bytes(64) + FROM_DEALER),
        "cookie_of_any_bytes": unasked + hello_act + initiate(3, bytes(96) + FROM_DEALER),
        "cookie_in_time": unasked + hello_act + act(TIME, b"\x3c") + initiate(),
        "cookie_too_late": unasked + hello_act + act(TIME, b"\x3d") + initiate(),
        "initiate_counter":
            unasked + hello_act + initiate(4, b"\xff" * 8 + FROM_DEALER) + messages(),
        "another_client": start + hello_act + initiate(8) + answer(OK, b"dave") + messages(),
        "vouch_by_another": start + hello_act + initiate(16),
        "vouch_by_another_for_the_other": start + hello_act + initiate(8 | 16),
        "vouch_for_another_server": unasked + hello_act + initiate(32, bytes(32) + FROM_DEALER),
        "vouch_for_another_key": unasked + hello_act + initiate(64, other_vouch + FROM_DEALER),
        "vouch_of_any_bytes": unasked + hello_act + initiate(96, bytes(80) + FROM_DEALER),
        "client_of_zeros": unasked + hello_act + initiate(128, bytes(32) + FROM_DEALER),
        "text_of_any_bytes": unasked + hello_act + initiate(256, bytes(128)),
        "text_too_short": unasked + hello_act + initiate(256, bytes(127)),
        "cut_metadata": start + hello_act + initiate(0, FROM_DEALER[:-1]),
        "no_metadata": start + hello_act + initiate(0, b"") + answer(OK),
        "wrong_type": start + hello_act + initiate(0, metadata(b"PUB")),
        "long_identity": start + hello_act + initiate(0, prop(b"Identity", b"x" * 256)),
        "user_of_the_peer":
            start + hello_act + initiate(0, prop(b"User-Id", b"root")) + answer(OK, b"carol"),
        "no_random_bytes": bytes([ROUTER, 1]) + hello_act,
        "no_random_bytes_for_the_nonce": bytes([ROUTER, 4]) + hello_act + initiate(),
        "no_command": start + act(COMMAND, b"\0"),
    }
    return seeds


# Of tls_options: the numbers that the options and the texts have there.
(CERT, KEY, CA, VERIFY, REQUIRE_CLIENT_CERT, HOSTNAME, TRUST_SYSTEM, PASSWORD, MIN_VERSION, CIPHERS,
 PINNED, WSS_CERT, WSS_KEY, WSS_TRUST, WSS_HOSTNAME, WSS_TRUST_SYSTEM) = range(16)
TEXTS = ("ca", "middle", "server", "server_key", "client", "client_key", "expired", "expired_key",
         "stranger", "stranger_key", "server_key_old", "server_key_locked", "server_pin",
         "client_pin", "comma", "secret")
HAS_ERROR, REPLACES, GOOD_START, MAY_TRUST_SYSTEM = 1, 2, 4, 0xc8
PIECES_OF_300, PIECES_OF_7, BYTE_BY_BYTE = 16, 32, 48
BOTH, SERVER, CLIENT = range(3)


def tls_material():
    found = {}
    text = TLS_MATERIAL.read_text()
    for name, value in re.findall(r'constexpr std::string_view (\w+) =((?:\s*"[^"]+")+);', text):
        found[name] = "".join(re.findall(r'"([^"]+)"', value)).replace("\\n", "\n").encode()
    return found


def setting(option, side, data, kind=0):
    return bytes([option | side << 4 | kind << 6]) + len(data).to_bytes(2, "big") + data


def named(option, side, *names):
    return setting(option, side, bytes(map(TEXTS.index, names)), 1)


def of_der(option, side, label, pem):
    lines = [line for line in pem.splitlines() if not line.startswith(b"-----")]
    der = base64.b64decode(b"".join(lines))
    return setting(option, side, bytes([label]) + der, 2)


def number(option, side, value):
    return setting(option, side, value.to_bytes(4, "little", signed=True))


def tls_options():
    pem = tls_material()
    nothing = bytes([0])
    good = bytes([GOOD_START])
    server = named(CERT, SERVER, "server", "middle") + named(KEY, SERVER, "server_key")
    client = named(CERT, CLIENT, "client") + named(KEY, CLIENT, "client_key")
    mutual = named(CA, SERVER, "ca") + number(REQUIRE_CLIENT_CERT, SERVER, 2)
    stranger = named(CERT, SERVER, "stranger") + named(KEY, SERVER, "stranger_key")
    expired = named(CERT, SERVER, "expired") + named(KEY, SERVER, "expired_key")
    careless = number(VERIFY, CLIENT, 0)
    seeds = {
        "named": nothing + server + named(CA, CLIENT, "ca"),
        "texts": nothing + setting(CERT, SERVER, pem["server"] + pem["middle"])
                 + setting(KEY, SERVER, pem["server_key"]) + setting(CA, CLIENT, pem["ca"]),
        "der":
            nothing + of_der(CERT, SERVER, 0, pem["server"])
            + of_der(KEY, SERVER, 1, pem["server_key"])
            + of_der(CA, CLIENT, 0, pem["ca"]),
        "der_carelessly": good + of_der(CERT, SERVER, 0, pem["server"]) + careless,
        "der_of_the_stranger":
            good + of_der(CERT, SERVER, 0, pem["stranger"]) + of_der(CA, CLIENT, 0, pem["stranger"])
            + named(KEY, SERVER, "stranger_key"),
        "der_of_the_client": good + mutual + of_der(CERT, CLIENT, 0, pem["client"])
                             + of_der(KEY, CLIENT, 1, pem["client_key"]),
        "wss":
            nothing + named(WSS_CERT, SERVER, "server", "middle")
            + named(WSS_KEY, SERVER, "server_key") + named(WSS_TRUST, CLIENT, "ca")
            + setting(WSS_HOSTNAME, CLIENT, b"host.test") + number(WSS_TRUST_SYSTEM, CLIENT, 0),
        "mutual": good + client + mutual,
        "mutual_old_version":
            good + client + mutual + setting(CIPHERS, BOTH, b"ECDHE-ECDSA-AES128-GCM-SHA256"),
        "mutual_without": good + mutual,
        "mutual_stranger":
            good + mutual + named(CERT, CLIENT, "stranger") + named(KEY, CLIENT, "stranger_key"),
        "may_be_missing": good + named(CA, SERVER, "ca") + number(REQUIRE_CLIENT_CERT, SERVER, 1),
        "wrong_purpose": good + named(CERT, SERVER, "client") + named(KEY, SERVER, "client_key"),
        "without_the_chain": good + named(CERT, SERVER, "server"),
        "trusts_the_middle_too": good + named(CA, CLIENT, "stranger", "ca", "middle"),
        "stranger": good + stranger,
        "stranger_to_the_careless": good + stranger + careless,
        "stranger_trusted": good + stranger + named(CA, CLIENT, "stranger"),
        "stranger_pinned": good + stranger + careless + named(PINNED, CLIENT, "server_pin"),
        "expired": good + expired,
        "trusts_nobody": good + setting(CA, CLIENT, b"", 3),
        "trusts_the_system": bytes([GOOD_START | MAY_TRUST_SYSTEM]) + setting(CA, CLIENT, b"")
                             + number(TRUST_SYSTEM, CLIENT, 1),
        "host": good + setting(HOSTNAME, CLIENT, b"192.0.2.1"),
        "host_elsewhere": good + setting(HOSTNAME, CLIENT, b"elsewhere.test"),
        "host_of_a_zero": good + setting(HOSTNAME, CLIENT, b"\0"),
        "host_with_a_zero": good + setting(HOSTNAME, CLIENT, b"host.test\0.elsewhere"),
        "host_too_long": good + setting(WSS_HOSTNAME, CLIENT, b"h" * 256),
        "key_with_a_password":
            good + named(KEY, SERVER, "server_key_old") + named(PASSWORD, SERVER, "secret"),
        "key_in_pkcs8_with_a_password":
            good + named(KEY, SERVER, "server_key_locked") + named(PASSWORD, SERVER, "secret"),
        "key_text_with_a_password":
            good + setting(KEY, SERVER, pem["server_key_old"]) + named(PASSWORD, SERVER, "secret"),
        "key_with_a_wrong_password":
            good + named(KEY, SERVER, "server_key_old") + setting(PASSWORD, SERVER, b"x"),
        "key_without_its_password": good + named(KEY, SERVER, "server_key_locked"),
        "key_of_another": good + named(KEY, SERVER, "stranger_key"),
        "key_missing": good + setting(KEY, SERVER, b""),
        "version_1_3": good + number(MIN_VERSION, BOTH, 0x304),
        "version_too_old": good + number(MIN_VERSION, BOTH, 0x302),
        "ciphers":
            good + setting(CIPHERS, BOTH, b"TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256"),
        "ciphers_of_1_2": good + setting(CIPHERS, SERVER, b"ECDHE+AESGCM:!aNULL:@STRENGTH"),
        "ciphers_of_1_3": good + setting(CIPHERS, CLIENT, b"TLS_CHACHA20_POLY1305_SHA256"),
        "ciphers_of_different_versions": good + setting(CIPHERS, CLIENT, b"TLS_AES_256_GCM_SHA384")
                                         + setting(CIPHERS, SERVER, b"ECDHE-ECDSA-AES256-GCM-SHA384"),
        "ciphers_without_certificates":
            good + setting(CIPHERS, BOTH, b"ALL:eNULL:aNULL:@SECLEVEL=0"),
        "ciphers_anonymous": good + setting(CIPHERS, BOTH, b"aNULL:@SECLEVEL=0"),
        "ciphers_anonymous_carelessly":
            good + setting(CIPHERS, BOTH, b"aNULL:@SECLEVEL=0") + careless,
        "ciphers_unknown": good + setting(CIPHERS, BOTH, b"NONE:"),
        "pinned": good + named(PINNED, CLIENT, "client_pin", "comma", "server_pin"),
        "pinned_text": good + setting(PINNED, CLIENT, pem["server_pin"].upper()),
        "pinned_wrong": good + named(PINNED, CLIENT, "client_pin"),
        "pinned_client": good + client + mutual + named(PINNED, SERVER, "client_pin"),
        "pinned_client_not_asked": good + client + named(PINNED, SERVER, "client_pin"),
        "pin_too_short": good + setting(PINNED, CLIENT, b"01:23"),
        "replaced": bytes([GOOD_START | REPLACES]) + stranger + careless,
        "replaced_by_what_does_not_fit":
            bytes([GOOD_START | REPLACES]) + named(CERT, SERVER, "stranger"),
        "error_before": bytes([GOOD_START | HAS_ERROR]) + client + mutual,
        "error_before_and_failure": bytes([GOOD_START | HAS_ERROR]) + stranger,
        "path": good + setting(CERT, BOTH, b"there.pem") + setting(CA, BOTH, b"-----BEGIN"),
    }
    for name, flag in (("in_pieces", PIECES_OF_300), ("in_small_pieces", PIECES_OF_7),
                       ("bytewise", BYTE_BY_BYTE)):
        seeds[name] = bytes([GOOD_START | flag]) + client + mutual
    return seeds


def socks5():
    name, user, long_user, v4, v6 = 0, 1, 2, 4, 8
    chosen, asks = b"\5\0", b"\5\2\1\0"
    good = b"\5\0\0"
    ipv4, ipv6 = b"\1" + bytes(6), b"\4" + bytes(18)
    by_name = b"\3\5proxy\0\1"
    seeds = {
        "connected": bytes([name]) + chosen + good + ipv4 + b"data of the target",
        "connected_bytewise": bytes([v4]) + chosen + good + ipv6 + b"data",
        "connected_in_pieces": bytes([v6 | 64]) + chosen + good + by_name + b"data",
        "empty_name": bytes([name]) + chosen + good + b"\3\0\0\0",
        "longest_name": bytes([name | 192]) + chosen + good + b"\3\xff" + bytes(257) + b"data",
        "authenticated": bytes([user]) + asks + good + ipv4,
        "authenticated_by_the_longest_name": bytes([long_user]) + asks + good + ipv4,
        "not_asked_for_credentials": bytes([user]) + chosen + good + ipv4,
        "wrong_credentials": bytes([user]) + b"\5\2\1\1",
        "wrong_negotiation": bytes([user]) + b"\5\2\5\0",
        "credentials_nobody_has": bytes([name]) + asks + good + ipv4,
        "no_method": bytes([user]) + b"\5\xff",
        "version_4": bytes([name]) + b"\0\x5a" + bytes(6),
        "version_of_the_reply": bytes([name]) + chosen + b"\4\0\0" + ipv4,
        "address_of_no_kind": bytes([name]) + chosen + good + b"\2" + bytes(20),
        "name_too_long": bytes([12]) + chosen + good + ipv4,
        "user_too_long": bytes([3]) + asks + good + ipv4,
    }
    for reply in range(1, 11):
        seeds[f"refused_{reply}"] = bytes([name]) + chosen + bytes([5, reply])
    return seeds


def address():
    texts = ("tcp://127.0.0.1:5555", "tcp://*:*", "tcp://*:0", "tcp://lo:5555", "tcp://[::1]:5555",
             "tcp://::1:5555", "tcp://[fe80::1%lo]:5555", "tcp://[fe80::1%1]:1", "tcp://[::]:65535",
             "tcp://host.test:80", "tcp://host.test:65536", "tcp://[::ffff:192.0.2.1]:9",
             "tcp://127.0.0.1:0;192.0.2.1:5555", "tcp://*:*;host.test:1", "tcp://lo;[::1]:1",
             "udp://239.0.0.1:5555", "udp://lo;239.0.0.1:5555", "udp://127.0.0.1;239.0.0.1:1",
             "udp://*;[ff02::1]:5555", "udp://[ff02::1%lo]:5555", "udp://*:5555",
             "ws://127.0.0.1:80/path?query", "ws://[fe80::1%lo]:80/", "ws://host.test:80",
             "ws://127.0.0.1:0;host.test:81/a b", "ipc:///tmp/socket", "ipc://@abstract", "ipc://*",
             "ipc://" + "p" * 108, "inproc://name", "192.0.2.0/24", "2001:db8::/33", "[::1]/128",
             "::ffff:192.0.2.0/120", "0.0.0.0/0", "://", "tcp://", "tcp://:", "tcp://://:1",
             "tcp://::1%lo:x x:1")
    return {f"{number:02}{'_ipv6' if ipv6 else ''}": bytes([ipv6]) + text.encode()
            for number, text in enumerate(texts) for ipv6 in (0, 1)}


def group_datagram():
    def send(group, body, more=b""):
        return act(2, bytes([group - group % 2, group % 2]) + body.to_bytes(2, "big") + more)

    def arrives(data, cut=0):
        return act(cut, data)

    pass_on, take, nothing, blocked = act(3), act(4), act(5), 8
    hello_there = b"\5groupbody"
    return {
        "one": b"\0" + arrives(hello_there) + take,
        "no_group": b"\0" + arrives(b"\0body") + take,
        "nothing": b"\0" + arrives(b"") + arrives(b"\0") + take,
        "longest_group": b"\0" + arrives(b"\xff" + b"g" * 255 + b"body"),
        "cut_group": b"\0" + arrives(b"\xff" + b"g" * 254) + arrives(b"\1"),
        "cut_by_the_system": b"\0" + arrives(hello_there, 1) + arrives(hello_there),
        "full": b"\2" + arrives(hello_there) * 5 + take * 2 + arrives(hello_there) + take * 4,
        "too_large": b"\x10" + arrives(b"\1g" + b"b" * 101) + arrives(b"\1g" + b"b" * 100),
        "sent": b"\0" + send(5, 10, b"end") + send(0, 0) + pass_on + take * 2,
        "sent_and_cut": b"\0" + send(20, 40) + act(3, b"\0\x10") + send(1, 1) + act(3, b"\0\0"),
        "sent_too_large": b"\0" + send(8, 8183) + send(8, 8184) + send(255, 1) + send(254, 1)
                          + act(2, b"\xff\1\0\1") + pass_on,
        "sent_while_blocked": b"\0" + act(2 | blocked, b"\4\0\0\4") * 3 + nothing + pass_on,
        "many": b"\0" + arrives(hello_there) * 70 + send(3, 3) * 70 + pass_on,
    }


def xpub_stream():
    def say(kind, data=b"", who=0, more=False):
        return bytes([kind | who << 4 | more << 6, len(data)]) + data

    def subscribe(topic, who=0):
        return say(1, topic, who)

    def cancel(topic, who=0):
        return say(0, topic, who)

    read, read_all, send = say(5), say(6), say(9, b"topic and text")
    some = (subscribe(b"topic") + subscribe(b"topic", 1) + subscribe(b"", 2) + subscribe(b"top", 2)
            + read_all + send + cancel(b"topic") + send + cancel(b"topic", 1) + cancel(b"no", 3)
            + read_all + send + subscribe(b"topic") + subscribe(b"topic"))
    by_messages = (say(3, b"topic") + say(3, b"to", 1, True) + say(3, b"x", 1) + say(2, b"topic")
                   + say(4, b"hello", 2, True) + say(3, b"part", 2, True) + say(3, b"s", 3)
                   + say(4, b"", 2) + say(4, b"") + send)
    comes_and_goes = (subscribe(b"a", 1) + subscribe(b"b", 1) + subscribe(b"b") + say(7, who=1)
                      + read_all + send + say(4, b"begun", 1, True) + say(7, who=1) + send)
    by_hand = (subscribe(b"a") + subscribe(b"b", 1) + read + say(8, b"topic", more=True) + send
               + read + say(8, b"t", more=True) + send + say(8, b"t") + cancel(b"a") + read
               + say(8, b"topic") + send + subscribe(b"x", 2) + say(7, who=2) + read
               + say(8, b"", more=True) + send)
    seeds = {}
    for setup, name in enumerate(("plain", "verbose", "verboser", "both", "manual")):
        start = bytes([setup])
        seeds[f"{name}_commands"] = start + some
        seeds[f"{name}_messages"] = start + by_messages
        seeds[f"{name}_comes_and_goes"] = start + comes_and_goes
        seeds[f"{name}_by_hand"] = start + by_hand
    return seeds


def api_sequences():
    """Two sockets of each pair of types, of which the first one is bound, and then what happens to them:
    see act() in api_sequences_fuzz.cpp."""
    def act_of(kind, *arguments):
        return bytes([kind, *arguments])

    def link(kind, how=2, marks=(5, 5, 5, 5)):
        return act_of(0, kind, how, *marks)

    send_one, few, many = 3, 4, 30
    step, idle, settle = act_of(12), act_of(11, 50), act_of(19)

    def send(who, size=4, shape=0):
        return act_of(send_one, who, shape, size)

    def burst(who, count=many, size=4, shape=0):
        return act_of(5, count, who, shape, size)

    def receive(who):
        return act_of(9, who)

    traffic = burst(0) + burst(1) + step + receive(1) + receive(0)
    in_parts = burst(0, few, 9, 0x0f) + burst(1, few, 9, 0x0f) + idle
    large = burst(0, few, 13) + idle + burst(1, few, 15) + step
    half = act_of(6, 0, 1, 0) + act_of(6, 1, 1, 0)
    cut = act_of(14, 0)
    answer = b"".join(send(1) + step + receive(0) + send(0) + step + receive(1) for _ in range(4))
    stories = {
        "traffic": settle + traffic + in_parts + large + settle,
        "breaks": settle + burst(0) + burst(1) + idle + cut + traffic + settle + large + cut + half + cut + large,
        "before_connected": burst(0) + burst(1) + settle + traffic,
        "answers": settle + answer + cut + settle + answer,
        "leaves": settle + large + act_of(15, 1, 0) + traffic + act_of(16, 0, 2) + settle,
        "marks": settle + burst(1, many, 13) + act_of(17, 1, 0) + step + receive(0) + burst(1, few, 13),
        "mixed": settle + burst(0, many, 6, 64) + burst(1, many, 8, 64) + step + receive(1) + receive(0)
                 + burst(1, 10, 6, 64) + cut + burst(1, 10, 7, 64) + settle,
        "subscribes_later": settle + act_of(18, 1, 1, 1) + settle + burst(0, few, 4, 0x10) + step + receive(1) + cut
                            + settle + act_of(18, 1, 2, 1) + settle + burst(0, few, 4, 0x20) + traffic,
    }
    pairs = ("push_pull", "pair", "dealer", "dealer_router", "req_rep", "pub_sub", "xpub_sub", "pub_xsub",
             "xpub_xsub")
    seeds = {}
    for kind, pair in enumerate(pairs):
        for number, (story, acts) in enumerate(stories.items()):
            start = bytes([kind, number, number % 4, (kind + number) % 4, 0, kind % 4])
            topics = act_of(18, 1, 0, 1) if kind >= 5 else b""
            seeds[f"{pair}_{story}"] = start + link(kind) + topics + acts
            seeds[f"{pair}_{story}_other"] = start + link(kind, 1, (2, 3, 1, 4)) + topics + acts
            seeds[f"{pair}_{story}_inproc"] = start + link(kind, 6, (2, 3, 1, 4)) + topics + acts
    # A large message of which three bytes have gone when the connection breaks.
    seeds["pair_large_begun"] = bytes.fromhex(
        "0301010000030002000103010413051e000004051e010004050000000009000401000c0e")
    seeds["dealer_router_large_begun"] = bytes.fromhex(
        "0001010000030003000000000013051e0100040b0013020000050001008f0e")
    # A connection of an endpoint that was disconnected, and connected again, before it was there.
    seeds["dealer_connects_anew"] = bytes.fromhex(
        "000000000000000200000000000000000000000000000000000000020101000000000100000000920000000200"
        "0000000003000000470006000000eb010002000100001000004b00000600000000020000000000020001000000"
        "00020001000002af00000200000102000100000200000171007d00000000ff000002000001000287")
    return seeds


def main():
    is_check = sys.argv[1:] == ["--check"]
    frames = recorded()
    stale = []
    for target, seeds in {
            "null_zap": null_zap(),
            "plain_client": plain_client(),
            "plain_server": plain_server(),
            "zap_reply": zap_reply(),
            "curve_client": curve_client(frames),
            "curve_server": curve_server(frames),
            "tls_options": tls_options(),
            "socks5": socks5(),
            "address": address(),
            "group_datagram": group_datagram(),
            "xpub_stream": xpub_stream(),
            "api_sequences": api_sequences(),
    }.items():
        directory = FUZZ / "corpus" / target
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in seeds.items():
            seed = directory / name
            if not is_check:
                seed.write_bytes(content)
            elif not seed.is_file() or seed.read_bytes() != content:
                stale.append(f"{target}/{name}")
    if stale:
        sys.exit("not as make_corpus.py writes them: " + ", ".join(stale))


if __name__ == "__main__":
    main()
