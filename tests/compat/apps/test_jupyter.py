# SPDX-License-Identifier: Apache-2.0
"""A Jupyter kernel: its client is this process, the kernel another one, both on the library."""

import asyncio
import time

import libraries
import pytest
import zmq
from jupyter_client import AsyncKernelManager, KernelManager
from zmq.utils.monitor import recv_monitor_message

READY_S = 60
ENCRYPTED = [pytest.param(False, id="null"), pytest.param(True, id="curve")]

# What the kernel runs to say which library it is on.
TELL_LIBRARY = """
import os
print(sorted({os.path.realpath(line.split()[-1]) for line in open('/proc/self/maps')
              if 'libzmq' in line.rsplit('/', 1)[-1]}))
"""


def kernel_manager(encrypted=False, kind=KernelManager, **traits):
    """Its kernel and the clients speak CURVE with each other if that is asked for."""
    return kind(kernel_name="python3", transport_encryption="required" if encrypted else "disabled", **traits)


def check_mechanism(client, encrypted):
    """The sockets of all channels that the client has opened."""
    expected = zmq.CURVE if encrypted else zmq.NULL
    channels = [client.shell_channel, client.iopub_channel, client.stdin_channel, client.control_channel]
    assert [channel.socket.mechanism for channel in channels] == [expected] * len(channels)


@pytest.fixture(params=["tcp", "ipc", "tcp-curve"])
def client(request, tmp_path):
    transport, _, mechanism = request.param.partition("-")
    manager = kernel_manager(encrypted=mechanism == "curve", transport=transport)
    if transport == "ipc":
        manager.ip = str(tmp_path / "kernel")
    manager.start_kernel()
    try:
        made = manager.client()
        made.start_channels()
        made.wait_for_ready(timeout=READY_S)
        check_mechanism(made, mechanism == "curve")
        yield made
        made.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


def run(client, code, answer=None):
    """Runs code in the kernel; returns what it printed."""
    printed = []

    def keep(message):
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    stdin_hook = (lambda message: client.input(answer)) if answer is not None else None
    reply = client.execute_interactive(code, output_hook=keep, stdin_hook=stdin_hook,
                                       allow_stdin=answer is not None, timeout=READY_S)
    assert reply["content"]["status"] == "ok", reply["content"]
    return "".join(printed)


def test_both_processes_use_the_library(client):
    assert libraries.mapped() == libraries.expected()
    assert run(client, TELL_LIBRARY).strip() == str(sorted(libraries.expected()))


def test_runs_code_and_returns_every_line(client):
    printed = run(client, "for i in range(20000): print(i)")
    assert printed == "".join(f"{i}\n" for i in range(20000))


def test_many_short_requests(client):
    for i in range(100):
        assert run(client, f"print({i} * 2)") == f"{i * 2}\n"


def test_large_output(client):
    assert len(run(client, "print('x' * 10_000_000)")) == 10_000_001


def test_input_goes_to_the_kernel(client):
    assert run(client, "print(input('name? ')[::-1])", answer="zlink") == "knilz\n"


def test_heartbeat(client):
    # A beat that takes longer than a second, on a busy machine, counts as missed until the next one.
    deadline = time.monotonic() + READY_S
    while not client.hb_channel.is_beating():
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def run_async(encrypted):
    manager = kernel_manager(encrypted, AsyncKernelManager)
    await manager.start_kernel()
    try:
        client = manager.client()
        client.start_channels()
        await client.wait_for_ready(timeout=READY_S)
        check_mechanism(client, encrypted)
        reply = await client.execute_interactive("6 * 7", timeout=READY_S, output_hook=lambda message: None)
        assert reply["content"]["status"] == "ok"
        client.stop_channels()
    finally:
        await manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("encrypted", ENCRYPTED)
def test_async_client(encrypted):
    asyncio.run(run_async(encrypted))


@pytest.mark.parametrize("encrypted", ENCRYPTED)
def test_interrupt_and_restart(encrypted):
    manager = kernel_manager(encrypted)
    manager.start_kernel()
    try:
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=READY_S)
        running = client.execute("print('on', flush=True)\nwhile True: pass")
        while client.get_iopub_msg(timeout=READY_S)["msg_type"] != "stream":
            continue
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=READY_S)
        assert reply["parent_header"]["msg_id"] == running
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        manager.restart_kernel(now=True)
        client.wait_for_ready(timeout=READY_S)
        assert run(client, "print('again')") == "again\n"
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


def test_an_encrypted_kernel_refuses_a_client_without_its_key():
    manager = kernel_manager(encrypted=True)
    manager.start_kernel()
    try:
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=READY_S)
        with zmq.Context() as context:
            refused = {zmq.Event.HANDSHAKE_FAILED_PROTOCOL, zmq.Event.HANDSHAKE_FAILED_NO_DETAIL}
            for keys in ({}, dict(zip(("curve_publickey", "curve_secretkey"), zmq.curve_keypair()),
                                  curve_serverkey=zmq.curve_keypair()[0])):
                with context.socket(zmq.DEALER) as stranger, stranger.get_monitor_socket() as monitor:
                    stranger.linger = 0
                    for name, key in keys.items():
                        setattr(stranger, name, key)
                    stranger.connect(f"tcp://{manager.ip}:{manager.shell_port}")
                    told = None
                    while told not in refused:
                        assert monitor.poll(READY_S * 1000), "the kernel does not refuse"
                        told = recv_monitor_message(monitor)["event"]
                        assert told != zmq.Event.HANDSHAKE_SUCCEEDED
                    stranger.disable_monitor()
        assert run(client, "print('unharmed')") == "unharmed\n"
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)
