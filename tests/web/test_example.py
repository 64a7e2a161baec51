# SPDX-License-Identifier: Apache-2.0
"""The example page: at thousands of messages a second nothing is lost and the page stays fluid."""

import subprocess

import pytest

from conftest import ROOT, free_port

RATE = 3000
SECONDS = 6


@pytest.fixture(scope="session")
def live_feed(pytestconfig, tmp_path_factory):
    """The feeder, compiled against the library under test."""
    program = tmp_path_factory.mktemp("feed") / "live_feed"
    library = pytestconfig.getoption("--library")
    subprocess.run(["cc", ROOT / "examples/live_feed.c", "-o", program, "-I", ROOT / "include", library], check=True)
    return program


@pytest.fixture
def feed(live_feed, pytestconfig):
    """Starts feeders; their library is found where it was built."""
    started = []

    def start(port, *arguments):
        process = subprocess.Popen([live_feed, f"ws://127.0.0.1:{port}", *map(str, arguments)],
                                   stdout=subprocess.PIPE, text=True,
                                   env={"LD_PRELOAD": pytestconfig.getoption("--library")})
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def value(page, name):
    return int(page.run("return document.getElementById(name).value;", name=name))


WATCH_FRAMES = """
globalThis.gaps = [];
let last;
requestAnimationFrame(function frame(now) {
    if (last !== undefined) gaps.push(now - last);
    last = now;
    requestAnimationFrame(frame);
});
"""


def median(values):
    return sorted(values)[len(values) // 2]


COUNT_BESIDE = """
// Another subscriber, which says what the last numbers were.
const socket = new (await import('/index.js')).Sub();
socket.subscribe('');
socket.connect(url);
globalThis.last = {};
globalThis.gap = 0;
(async () => {
    for await (const [topic, body] of socket) {
        const [name, number] = [topic, body].map((part) => new TextDecoder().decode(part));
        const sequence = parseInt(number);
        if (sequence !== (last[name] ?? sequence - 1) + 1) gap += sequence - last[name] - 1;
        last[name] = sequence;
    }
})();
"""


def run_feed(page, site, feed):
    """Lets the page receive a whole feed, of which it must miss nothing; the times between its frames, idle and then."""
    port = free_port()
    url = f"ws://127.0.0.1:{port}/"
    page.open(f"{site}/example/?feed={url}")
    page.run(WATCH_FRAMES)
    idle = page.run("while (gaps.length < 30) await new Promise(requestAnimationFrame); return gaps.splice(0);")
    feeder = feed(port, RATE, SECONDS)
    page.run("while (document.getElementById('total').value === '0') await new Promise(requestAnimationFrame);")
    page.run(COUNT_BESIDE, url=url)
    sent = int(feeder.communicate(timeout=60)[0].split()[1])
    # A page that is slow may have more to read than the feeder has to send.
    last = page.run("""
        const sum = () => Object.values(last).reduce((a, b) => a + b, 0);
        for (const begin = performance.now(); sum() < sent && performance.now() - begin < 20000;) {
            await new Promise(requestAnimationFrame);
        }
        return last;""", sent=sent)
    busy = page.run("return gaps;")
    total, missed = value(page, "total"), value(page, "missed")
    print(f"{sent} sent, {total} received, {missed} missed; {len(busy)} frames, gaps of {median(busy):.0f} ms "
          f"(idle {median(idle):.0f} ms), at most {max(busy):.0f} ms")
    assert sent >= 2000 * SECONDS
    assert missed == 0
    assert page.run("return gap;") == 0
    assert sum(last.values()) == sent  # to the last message of each sensor
    assert total >= sent / 4  # the feeder had begun when the page connected
    assert page.log == []
    return idle, busy


def test_page_keeps_up(page, site, feed):
    """No message is missed, whatever else the machine does. The frames are judged by the best of three runs, because
    they need the machine for themselves."""
    for last_run in (False, False, True):
        idle, busy = run_feed(page, site, feed)
        smooth = median(busy) < 50 + median(idle) and max(busy) < 500
        if smooth:
            break
        assert not last_run, f"gaps of {median(busy)} ms, at most {max(busy)} ms, idle {median(idle)} ms"


def waits_for(page, condition):
    page.run(f"while (!({condition})) await new Promise(requestAnimationFrame);")


TOTAL = "Number(document.getElementById('total').value)"
STATE = "document.getElementById('status').dataset.state"


def test_page_can_be_used(page, site, feed, pytestconfig):
    """Sensors can be switched off and on, and the page finds a feeder that was started again."""
    port = free_port()
    page.resize(1280, 800)
    page.open(f"{site}/example/?feed=ws://127.0.0.1:{port}/")
    assert page.run(f"return {STATE};") == "connecting"
    feeder = feed(port, 2000)
    waits_for(page, f"{STATE} === 'connected' && {TOTAL} > 500")
    screenshots = pytestconfig.getoption("--screenshots")
    if screenshots:
        take_pictures(page, screenshots)

    for wanted in (0, 1):
        page.run("for (const box of document.querySelectorAll('#legend input')) if (box.checked !== wanted) box.click();",
                 wanted=bool(wanted))
        if wanted == 0:  # then no message comes any more, once the feeder knows
            waits_for(page, "await new Promise(resolve => { const before = document.getElementById('total').value;"
                            "setTimeout(() => resolve(before === document.getElementById('total').value), 300); })")
        else:
            before = value(page, "total")
            waits_for(page, f"{TOTAL} > {before + 500}")

    feeder.kill()
    waits_for(page, f"{STATE} === 'connecting'")
    before = value(page, "total")
    feed(port, 2000)
    waits_for(page, f"{STATE} === 'connected' && {TOTAL} > {before + 500}")
    assert value(page, "missed") == 0
    assert page.log == []


def take_pictures(page, directory):
    page.run("await new Promise(resolve => setTimeout(resolve, 10000));")  # until the chart is full
    for name, colours, width, height in [("light", "light", 1280, 800), ("dark", "dark", 1280, 800),
                                         ("narrow", "light", 420, 860)]:
        page.prefer(colours)
        page.resize(width, height)
        page.run("for (let i = 0; i < 60; ++i) await new Promise(requestAnimationFrame);")
        page.screenshot(directory / f"{name}.png")
