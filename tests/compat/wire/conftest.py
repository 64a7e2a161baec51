# SPDX-License-Identifier: Apache-2.0
"""Which programs to drive: `--role NAME=COMMAND`, once for each peer."""

# tcp and ipc unless told: JeroMQ has ipc only between its own sockets; the npm packages are here for their WebSockets.
TRANSPORTS = {"jeromq": ["tcp"], "zeromq.js": ["ws"], "jszmq": ["ws"]}


def pytest_addoption(parser):
    parser.addoption("--role", action="append", default=[], help="NAME=COMMAND of a peer program")


def pytest_generate_tests(metafunc):
    if "peer" in metafunc.fixturenames:
        roles = dict(entry.split("=", 1) for entry in metafunc.config.getoption("role"))
        peers = [(name, command.split()) for name, command in roles.items()]
        if "endpoint" not in metafunc.fixturenames:
            metafunc.parametrize("peer", peers, ids=list(roles), scope="session")
            return
        pairs = [(peer, transport) for peer in peers for transport in TRANSPORTS.get(peer[0], ["tcp", "ipc"])]
        metafunc.parametrize("peer, endpoint", pairs, ids=[f"{peer[0]}-{transport}" for peer, transport in pairs],
                             indirect=["endpoint"])
