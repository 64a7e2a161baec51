# SPDX-License-Identifier: Apache-2.0
"""Options: both libraries are asked the same and must answer the same, but for what is listed."""

import json
from pathlib import Path
import subprocess
import sys

import pytest

PROBE = Path(__file__).parent / "option_probe.py"
TYPES = ["PAIR", "PUB", "SUB", "REQ", "REP", "DEALER", "ROUTER", "PULL", "PUSH", "XPUB", "XSUB",
         "STREAM"]

# The wheel is a build without drafts and does not know these.
DRAFTS = {97: "ROUTER_NOTIFY", 101: "IN_BATCH_SIZE", 102: "OUT_BATCH_SIZE", 103: "WSS_KEY_PEM",
          104: "WSS_CERT_PEM", 105: "WSS_TRUST_PEM", 106: "WSS_HOSTNAME", 107: "WSS_TRUST_SYSTEM", 110: "HELLO_MSG",
          111: "DISCONNECT_MSG", 112: "PRIORITY", 113: "BUSY_POLL", 114: "HICCUP_MSG"}
DRAFTS_OF_XSUB = {115: "XSUB_VERBOSE_UNSUBSCRIBE"}
# Defects of the genuine library: single questions with another answer.
DEFECTS = {
    (76, "set -1"): "HEARTBEAT_TTL takes negative values above -100 for 0",
    (76, "set -2"): "HEARTBEAT_TTL takes negative values above -100 for 0",
    (95, "set metadata of 4 bytes"): "METADATA refuses what happens to be as long as an int",
    (38, "set network with a suffix"): "TCP_ACCEPT_FILTER ignores what follows the number",
}


def ask(side, what):
    answers = subprocess.run([sys.executable, PROBE, side.library, str(what)], check=True,
                             stdout=subprocess.PIPE, timeout=120)
    return {(int(number), question): answer
            for number, questions in json.loads(answers.stdout).items()
            for question, answer in questions.items()}


def differences(zlink, genuine):
    assert zlink.keys() == genuine.keys()
    return {key: f"zlink {zlink[key]}, genuine {genuine[key]}"
            for key in genuine if zlink[key] != genuine[key]}


def excused(socket_type):
    names = DRAFTS
    if socket_type == "XSUB":
        names = names | DRAFTS_OF_XSUB
    return names


def number_of(socket_type):
    return TYPES.index(socket_type)


@pytest.mark.parametrize("socket_type", TYPES)
def test_every_option_answers_alike(sides, pytestconfig, socket_type):
    zlink, genuine = (ask(sides[name], number_of(socket_type)) for name in ("zlink", "genuine"))
    found = differences(zlink, genuine)
    if pytestconfig.is_genuine:
        assert found == {}
        return
    names = excused(socket_type)
    unexpected = {key: text for key, text in found.items()
                  if key[0] not in names and key not in DEFECTS}
    assert unexpected == {}
    assert [DEFECTS[key] for key in DEFECTS if key not in found] == [], "no differences any more"


def test_context_options_answer_alike(sides):
    assert differences(ask(sides["zlink"], "context"), ask(sides["genuine"], "context")) == {}


def test_metadata_crosses_between_the_libraries(link):
    bound = link.bind("PAIR", METADATA=b"X-colour:green")
    other = link.connect("PAIR", METADATA=b"X-path:a:b")
    other.send(b"from the connecting side")
    bound.send(b"from the binding side")
    assert bound.recv_properties("X-path") == {"X-path": "a:b"}
    assert other.recv_properties("X-colour") == {"X-colour": "green"}
