# SPDX-License-Identifier: Apache-2.0
"""The draft types between processes and on the wire. The genuine library of the stable build has
them, but connects them within a process only."""

import pytest

import content
import zmtp
from harness import Link
from zmtp import command, message, ready

COUNT = 500


@pytest.fixture(params=["tcp", "ipc"])
def own_link(request, peers, sides):
    made = Link(peers, sides["zlink"], sides["zlink"], request.param)
    yield made
    made.release()


def settle(raw):
    """Returns when all that was sent has been taken in. A PING is answered while the frames before
    it are still being handed over, so the answer to a second one tells."""
    assert raw.is_alive()
    assert raw.is_alive()


@pytest.mark.zlink_only
@pytest.mark.parametrize("sender_binds", [True, False], ids=["sender.bind", "receiver.bind"])
@pytest.mark.parametrize("kinds", [("CLIENT", "SERVER"), ("SCATTER", "GATHER"),
                                   ("CHANNEL", "CHANNEL")], ids="-".join)
def test_one_way(own_link, kinds, sender_binds):
    sender, receiver = own_link.pair(*kinds, sender_binds)
    for spec in content.series("t", COUNT), content.listed(*[[b"x" * n] for n in content.SIZES]):
        receiver.start_expect(spec)
        sender.send_all(spec)
        receiver.result()


# -- on the wire ------------------------------------------------------------------------------


@pytest.mark.zlink_only
@pytest.mark.parametrize("kind, remote", [
    ("SERVER", "CLIENT"), ("CLIENT", "SERVER"), ("CHANNEL", "CHANNEL"), ("PEER", "PEER"),
    ("GATHER", "SCATTER")])
def test_messages_are_single_frames(bench, binds, kind, remote):
    local, raw = bench.meet(kind, binds)
    raw.handshake(remote)
    raw.send(message(b"a", b"b") + message(b"", b"", b"") + message(b"hello"))
    body, routing_id, group = local.recv_draft()
    assert (body, group) == (b"hello", b"")
    assert (routing_id != 0) == (kind in ("SERVER", "PEER"))
    if kind != "GATHER":
        local.send_draft(b"answer", routing_id)
        assert raw.recv_frame() == message(b"answer")


@pytest.mark.zlink_only
def test_scatter_sends_single_frames(bench, binds):
    local, raw = bench.meet("SCATTER", binds)
    raw.handshake("GATHER")
    local.send(b"work")
    assert raw.recv_frame() == message(b"work")


@pytest.mark.zlink_only
def test_dish_joins_and_leaves_by_commands(bench, binds):
    if binds:
        dish = bench.bound("DISH")
        dish.join(b"Movies")
        raw = bench.dial()
    else:
        dish, listener = bench.connected("DISH")
        dish.join(b"Movies")
        raw = bench.own(listener.accept(), "close")
    raw.handshake("RADIO")
    assert raw.recv_frame().hex() == "040b044a4f494e4d6f76696573"
    dish.join(b"")
    assert raw.recv_frame() == command(b"JOIN")
    dish.leave(b"Movies")
    assert raw.recv_frame().hex() == "040c054c454156454d6f76696573"
    dish.join(b"x" * 255)
    assert raw.recv_frame() == command(b"JOIN", b"x" * 255)
    raw.send(message(b"", b"first") + message(b"Movies", b"no longer") + message(b"no", b"never") +
             message(b"x" * 255, b"last"))
    assert dish.recv_draft() == (b"first", 0, b"")
    assert dish.recv_draft() == (b"last", 0, b"x" * 255)


@pytest.mark.zlink_only
@pytest.mark.parametrize("minor", [0, 1])
def test_dish_joins_again_after_a_loss(bench, minor):
    dish, listener = bench.connected("DISH", RECONNECT_IVL=10)
    dish.join(b"a")
    dish.join(b"b")
    dish.leave(b"b")
    for _ in range(3):
        raw = listener.accept()
        raw.handshake("RADIO", minor)
        assert raw.recv_frame() == command(b"JOIN", b"a")
        assert raw.is_alive()
        raw.close()


@pytest.mark.zlink_only
@pytest.mark.parametrize("wrong", [
    message(b"g"), message(b"g", b"one", b"two"), message(b"g" * 256, b"body"),
    message(b"g" * 100_000, b"body"), message(b"g", b"x" * 100_000, b"two"),
], ids=["no-group", "two-bodies", "group-256", "group-100000", "two-bodies-100000"])
def test_dish_refuses_other_messages(bench, binds, wrong):
    dish, raw = bench.meet("DISH", binds)
    dish.join(b"g")
    raw.handshake("RADIO")
    assert raw.recv_frame() == command(b"JOIN", b"g")
    raw.send_refused(message(b"g", b"right") + wrong)
    raw.expect_closed()
    assert dish.recv_draft() == (b"right", 0, b"g")
    assert dish.try_recv(30) is None


@pytest.mark.zlink_only
def test_radio_sends_to_the_groups_joined(bench, binds):
    radio, raw = bench.meet("RADIO", binds)
    raw.handshake("DISH")
    # Anything else is ignored: subscriptions, messages, groups left without having been joined.
    raw.send(command(b"SUBSCRIBE", b"t") + command(b"LEAVE", b"TV") + message(b"\x01t") +
             command(b"JOIN", b"TV") + command(b"JOIN", b"TV") + command(b"JOIN", b"x" * 256) +
             command(b"JOIN"))
    settle(raw)
    radio.send_draft(b"none", group=b"t")
    radio.send_draft(b"Friends", group=b"TV")
    assert raw.recv(13).hex() == "01025456" "0007467269656e6473"
    radio.send(b"plain")
    assert raw.recv_frame() + raw.recv_frame() == message(b"", b"plain")
    raw.send(command(b"LEAVE", b"TV"))
    settle(raw)
    radio.send_draft(b"Friends", group=b"TV")
    radio.send_draft(b"x" * 100_000, group=b"")
    assert raw.recv_frame() + raw.recv_frame() == message(b"", b"x" * 100_000)


@pytest.mark.zlink_only
@pytest.mark.parametrize("kind, right", [
    ("SERVER", "CLIENT"), ("CLIENT", "SERVER"), ("RADIO", "DISH"), ("DISH", "RADIO"),
    ("GATHER", "SCATTER"), ("SCATTER", "GATHER"), ("PEER", "PEER"), ("CHANNEL", "CHANNEL")])
def test_accepted_types(bench, kind, right):
    bench.bound(kind)
    accepted = set()
    for remote in ("SERVER", "CLIENT", "RADIO", "DISH", "GATHER", "SCATTER", "PEER", "CHANNEL",
                   "PAIR", "SUB", "DEALER", "DGRAM"):
        raw = bench.dial()
        raw.greet()
        raw.send(ready(remote, b"" if remote == "DEALER" else None))
        if raw.is_alive():
            accepted.add(remote)
        raw.close()
    assert accepted == {right}
