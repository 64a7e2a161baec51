# SPDX-License-Identifier: Apache-2.0
"""The example page: at thousands of messages a second nothing is lost and the page stays fluid."""

import subprocess

import pytest

from conftest import ROOT, free_port

RATE = 3000
SECONDS = 6
LONG_TASK_MS = 50  # what browsers call one


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


COUNT_FRAMES = """
globalThis.frames_drawn = 0;
requestAnimationFrame(function frame() {
    ++frames_drawn;
    requestAnimationFrame(frame);
});
"""


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


def test_page_keeps_up(page, site, feed):
    """It misses nothing and goes on drawing. What it costs is told by the time that its thread has the processor, so it
    does not matter what else the machine does."""
    port = free_port()
    url = f"ws://127.0.0.1:{port}/"
    page.open(f"{site}/example/?feed={url}")
    page.run(COUNT_FRAMES)
    page.start_trace()
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
    tasks = page.end_trace()
    total, missed, frames = value(page, "total"), value(page, "missed"), page.run("return frames_drawn;")
    print(f"{sent} sent, {total} received, {missed} missed; {frames} frames; {len(tasks)} tasks took "
          f"{sum(tasks):.0f} ms of the processor, at most {max(tasks):.1f} ms each")
    assert sent >= 2000 * SECONDS
    assert missed == 0
    assert page.run("return gap;") == 0
    assert sum(last.values()) == sent  # to the last message of each sensor
    assert total >= sent / 4  # the feeder had begun when the page connected
    assert page.log == []
    assert sum(tasks) < SECONDS * 1000
    assert max(tasks) < LONG_TASK_MS
    assert frames > 2 * SECONDS  # it does not read on for ever in between


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
