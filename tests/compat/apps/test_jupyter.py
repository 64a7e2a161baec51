# SPDX-License-Identifier: Apache-2.0
"""A Jupyter kernel: its client is this process, the kernel another one, both on the library."""

import asyncio
import time

import libraries
import pytest
from jupyter_client import AsyncKernelManager, KernelManager

READY_S = 60

# What the kernel runs to say which library it is on.
TELL_LIBRARY = """
import os
print(sorted({os.path.realpath(line.split()[-1]) for line in open('/proc/self/maps')
              if 'libzmq' in line.rsplit('/', 1)[-1]}))
"""


@pytest.fixture(params=["tcp", "ipc"])
def client(request, tmp_path):
    manager = KernelManager(kernel_name="python3", transport=request.param)
    if request.param == "ipc":
        manager.ip = str(tmp_path / "kernel")
    manager.start_kernel()
    try:
        made = manager.client()
        made.start_channels()
        made.wait_for_ready(timeout=READY_S)
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


async def run_async():
    manager = AsyncKernelManager(kernel_name="python3")
    await manager.start_kernel()
    try:
        client = manager.client()
        client.start_channels()
        await client.wait_for_ready(timeout=READY_S)
        reply = await client.execute_interactive("6 * 7", timeout=READY_S, output_hook=lambda message: None)
        assert reply["content"]["status"] == "ok"
        client.stop_channels()
    finally:
        await manager.shutdown_kernel(now=True)


def test_async_client():
    asyncio.run(run_async())


def test_interrupt_and_restart():
    manager = KernelManager(kernel_name="python3")
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
