# SPDX-License-Identifier: Apache-2.0
"""Which programs to drive: `--role NAME=COMMAND`, once for each peer."""


def pytest_addoption(parser):
    parser.addoption("--role", action="append", default=[], help="NAME=COMMAND of a peer program")


def pytest_generate_tests(metafunc):
    if "peer" in metafunc.fixturenames:
        roles = dict(entry.split("=", 1) for entry in metafunc.config.getoption("role"))
        metafunc.parametrize("peer", [(name, command.split()) for name, command in roles.items()],
                             ids=list(roles), scope="session")
